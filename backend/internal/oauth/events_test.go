package oauth_test

import (
	"bytes"
	"log/slog"
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
