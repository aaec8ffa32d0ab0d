// Package secretkey encrypts what has to be stored in the database and read again, with keys
// that are in a file beside it: who takes the database alone can't read it.
//
// The file has one key per line: its id and 32 random bytes in base64url. The first key
// encrypts, every key decrypts. The file is read at each use, so that a rotation takes effect in
// running processes.
package secretkey

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/fault"
)

const (
	keySize = 32
	idSize  = 4
	// version is the first part of every sealed text; the others are the key's id, and nonce and
	// ciphertext in base64url.
	version = "1"
)

// File is a file of keys. A nil File has none: Seal and Open fail with fault.Unavailable. It is
// safe for concurrent use.
type File struct{ path string }

type key struct {
	id     string
	secret []byte
}

// Open returns the file at a path. It fails with fs.ErrNotExist if there is none, and if the file
// can't be read or is no file of keys.
func Open(path string) (*File, error) {
	f := &File{path: path}
	_, err := f.read()
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Create makes a file with a new key, readable by its owner only. If there is one already, it
// returns that one.
func Create(path string) (*File, error) {
	first, err := newKey()
	if err != nil {
		return nil, err
	}
	f := &File{path: path}
	err = f.place([]key{first}, os.Link) // fails if the file exists
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return Open(path)
}

func newKey() (key, error) {
	random := make([]byte, idSize+keySize)
	if _, err := rand.Read(random); err != nil {
		return key{}, fmt.Errorf("generate secret key: %w", err)
	}
	return key{id: hex.EncodeToString(random[:idSize]), secret: random[idSize:]}, nil
}

// place writes the keys into a new file and puts it at the path with put, which is os.Link or
// os.Rename: another process reads all of the old file or all of the new one.
func (f *File) place(keys []key, put func(from, to string) error) (err error) {
	var text bytes.Buffer
	text.WriteString("# Keys of Kith. Who has this file and the database can make the members' one-time codes.\n# Keep a copy apart from the backups of the database.\n")
	for _, k := range keys {
		fmt.Fprintf(&text, "%s %s\n", k.id, base64.RawURLEncoding.EncodeToString(k.secret))
	}
	temporary, err := os.CreateTemp(filepath.Dir(f.path), ".secret-key-*") // with mode 0600
	if err != nil {
		return fmt.Errorf("write the secret key: %w", err)
	}
	defer func() {
		if removed := os.Remove(temporary.Name()); !errors.Is(removed, fs.ErrNotExist) {
			err = errors.Join(err, removed)
		}
	}()
	_, err = temporary.Write(text.Bytes())
	if err = errors.Join(err, temporary.Sync(), temporary.Close()); err != nil {
		return fmt.Errorf("write the secret key: %w", err)
	}
	if err := put(temporary.Name(), f.path); err != nil {
		return fmt.Errorf("write the secret key: %w", err)
	}
	return nil
}

// read returns the keys, of which there is at least one.
func (f *File) read() ([]key, error) {
	if f == nil {
		return nil, fault.New(fault.Unavailable, "there is no secret key: the operator has to set KITH_SECRET_KEY_FILE")
	}
	content, err := os.ReadFile(f.path)
	if err != nil {
		return nil, fmt.Errorf("read the secret key: %w", err)
	}
	var keys []key
	for line := range strings.Lines(string(content)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		id, encoded, _ := strings.Cut(line, " ")
		secret, err := base64.RawURLEncoding.DecodeString(encoded)
		if err != nil || len(secret) != keySize || len(id) != 2*idSize {
			return nil, fmt.Errorf("%s is no file of secret keys: it has a line that kith did not write", f.path)
		}
		keys = append(keys, key{id, secret})
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%s is no file of secret keys: it is empty", f.path)
	}
	return keys, nil
}

func (k key) aead() (cipher.AEAD, error) {
	block, err := aes.NewCipher(k.secret)
	if err != nil {
		return nil, fmt.Errorf("use the secret key: %w", err)
	}
	return cipher.NewGCM(block)
}

// additional is what a sealed text belongs to: it can't be opened for another purpose or owner.
func additional(purpose, owner string) []byte { return []byte(purpose + "\x00" + owner) }

// Seal encrypts a text that belongs to an owner and serves a purpose.
func (f *File) Seal(plain, purpose, owner string) (string, error) {
	keys, err := f.read()
	if err != nil {
		return "", err
	}
	aead, err := keys[0].aead()
	if err != nil {
		return "", err
	}
	nonce := make([]byte, aead.NonceSize())
	if _, err := rand.Read(nonce); err != nil {
		return "", fmt.Errorf("seal: %w", err)
	}
	sealed := aead.Seal(nonce, nonce, []byte(plain), additional(purpose, owner))
	return strings.Join([]string{version, keys[0].id, base64.RawURLEncoding.EncodeToString(sealed)}, "."), nil
}

// Open decrypts what Seal returned for the same purpose and owner. It fails with
// fault.Unavailable if the file has no such key, and with fault.Invalid if the text was changed or
// belongs to something else.
func (f *File) Open(sealed, purpose, owner string) (string, error) {
	keys, err := f.read()
	if err != nil {
		return "", err
	}
	wrong := fault.New(fault.Invalid, "the sealed text was changed or belongs to something else")
	parts := strings.Split(sealed, ".")
	if len(parts) != 3 || parts[0] != version {
		return "", wrong
	}
	at := slices.IndexFunc(keys, func(k key) bool { return k.id == parts[1] })
	if at < 0 {
		return "", fault.New(fault.Unavailable, "the file of secret keys does not have the key %s", parts[1])
	}
	aead, err := keys[at].aead()
	if err != nil {
		return "", err
	}
	data, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || len(data) < aead.NonceSize() {
		return "", wrong
	}
	plain, err := aead.Open(nil, data[:aead.NonceSize()], data[aead.NonceSize():], additional(purpose, owner))
	if err != nil {
		return "", wrong
	}
	return string(plain), nil
}

// Current reports whether a sealed text was encrypted with the key that encrypts now.
func (f *File) Current(sealed string) (bool, error) {
	keys, err := f.read()
	if err != nil {
		return false, err
	}
	return strings.HasPrefix(sealed, version+"."+keys[0].id+"."), nil
}

// Rotate replaces the keys by a new one. Between, while reseal runs, the old ones can still be
// read; reseal encrypts again everything that is not Current. If it fails, the old keys stay beside
// the new one, and Rotate can be called again.
func (f *File) Rotate(reseal func() error) error {
	keys, err := f.read()
	if err != nil {
		return err
	}
	added, err := newKey()
	if err != nil {
		return err
	}
	if err := f.place(append([]key{added}, keys...), os.Rename); err != nil {
		return err
	}
	// The second time is for what another process sealed with the old key just before it read
	// the new one.
	for range 2 {
		if err := reseal(); err != nil {
			return err
		}
	}
	return f.place([]key{added}, os.Rename)
}
