package web_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/web"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// logbook is a log that several goroutines may write to.
type logbook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// events returns the kinds of the security events that were logged.
func (l *logbook) events(t *testing.T) []string {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	var kinds []string
	for line := range strings.Lines(l.text.String()) {
		var entry struct{ Msg, Event, Subject string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatal(err)
		}
		if entry.Msg == "security event" {
			kinds = append(kinds, entry.Event)
			if len(entry.Subject) != 64 {
				t.Errorf("no subject: %s", line)
			}
		}
	}
	return kinds
}

// eventRows returns the kinds of the stored security events, and all text in their
// rows.
func eventRows(t *testing.T, databaseURL string) (kinds []string, text string) {
	t.Helper()
	rows, err := dbtest.OpenSQL(t, databaseURL).Query("SELECT kind, coalesce(tenant_id, ''), subject, address || device || session_id, object_id FROM security_events ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var kind, owner, subject, address, object string
		if err := rows.Scan(&kind, &owner, &subject, &address, &object); err != nil {
			t.Fatal(err)
		}
		kinds, text = append(kinds, kind), text+fmt.Sprintln(kind, owner, subject, address, object)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return kinds, text
}

// Each event is one line and one row, neither of which contains a secret or typed text.
func TestSecurityEvents(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, databaseURL string) {
		book := &logbook{}
		p, options := withMail(t)
		mailOn := options.Web
		logger := slog.New(slog.NewJSONHandler(book, nil))
		var s *webtest.Site
		options.Web = func(c *web.Config) { mailOn(c); c.Logger = logger }
		options.Auth = func(c *oauth.Config) { c.Logger = slog.New(slog.DiscardHandler) }
		s = webtest.Start(t, databaseURL, options)
		owner := s.Member(t, "maria")
		b := s.Browser(t)
		var seen []string
		happened := func(kinds ...account.EventKind) {
			t.Helper()
			for _, kind := range kinds {
				seen = append(seen, string(kind))
			}
			kept, _ := eventRows(t, databaseURL)
			if logged := book.events(t); !slices.Equal(logged, seen) || !slices.Equal(kept, seen) {
				t.Fatalf("logged %v, kept %v, want %v", logged, kept, seen)
			}
		}
		want(t, signIn(b, "maria", "wrong-password-x", ""), http.StatusForbidden)
		happened(account.SignInFailed)
		want(t, signIn(b, "typed-by-mistake", webtest.Password, ""), http.StatusForbidden)
		happened(account.SignInFailed)
		wantRedirect(t, signIn(b, "maria", webtest.Password, ""), "/")
		happened(account.SignedInNew)
		secrets := []string{webtest.Password, newPassword, "wrong-password-x", "typed-by-mistake", "maria", b.Cookie("kith_session"), b.Cookie("kith_device")}
		made := makeToken(t, b, webtest.Values("name", "my-script"))
		secrets = append(secrets, "my-script", webtest.TextOf(made.ByID("made-token")))
		happened(account.TokenCreated)
		b.Submit(made, "/settings/mcp/tokens/revoke", nil)
		happened(account.AccessRevoked)
		c := s.Client(t, "Agent Smith", "https://a.example/cb")
		asked := allow(b.Get(authorizePath(c.ID, "https://a.example/cb")))
		for range 2 { // the second repeats the first
			wantCode(t, b.Post("/oauth/consent", asked))
		}
		happened(account.AgentAllowed)
		secrets = append(secrets, redeem(t, s, b.Post("/oauth/consent", asked)), asked.Get("request"))
		for _, act := range []struct {
			name string
			kind account.EventKind
		}{{"narrow", account.AgentNarrowed}, {"widen", account.AgentWidened}, {"pause", account.AgentPaused}, {"resume", account.AgentResumed}} {
			b.Submit(b.Get("/settings/agents"), "/settings/agents/"+act.name, webtest.Values("preset", "read", "scope", "connections"))
			happened(act.kind)
		}
		b.Submit(b.Get("/settings/mcp"), "/settings/mcp/agents/revoke", nil)
		happened(account.AccessRevoked)
		want(t, b.Get("/settings/account/export"), http.StatusOK)
		happened(account.AccountExported)
		secrets = append(secrets, "Ada Lovelace", "Grace Hopper")
		ada, _ := webtest.Added(t, s, owner, "Ada Lovelace")
		confirm := b.Get("/people/bin/delete?change=" + webtest.Deleted(t, s, owner, ada))
		for range 2 { // the second finds nothing to delete
			b.Submit(confirm, "/people/bin/delete", nil)
		}
		happened(account.DeletedForGood)
		grace, _ := webtest.Added(t, s, owner, "Grace Hopper")
		webtest.Deleted(t, s, owner, grace)
		confirm = b.Get("/people/bin/delete")
		for range 2 {
			b.Submit(confirm, "/people/bin/delete", nil)
		}
		happened(account.DeletedForGood)
		mistyped := merge(chosenPassword(), webtest.Values("password", "wrong-password-x"))
		want(t, b.Submit(b.Get("/settings/security"), "/settings/security/password", mistyped), http.StatusUnprocessableEntity)
		happened(account.PasswordCheckFailed)
		address := p.changeLink(t, s, b, "new@people.example")
		happened(account.EmailChangeAsked)
		b.Submit(b.Get(address), confirmForm, nil)
		happened(account.EmailChanged)
		b.Submit(b.Get("/settings/security"), "/settings/security/password", merge(chosenPassword(), webtest.Values("password", webtest.Password)))
		happened(account.PasswordChanged)
		want(t, b.Get("/settings/security"), http.StatusOK, "Security activity", "Failed sign-in", "Wrong password in the settings", "Deleted people for good",
			"Connected the agent", "Made the personal token “my-script”", "Changed the password", "from 127.0.0.0/24")
		b.Submit(b.Get("/settings/security"), "/settings/security/sign-out", nil)
		happened(account.SessionsEnded)
		b.Submit(b.Get("/forgot"), "/forgot", webtest.Values("login", "maria"))
		path := p.link(t, s, "new@people.example", resetSubject)
		b.Submit(b.Get(path), "/reset", webtest.Values("new_password", webtest.Password, "repeat_password", webtest.Password))
		happened(account.PasswordReset)
		_, link, _ := strings.Cut(path, "link=")
		secrets = append(secrets, link, strings.TrimPrefix(address, confirmForm+"?link="), "maria@people.example", "new@people.example")
		_, kept := eventRows(t, databaseURL)
		signIn(b, "maria", webtest.Password, "")
		gone := b.Submit(b.Get("/settings/account"), "/settings/account/delete", webtest.Values("username", "maria", "password", webtest.Password))
		want(t, gone, http.StatusOK, "Your account is deleted")
		if left, _ := eventRows(t, databaseURL); !slices.Equal(left, []string{string(account.SignInFailed), string(account.AccountDeleted)}) {
			t.Errorf("after the account was deleted: %v", left)
		}
		if logged := book.events(t); logged[len(logged)-1] != string(account.AccountDeleted) {
			t.Errorf("the deletion is not logged: %v", logged)
		}
		for _, secret := range secrets {
			if strings.Contains(kept, secret) || strings.Contains(book.text.String(), secret) {
				t.Errorf("%q is in a row or in the log", secret)
			}
		}
	})
}

