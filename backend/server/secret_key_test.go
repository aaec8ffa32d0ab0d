package server

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/secretkey"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// The first start makes the key. Later a start without it, or with another one, is refused, unless the
// operator gives up what it encrypted.
func TestOpenSecrets(t *testing.T) {
	t.Parallel()
	path := dbtest.SQLite(t)
	data := dbtest.Open(t, path, time.Now)
	c := Config{DatabaseURL: path, Logger: slog.New(slog.DiscardHandler)}
	made, err := openSecrets(t.Context(), c, data)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(filepath.Dir(path), "secret.key")
	owner := dbtest.Member(t, data, "maria")
	sealed := store(t, data, made, owner)
	again, err := openSecrets(t.Context(), c, data)
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := again.Open(sealed, account.TOTPPurpose, string(owner)); err != nil || plain != "the secret" {
		t.Errorf("%q, %v", plain, err)
	}
	if err := os.Rename(file, file+".away"); err != nil {
		t.Fatal(err)
	}
	if none, err := openSecrets(t.Context(), c, data); none != nil || !errors.Is(err, errKeyMissing) {
		t.Errorf("without the file: %v, %v", none, err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("another key was made")
	}
	if _, err := secretkey.Create(file); err != nil {
		t.Fatal(err)
	}
	if none, err := openSecrets(t.Context(), c, data); none != nil || err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("with another key: %v, %v", none, err)
	}
	admin, err := OpenAdmin(t.Context(), path, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = admin.Close() }()
	if _, _, err := admin.ReplaceLostKey(t.Context(), ""); err == nil {
		t.Error("a key that is there was called lost")
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if _, lost, err := admin.ReplaceLostKey(t.Context(), ""); err != nil || lost != 1 {
		t.Errorf("%d secrets lost, %v", lost, err)
	}
	if made, err := openSecrets(t.Context(), c, data); made == nil || err != nil {
		t.Errorf("after the loss: %v, %v", made, err)
	}
}

// store gives a member an app for one-time codes, and returns its encrypted secret.
func store(t *testing.T, data *db.DB, secrets *secretkey.File, owner tenant.ID) string {
	t.Helper()
	sealed, err := secrets.Seal("the secret", account.TOTPPurpose, string(owner))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := account.CreateTOTPSecret(t.Context(), data, &account.TOTPSecret{MemberID: owner, Secret: sealed}, nil, ""); err != nil {
		t.Fatal(err)
	}
	return sealed
}

// With PostgreSQL nothing is made: each process would make another key.
func TestOpenSecretsOfPostgres(t *testing.T) {
	t.Parallel()
	data := dbtest.Open(t, dbtest.SQLite(t), time.Now) // empty, as any database
	c := Config{DatabaseURL: "postgres://db.example/kith", Logger: slog.New(slog.DiscardHandler)}
	if none, err := openSecrets(t.Context(), c, data); none != nil || err != nil {
		t.Errorf("without the setting: %v, %v", none, err)
	}
	c.SecretKeyFile = filepath.Join(t.TempDir(), "secret.key")
	if _, err := openSecrets(t.Context(), c, data); err == nil || !strings.Contains(err.Error(), "kith secret create") {
		t.Errorf("without the file: %v", err)
	}
	if _, err := CreateSecretKey(c.DatabaseURL, c.SecretKeyFile); err != nil {
		t.Fatal(err)
	}
	if made, err := openSecrets(t.Context(), c, data); made == nil || err != nil {
		t.Errorf("with the file: %v, %v", made, err)
	}
}

// A rotation encrypts every secret again. A running process uses the new key, too.
func TestRotateSecretKey(t *testing.T) {
	t.Parallel()
	path := dbtest.SQLite(t)
	data := dbtest.Open(t, path, time.Now)
	running, err := openSecrets(t.Context(), Config{DatabaseURL: path, Logger: slog.New(slog.DiscardHandler)}, data)
	if err != nil {
		t.Fatal(err)
	}
	owner := dbtest.Member(t, data, "maria")
	before := store(t, data, running, owner)
	admin, err := OpenAdmin(t.Context(), path, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = admin.Close() }()
	if n, err := admin.RotateSecretKey(context.WithoutCancel(t.Context()), ""); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	row, err := account.GetTOTPSecret(t.Context(), data, owner)
	if err != nil || row.Secret == before {
		t.Fatal(row, err)
	}
	if plain, err := running.Open(row.Secret, account.TOTPPurpose, string(owner)); err != nil || plain != "the secret" {
		t.Errorf("%q, %v", plain, err)
	}
	if _, err := running.Open(before, account.TOTPPurpose, string(owner)); err == nil {
		t.Error("the old key still works")
	}
}
