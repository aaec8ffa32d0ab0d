package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/secretkey"
	"github.com/kith-crm/kith/backend/internal/sources"
)

// DefaultSecretKeyFile returns where the secret key of a SQLite database is, beside it; empty for
// PostgreSQL.
func DefaultSecretKeyFile(databaseURL string) string {
	file := db.File(databaseURL)
	if file == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(file), "secret.key")
}

var errNoSecretKeyFile = errors.New("set KITH_SECRET_KEY_FILE to the path of the secret key: beside a PostgreSQL database there is no place for it")

// openSecrets returns the file of the secret key; nil if there is none. It makes the file for
// a SQLite database that holds nothing encrypted yet. It fails if the key is not the one that
// the database's secrets are encrypted with.
func openSecrets(ctx context.Context, c Config, data *db.DB) (*secretkey.File, error) {
	secrets, path, err := findSecrets(ctx, c.DatabaseURL, c.SecretKeyFile, data)
	if errors.Is(err, errNewKey) {
		return secretkey.Create(path)
	}
	return secrets, err
}

// errNewKey is the error of findSecrets if the key has yet to be made.
var errNewKey = errors.New("there is no secret key yet")

// findSecrets returns the file of the secret key and its path; nil if there is none and none is needed.
func findSecrets(ctx context.Context, databaseURL, file string, data *db.DB) (secrets *secretkey.File, path string, err error) {
	fallback := DefaultSecretKeyFile(databaseURL)
	path = cmp.Or(file, fallback)
	sealed, err := listSealed(ctx, data)
	if err != nil {
		return nil, path, err
	}
	if path == "" {
		if len(sealed) > 0 {
			return nil, path, fmt.Errorf("%w: set KITH_SECRET_KEY_FILE to the file of the key", errKeyMissing)
		}
		return nil, path, nil
	}
	secrets, err = secretkey.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && len(sealed) > 0:
		return nil, path, fmt.Errorf("%w: put the file %s back, or, if it is lost, run `kith secret create --lost`: members then need their recovery codes, and add their calendars again", errKeyMissing, path)
	case errors.Is(err, fs.ErrNotExist) && fallback == "": // every process would make another one
		return nil, path, fmt.Errorf("KITH_SECRET_KEY_FILE %s does not exist: make it once with kith secret create, and give every backend the same file", path)
	case errors.Is(err, fs.ErrNotExist):
		return nil, path, errNewKey
	case err != nil:
		return nil, path, err
	}
	if len(sealed) > 0 {
		if _, err := secrets.Open(sealed[0].text, sealed[0].purpose, sealed[0].owner); err != nil {
			return nil, path, fmt.Errorf("the key in %s is not the one that this database's secrets are encrypted with: put the right file there", path)
		}
	}
	return secrets, path, nil
}

var errKeyMissing = errors.New("the secret key is missing, and the database has secrets that are encrypted with it")

// lostSecret stands for a secret whose key was lost: its member signs in with a recovery code, or adds the calendar again.
const lostSecret = ""

// sealed is an encrypted text of the database.
type sealed struct {
	text, purpose, owner string
	// replace stores another text in its place, unless it has changed since it was read.
	replace func(ctx context.Context, text string) error
}

// listSealed returns all encrypted texts whose key was not lost.
func listSealed(ctx context.Context, data *db.DB) (all []sealed, err error) {
	secrets, err := account.ListTOTPSecrets(ctx, data)
	if err != nil {
		return nil, err
	}
	for i := range secrets {
		row := &secrets[i]
		all = append(all, sealed{row.Secret, account.TOTPPurpose, string(row.MemberID), func(ctx context.Context, text string) error {
			return account.ResealTOTPSecret(ctx, data, row, text)
		}})
	}
	addresses, err := sources.ListAddresses(ctx, data)
	for i := range addresses {
		row := &addresses[i]
		all = append(all, sealed{row.Address, sources.Purpose, row.Owner(), func(ctx context.Context, text string) error {
			return sources.Reseal(ctx, data, row, text)
		}})
	}
	return slices.DeleteFunc(all, func(s sealed) bool { return s.text == lostSecret }), err
}

// ReplaceLostKey makes a new key in place of one that was lost, and gives up the secrets that were
// encrypted with it. It returns how many those were. It fails if the file exists.
func (a *Admin) ReplaceLostKey(ctx context.Context, file string) (path string, lost int, err error) {
	path = cmp.Or(file, a.secretKeyFile)
	if path == "" {
		return "", 0, errNoSecretKeyFile
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return "", 0, fmt.Errorf("%s is there: move it away first if it is not the right key", path)
	}
	all, err := listSealed(ctx, a.store)
	for _, one := range all {
		if err == nil {
			err = one.replace(ctx, lostSecret)
		}
	}
	if err == nil {
		_, err = secretkey.Create(path)
	}
	return path, len(all), err
}

// CreateSecretKey makes the file of the secret key, unless it exists, and returns its path. If file
// is empty, it is the file beside the SQLite database.
func CreateSecretKey(databaseURL, file string) (path string, err error) {
	if file == "" {
		file = DefaultSecretKeyFile(databaseURL)
	}
	if file == "" {
		return "", errNoSecretKeyFile
	}
	_, err = secretkey.Create(file)
	return file, err
}

// RotateSecretKey replaces the secret key in the file by a new one, and returns how many secrets it
// encrypted again. Running processes that use the same file need no restart. If file is empty, it
// is the file beside the SQLite database.
func (a *Admin) RotateSecretKey(ctx context.Context, file string) (resealed int, err error) {
	if file == "" {
		file = a.secretKeyFile
	}
	if file == "" {
		return 0, errNoSecretKeyFile
	}
	secrets, err := secretkey.Open(file)
	if err != nil {
		return 0, err
	}
	err = secrets.Rotate(func() error {
		n, err := a.reseal(ctx, secrets)
		resealed += n
		return err
	})
	return resealed, err
}

// reseal encrypts all secrets again that were encrypted with an old key.
func (a *Admin) reseal(ctx context.Context, secrets *secretkey.File) (resealed int, err error) {
	all, err := listSealed(ctx, a.store)
	if err != nil {
		return 0, err
	}
	for _, one := range all {
		current, err := secrets.Current(one.text)
		if err != nil {
			return resealed, err
		}
		if current {
			continue
		}
		plain, err := secrets.Open(one.text, one.purpose, one.owner)
		if err != nil {
			return resealed, err
		}
		again, err := secrets.Seal(plain, one.purpose, one.owner)
		if err != nil {
			return resealed, err
		}
		if err := one.replace(ctx, again); err != nil {
			return resealed, err
		}
		resealed++
	}
	return resealed, nil
}