// If a closed account is guessed at by its other login name, the member sees the
// events; attempts beyond the limits are not recorded.
func TestFailuresOnAClosedAccountAreTheMembers(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, databaseURL string) {
		address := "192.0.2.1"
		s := webtest.Start(t, databaseURL, limited(nil, &address))
		s.Member(t, "maria")
		closeAccount(t, s, &address, "maria")
		b := s.Browser(t)
		page := b.Get("/sign-in")
		for range 12 {
			b.Submit(page, "/sign-in", webtest.Values("login", "maria@people.example", "password", webtest.Password))
		}
		var ofMember, all int
		if err := dbtest.OpenSQL(t, databaseURL).QueryRow("SELECT coalesce(sum(CASE WHEN tenant_id IS NOT NULL THEN times END), 0), sum(times) FROM security_events").Scan(&ofMember, &all); err != nil {
			t.Fatal(err)
		}
		if ofMember != 60 || all != 60 { // fifty to close the account, ten from this address
			t.Errorf("%d of %d events are the member's", ofMember, all)
		}
	})
}

// An attempt that is refused by a limit is not an event: a flood of attempts writes
// nothing.
func TestRefusedAttemptsAreNoEvents(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, databaseURL string) {
		address := "192.0.2.1"
		s := webtest.Start(t, databaseURL, limited(nil, &address))
		b := s.Browser(t)
		page := b.Get("/sign-in")
		for range 30 {
			b.Submit(page, "/sign-in", webtest.Values("login", "nobody", "password", "x"))
		}
		var times int
		if err := dbtest.OpenSQL(t, databaseURL).QueryRow("SELECT sum(times) FROM security_events").Scan(&times); err != nil || times != 10 {
			t.Errorf("%d events, %v", times, err)
		}
		if kinds, _ := eventRows(t, databaseURL); len(kinds) != 1 {
			t.Errorf("%d rows", len(kinds))
		}
	})
}
