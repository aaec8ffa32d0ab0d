package web_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// The database, or a copy of it, contains nothing to sign in with: every secret that
// the pages create or accept is stored as a hash.
func TestSecretsAreKeptAsHashes(t *testing.T) {
	t.Parallel()
	p, options := withMail(t)
	path := filepath.Join(t.TempDir(), "kith.db")
	if _, err := db.Migrate(t.Context(), db.Config{URL: path}); err != nil {
		t.Fatal(err)
	}
	s := webtest.Start(t, path, options)
	s.Member(t, "maria")
	b := s.Browser(t)
	page := b.Get("/sign-in")
	secrets := map[string]string{"password": webtest.Password, "form cookie": b.Cookie("kith_form"), "form token": tokenOf(page)}
	wantRedirect(t, b.Submit(page, "/sign-in", webtest.Values("login", "maria", "password", webtest.Password)), "/")
	secrets["session"], secrets["form token of the session"] = b.Cookie("kith_session"), tokenOf(b.Get("/settings/mcp"))
	made := makeToken(t, b, webtest.Values("name", "script"))
	_, secrets["personal token"], _ = strings.Cut(webtest.TextOf(made.ByID("made-token")), "kith_pat_")
	c := s.Client(t, "Agent", "https://a.example/cb")
	asked := allow(b.Get(authorizePath(c.ID, "https://a.example/cb")))
	secrets["request"] = asked.Get("request")
	answer := b.Post("/oauth/consent", asked)
	wantCode(t, answer)
	secrets["code"], _, _ = strings.Cut(strings.TrimPrefix(answer.Header.Get("Location"), "https://a.example/cb?code="), "&")
	b.Submit(b.Get("/settings/security"), "/settings/security/verify", nil)
	secrets["verification link"] = strings.TrimPrefix(p.link(t, s, "maria@people.example", verifySubject), "/verify?link=")
	secrets["link to the new address"] = strings.TrimPrefix(p.changeLink(t, s, b, "new@people.example"), confirmForm+"?link=")
	b.Submit(b.Get("/forgot"), "/forgot", webtest.Values("login", "maria"))
	secrets["reset link"] = strings.TrimPrefix(p.link(t, s, "maria@people.example", resetSubject), "/reset?link=")
	other := s.Browser(t)
	other.Submit(other.Get("/sign-up"), "/sign-up", signUpForm("newby"))
	secrets["sign-up link"] = strings.TrimPrefix(p.link(t, s, "newby@people.example", finishSubject), "/verify?link=")

	kept := databaseFiles(t, path)
	for _, known := range []string{"maria@people.example", "newby@people.example", "script", "$argon2id$", "https://a.example/cb"} {
		if !bytes.Contains(kept, []byte(known)) {
			t.Fatalf("%q is not in the searched files", known)
		}
	}
	for name, secret := range secrets {
		if len(secret) < 18 {
			t.Errorf("the %s is %q", name, secret)
		}
		if bytes.Contains(kept, []byte(secret)) {
			t.Errorf("the %s is in the database", name)
		}
	}
}

// databaseFiles returns the bytes of a SQLite database, including its latest writes.
func databaseFiles(t *testing.T, path string) []byte {
	t.Helper()
	kept, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	wal, err := os.ReadFile(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	return append(kept, wal...)
}
