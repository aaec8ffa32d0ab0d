package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"aead.dev/minisign"
)

// sums and signature are the files that sign writes.
const (
	sums      = "SHA256SUMS"
	signature = sums + ".minisig"
)

// sign writes the checksums of a folder's files, and with the file of a key of minisign their signature. The password of the
// key is empty if it has none. Without a key it says so: the release can be signed later.
func sign(folder, key, password string, out io.Writer) error {
	entries, err := os.ReadDir(folder) // by name
	if err != nil {
		return err
	}
	var list strings.Builder
	for _, entry := range entries {
		if entry.Name() == sums || entry.Name() == signature || !entry.Type().IsRegular() {
			continue
		}
		file, err := os.Open(filepath.Join(folder, entry.Name()))
		if err != nil {
			return err
		}
		hash := sha256.New()
		_, err = io.Copy(hash, file)
		if err := errors.Join(err, file.Close()); err != nil {
			return err
		}
		fmt.Fprintf(&list, "%x  %s\n", hash.Sum(nil), entry.Name())
	}
	if list.Len() == 0 {
		return fmt.Errorf("%s has no files", folder)
	}
	if err := os.WriteFile(filepath.Join(folder, sums), []byte(list.String()), 0o644); err != nil { //nolint:gosec // everybody may read it
		return err
	}
	if key == "" {
		_, err := fmt.Fprintln(out, "Not signed: KITH_RELEASE_KEY names no key of minisign.")
		return err
	}
	text, err := os.ReadFile(key)
	if err != nil {
		return err
	}
	var private minisign.PrivateKey
	if minisign.IsEncrypted(text) {
		private, err = minisign.DecryptKey(password, text)
	} else {
		err = private.UnmarshalText(text)
	}
	if err != nil {
		return fmt.Errorf("the key of the release cannot be used: %w", err)
	}
	// The default comment has the present time, and so would differ.
	signed := minisign.SignWithComments(private, []byte(list.String()), "checksums of a release of Kith", "signature of "+sums)
	return os.WriteFile(filepath.Join(folder, signature), signed, 0o644) //nolint:gosec // everybody may read it
}
