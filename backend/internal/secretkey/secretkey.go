// Package secretkey encrypts secrets that the database stores and Kith must read again. The keys
// are in a file outside the database, so the database alone does not reveal the secrets.
//
// The file has one key per line: its id and 32 random bytes in base64url. The first key encrypts,
// all keys decrypt. The file is read at each use, so a rotation takes effect in running processes.
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
	// version is the first part of every sealed text. The other parts are the key's id, and the nonce
	// with the ciphertext in base64url.
	version = "1"
)

// File is a file of keys. A nil File has no keys: Seal and Open fail with fault.Unavailable. It is
// safe for concurrent use.
type File struct{ path string }

type key struct {
	id     string
	secret []byte
}

// Open returns the file at a path. It fails with fs.ErrNotExist if there is none, and with another
// error if the file can't be read or is not a file of keys.
func Open(path string) (*File, error) {
	f := &File{path: path}
	_, err := f.read()
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Create makes a file with a new key, readable only by its owner. If the file already exists, it
// returns that file.
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

// place writes the keys to a temporary file and moves it to the path with put, which is os.Link or
// os.Rename. So another process reads either the complete old file or the complete new one.
func (f *File) place(keys []key, put func(from, to string) error) (err error) {
	var text bytes.Buffer
	text.WriteString("# Keys of Kith. With this file and the database, anyone can generate the members' one-time codes.\n# Keep a copy, but not with the backups of the database.\n")
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
			return nil, fmt.Errorf("%s is not a file of secret keys: it has a line that kith did not write", f.path)
		}
		keys = append(keys, key{id, secret})
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%s is not a file of secret keys: it is empty", f.path)
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

// additional returns the additional data of the encryption, which binds a sealed text to its
// purpose and owner.
func additional(purpose, owner string) []byte { return []byte(purpose + "\x00" + owner) }

// Seal encrypts a text for a purpose and an owner. Only Open with the same purpose and owner
// decrypts it.
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

// Open decrypts a text that Seal returned for the same purpose and owner. It fails with
// fault.Unavailable if the file does not have the key, and with fault.Invalid if the text was
// changed or was sealed for another purpose or owner.
func (f *File) Open(sealed, purpose, owner string) (string, error) {
	keys, err := f.read()
	if err != nil {
		return "", err
	}
	wrong := fault.New(fault.Invalid, "the sealed text was changed, or was sealed for another purpose or owner")
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

// Current reports whether a sealed text was encrypted with the first key.
func (f *File) Current(sealed string) (bool, error) {
	keys, err := f.read()
	if err != nil {
		return false, err
	}
	return strings.HasPrefix(sealed, version+"."+keys[0].id+"."), nil
}

// Rotate replaces the keys with a new one. It calls reseal, which must encrypt everything again
// that is not Current; until then the old keys still decrypt. If reseal fails, the file keeps the
// old keys and the new one, and Rotate can be called again.
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
	// The second call is for texts that another process sealed with the old key just before it read the
	// new file.
	for range 2 {
		if err := reseal(); err != nil {
			return err
		}
	}
	return f.place([]key{added}, os.Rename)
}
