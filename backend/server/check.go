package server

import (
	"context"
	"errors"
	"html"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/mail"
	"github.com/kith-crm/kith/backend/internal/oauth/signin"
)

// The functions of this file check what a backend needs. They change nothing; SendTestMail sends a mail.

// CheckDatabase returns the time on the database server. It returns an error if a backend
// could not start with the database.
func CheckDatabase(ctx context.Context, databaseURL string) (clock time.Time, err error) {
	return db.Check(ctx, databaseURL)
}

// CheckSchema returns an error unless a backend could start with the database's schema: one that the next version
// has migrated only with acceptNewer.
func CheckSchema(ctx context.Context, databaseURL string, acceptNewer bool) error {
	data, err := db.Open(ctx, db.Config{URL: databaseURL, MaxConns: 1, AcceptNewer: acceptNewer})
	if err != nil {
		return err
	}
	return data.Close()
}

// IsNewerSchema reports whether an error of CheckSchema means that a newer version has migrated the database.
func IsNewerSchema(err error) bool {
	return errors.Is(err, db.ErrSchemaNewer) || errors.Is(err, db.ErrSchemaOther)
}

// LastBackup returns when a database was last backed up. If it never was, it returns when the database was made,
// and never is true.
func LastBackup(ctx context.Context, databaseURL string) (at time.Time, never bool, err error) {
	data, err := db.Inspect(ctx, databaseURL)
	if err != nil {
		return at, false, err
	}
	defer func() { err = errors.Join(err, data.Close()) }()
	i, err := data.Installation(ctx)
	if i.BackedUpAt.IsZero() {
		return i.MadeAt, true, err
	}
	return i.BackedUpAt, false, err
}

// CheckSecretKey returns the path of the secret key, empty if none is used; made says whether the file is there.
// It returns an error if a backend could not start with it.
func CheckSecretKey(ctx context.Context, databaseURL, file string) (path string, made bool, err error) {
	data, err := db.Inspect(ctx, databaseURL)
	if err != nil {
		return "", false, err
	}
	defer func() { err = errors.Join(err, data.Close()) }()
	_, path, err = findSecrets(ctx, databaseURL, file, data)
	if errors.Is(err, errNewKey) {
		return path, false, nil
	}
	return path, err == nil, err
}

// CheckOwner returns an error if a SQLite database, its secret key or another file of Kith beside it has another owner
// than their folder.
func CheckOwner(databaseURL string) error {
	return db.CheckOwner(databaseURL, DefaultSecretKeyFile(databaseURL))
}

// CheckMail connects to the mail server and signs in, and sends nothing.
func CheckMail(ctx context.Context, smtpURL string) error {
	mailer, err := mail.New(mail.Config{URL: smtpURL})
	if err != nil {
		return err
	}
	return mailer.Check(ctx)
}

// SendTestMail sends a mail to an address, once, and returns the mail server's error. It names the service by its base URL.
func SendTestMail(ctx context.Context, smtpURL, to, baseURL string) error {
	mailer, err := mail.New(mail.Config{URL: smtpURL})
	if err != nil {
		return err
	}
	text := "This is a test of kith doctor. Kith at " + baseURL + " can send mail."
	return mailer.Send(ctx, &mail.Message{To: to, Subject: "Test mail from Kith", Text: text, HTML: "<p>" + html.EscapeString(text) + "</p>"})
}

// Check asks the identity provider for its metadata, as a sign-in does.
func (i *IdentityProvider) Check(ctx context.Context) error {
	provider, err := i.provider()
	if err != nil {
		return err
	}
	return provider.Check(ctx)
}

// Check has the vector of one word computed.
func (e *Embeddings) Check(ctx context.Context) error {
	provider, err := e.provider()
	if err != nil {
		return err
	}
	_, err = provider.Embed(ctx, []string{"check"})
	return err
}

func (i *IdentityProvider) provider() (*signin.Provider, error) {
	return signin.New(signin.Config{Issuer: i.Issuer, ClientID: i.ClientID, ClientSecret: i.ClientSecret, Name: i.Name})
}
