package oauth_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// Reusing a used code or a spent refresh token ends an agent's access: one line and one
// row, for the member and the client, however often it is reused.
func TestReplaysAreSecurityEvents(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		var log bytes.Buffer // requests write to it one after the other
		s := webtest.Start(t, url, webtest.Options{Auth: func(c *oauth.Config) {
			c.Events = account.NewEventRecorder(c.Store, slog.New(slog.NewTextHandler(&log, nil)), nil)
		}})
		a, thief, b := newAgent(t, s), newAgent(t, s), s.SignedIn(t, "maria")
		revoked := func(want int) {
			t.Helper()
			var rows int
			row := dbtest.OpenSQL(t, url).QueryRow("SELECT count(*) FROM security_events WHERE kind = 'access_revoked' AND tenant_id = $1 AND object_id = $2", string(b.Owner), a.id)
			if err := row.Scan(&rows); err != nil {
				t.Fatal(err)
			}
			lines := strings.Count(log.String(), "event=access_revoked")
			if rows != want || lines != want || strings.Count(log.String(), "object="+a.id) < want {
				t.Errorf("%d rows, %d lines, want %d", rows, lines, want)
			}
		}
		code := a.code(t, b)
		pair := a.exchange(t, code)
		wantError(t, a.exchange(t, code, "code_verifier", wrongVerifier), "invalid_grant")
		revoked(0)
		for range 2 {
			wantError(t, a.exchange(t, code), "invalid_grant")
			revoked(1)
		}
		a.wantDead(t, pair)
		pair = a.tokens(t, b)
		next := a.refresh(t, pair.RefreshToken)
		wantError(t, thief.refresh(t, pair.RefreshToken), "invalid_grant")
		wantError(t, a.refresh(t, "unknown"), "invalid_grant")
		revoked(1)
		for range 2 {
			wantError(t, a.refresh(t, pair.RefreshToken), "invalid_grant")
			revoked(2)
		}
		a.wantDead(t, next)
	})
}

// A personal token is revoked by whoever has it, with or without a client. The demo account's
// token is public, so it stays.
func TestRevokePersonalToken(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		var log bytes.Buffer
		s := webtest.Start(t, url, webtest.Options{Auth: func(c *oauth.Config) {
			c.Events = account.NewEventRecorder(c.Store, slog.New(slog.NewTextHandler(&log, nil)), nil)
		}})
		a := newAgent(t, s)
		owner, demo := dbtest.Member(t, s.Store, "ada"), dbtest.Member(t, s.Store, "demonstration")
		kept, public := dbtest.Token(t, s.Store, owner, "connections"), dbtest.Token(t, s.Store, demo, "connections")
		if _, err := dbtest.OpenSQL(t, url).Exec("UPDATE tenant_states SET read_only = TRUE WHERE tenant_id = $1", string(demo)); err != nil {
			t.Fatal(err)
		}
		for _, pairs := range [][]string{nil, {"client_id", ""}, {"token_type_hint", "access_token"}} {
			token := dbtest.Token(t, s.Store, owner, "connections")
			for range 2 {
				if got := a.revoke(t, token, pairs...); got.Status != http.StatusOK || strings.TrimSpace(got.Body) != "{}" {
					t.Errorf("with %v: %d %s", pairs, got.Status, got.Body)
				}
				if a.principal(t, token) != nil {
					t.Errorf("with %v: the token works", pairs)
				}
			}
		}
		if got := a.revoke(t, public, "client_id", ""); got.Status != http.StatusOK || a.principal(t, public) == nil || a.principal(t, kept) == nil {
			t.Errorf("the demo account's token, or another one, was revoked: %+v", got)
		}
		if n := strings.Count(log.String(), "event=access_revoked"); n != 3 {
			t.Errorf("%d events: %s", n, log.String())
		}
		wantError(t, a.revoke(t, "kith_at_x", "client_id", ""), "invalid_request")
	})
}
