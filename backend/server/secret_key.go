package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/secretkey"
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
// a SQLite database that holds nothing encrypted yet.
func openSecrets(ctx context.Context, c Config, data *db.DB) (*secretkey.File, error) {
	path, fallback := c.SecretKeyFile, DefaultSecretKeyFile(c.DatabaseURL)
	if path == "" {
		path = fallback
	}
	sealed, err := account.ListTOTPSecrets(ctx, data)
	if err != nil {
		return nil, err
	}
	missing := func() {
		if len(sealed) > 0 {
			c.Logger.ErrorContext(ctx, "the secret key is missing: set KITH_SECRET_KEY_FILE and put the file back, or members need their recovery codes to sign in",
				"file", path, "members", len(sealed))
		}
	}
	if path == "" {
		missing()
		return nil, nil
	}
	secrets, err := secretkey.Open(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return secrets, err
	}
	if fallback == "" { // every process would make another one
		return nil, fmt.Errorf("KITH_SECRET_KEY_FILE %s does not exist: make it once with kith secret create, and give every backend the same file", path)
	}
	if len(sealed) > 0 {
		missing()
		return nil, nil
	}
	return secretkey.Create(path)
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
	rows, err := account.ListTOTPSecrets(ctx, a.store)
	if err != nil {
		return 0, err
	}
	for i := range rows {
		row, owner := &rows[i], string(rows[i].MemberID)
		current, err := secrets.Current(row.Secret)
		if err != nil {
			return resealed, err
		}
		if current {
			continue
		}
		plain, err := secrets.Open(row.Secret, account.TOTPPurpose, owner)
		if err != nil {
			return resealed, err
		}
		sealed, err := secrets.Seal(plain, account.TOTPPurpose, owner)
		if err != nil {
			return resealed, err
		}
		if err := account.ResealTOTPSecret(ctx, a.store, row, sealed); err != nil {
			return resealed, err
		}
		resealed++
	}
	return resealed, nil
}
