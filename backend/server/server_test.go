package server_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/server"
)

const serviceToken = "a-service-token-for-tests"

func database(t *testing.T) string {
	t.Helper()
	url := filepath.Join(t.TempDir(), "kith.db")
	if _, err := server.Migrate(t.Context(), url, false); err != nil {
		t.Fatal(err)
	}
	return url
}

func TestConfigIsRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		config server.Config
		says   string
	}{
		"short service token": {server.Config{DatabaseURL: "x", ServiceToken: "short"}, "KITH_SERVICE_TOKEN"},
		"address":             {server.Config{DatabaseURL: "x", ServiceToken: serviceToken, Addr: "nowhere"}, "host:port"},
		"no database":         {server.Config{ServiceToken: serviceToken}, "KITH_DATABASE_URL"},
	} {
		if _, err := server.New(t.Context(), test.config); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOldSchemaIsRefused(t *testing.T) {
	t.Parallel()
	_, err := server.New(t.Context(), server.Config{DatabaseURL: filepath.Join(t.TempDir(), "kith.db"), ServiceToken: serviceToken})
	if err == nil || !strings.Contains(err.Error(), "kith migrate") {
		t.Errorf("got %v", err)
	}
}

// A server listens, returns its address, refuses a taken address and stops; stopping
// without starting is no error.
func TestStartAndStop(t *testing.T) {
	t.Parallel()
	url := database(t)
	first, err := server.New(t.Context(), server.Config{DatabaseURL: url, ServiceToken: serviceToken, Addr: "127.0.0.1:0", Sandbox: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	res, err := http.Get("http://" + first.Addr().String() + "/grpc.health.v1.Health/Check?connect=v1&encoding=json&message=%7B%7D")
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	second, err := server.New(t.Context(), server.Config{DatabaseURL: url, ServiceToken: serviceToken, Addr: first.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Start(t.Context()); err == nil || !strings.Contains(err.Error(), first.Addr().String()) {
		t.Errorf("a taken address: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
	defer cancel()
	if err := errors.Join(second.Stop(ctx), first.Stop(ctx)); err != nil {
		t.Errorf("stop: %v", err)
	}
}

// A connection that has reached its maximum age is closed after an answer, so that new
// backends get load.
func TestOldConnectionsAreClosed(t *testing.T) {
	t.Parallel()
	for age, closes := range map[time.Duration]bool{0: false, time.Nanosecond: true, time.Hour: false} {
		s, err := server.New(t.Context(), server.Config{DatabaseURL: database(t), ServiceToken: serviceToken, Addr: "127.0.0.1:0", ConnectionMaxAge: age})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Stop(context.WithoutCancel(t.Context())) })
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		res, err := http.Get("http://" + s.Addr().String() + "/grpc.health.v1.Health/Check?connect=v1&encoding=json&message=%7B%7D")
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.Close != closes {
			t.Errorf("%s: closes: %t", age, res.Close)
		}
	}
}

func TestAdmin(t *testing.T) {
	t.Parallel()
	var book bytes.Buffer
	a, err := server.OpenAdmin(t.Context(), database(t), nil, slog.New(slog.NewTextHandler(&book, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	ada := server.NewMember{Username: "ada", Email: "Ada@example.com", Password: "a long enough one", Plan: "free"}
	if err := a.CreateMember(t.Context(), ada); err != nil {
		t.Fatal(err)
	}
	for name, n := range map[string]server.NewMember{
		"twice":          ada,
		"reserved name":  {Username: "admin", Email: "b@example.com", Password: "a long enough one", Plan: "free"},
		"bad e-mail":     {Username: "ben", Email: "ben", Password: "a long enough one", Plan: "free"},
		"short password": {Username: "ben", Email: "b@example.com", Password: "short", Plan: "free"},
		"no such plan":   {Username: "ben", Email: "b@example.com", Password: "a long enough one", Plan: "gold"},
	} {
		if err := a.CreateMember(t.Context(), n); !fault.Is(err, fault.Invalid) && !fault.Is(err, fault.AlreadyExists) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := a.CreateToken(t.Context(), server.NewToken{Username: "ada", Name: "laptop", Scopes: []string{"everything"}}); !fault.Is(err, fault.Invalid) {
		t.Errorf("unknown scope: %v", err)
	}
	if _, _, err := a.CreateToken(t.Context(), server.NewToken{Username: "nobody", Name: "laptop"}); !fault.Is(err, fault.NotFound) {
		t.Errorf("unknown member: %v", err)
	}
	if _, _, err := a.CreateToken(t.Context(), server.NewToken{Username: "ada", Name: "laptop", ExpiresAt: time.Now().Add(-time.Hour)}); !fault.Is(err, fault.Invalid) {
		t.Errorf("an expiry in the past: %v", err)
	}
	_, bearer, err := a.CreateToken(t.Context(), server.NewToken{Username: "ada", Name: "laptop", ExpiresAt: time.Now().Add(time.Hour)})
	if err != nil || !strings.HasPrefix(bearer, "kith_pat_") {
		t.Fatalf("bearer %q, %v", bearer, err)
	}
	tokens, err := a.ListTokens(t.Context(), "ada")
	if err != nil || len(tokens) != 1 || tokens[0].ExpiresAt.IsZero() || !slices.Contains(tokens[0].Scopes, "write") {
		t.Fatalf("tokens %+v, %v", tokens, err)
	}
	if err := a.RevokeToken(t.Context(), "ada", tokens[0].ID); err != nil {
		t.Errorf("revoke: %v", err)
	}
	if err := a.RevokeToken(t.Context(), "ada", tokens[0].ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("revoke twice: %v", err)
	}
	for name, do := range map[string]func() error{
		"member_suspended": func() error { return a.Suspend(t.Context(), "ada") },
		"password_reset":   func() error { return a.SetPassword(t.Context(), "ada", "another long enough one") },
		"access_revoked":   func() error { return a.RevokeEverything(t.Context(), "ada") },
	} {
		book.Reset()
		if err := do(); err != nil || strings.Count(book.String(), "event="+name) != 1 || strings.Count(book.String(), "\n") != 1 {
			t.Errorf("%s: %v, logged %q", name, err, book.String())
		}
	}
	if err := a.Resume(t.Context(), "ada"); err != nil || !strings.Contains(book.String(), "event=member_resumed") {
		t.Errorf("resume: %v, logged %q", err, book.String())
	}
	if err := a.SetPlan(t.Context(), "ada", "pro"); err != nil {
		t.Errorf("set plan: %v", err)
	}
	members, err := a.ListMembers(t.Context())
	if err != nil || len(members) != 1 || members[0].Plan != "pro" || members[0].Email != "ada@example.com" {
		t.Errorf("members %+v, %v", members, err)
	}
}

// TestStartWithoutDatabase: where an installation's secret key lies, no start makes an empty database.
func TestStartWithoutDatabase(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "kith.db")
	if _, err := server.MigrateInstalled(t.Context(), path, false); err != nil {
		t.Fatalf("the first start: %v", err)
	}
	if _, err := server.CreateSecretKey(path, ""); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := server.MigrateInstalled(t.Context(), path, false); err == nil || !strings.Contains(err.Error(), "kith restore") {
		t.Errorf("without the file: %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Error("it made an empty database")
	}
}
