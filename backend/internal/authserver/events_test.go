package authserver_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/authserver"
	"github.com/kith-crm/kith/backend/internal/securityevent"
	"github.com/kith-crm/kith/backend/internal/storetest"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// A used code or a spent refresh token that comes again ends an agent's access: one
// line and one row, of the member and the client, however often it comes.
func TestReplaysAreSecurityEvents(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, url string) {
		var log bytes.Buffer // one request after the other writes to it
		s := webtest.Start(t, url, webtest.Options{Auth: func(c *authserver.Config) {
			c.Events = securityevent.NewRecorder(c.Store.(securityevent.Store), slog.New(slog.NewTextHandler(&log, nil)))
		}})
		a, thief, b := newAgent(t, s), newAgent(t, s), s.SignedIn(t, "maria")
		revoked := func(want int) {
			t.Helper()
			var rows int
			row := storetest.OpenSQL(t, url).QueryRow("SELECT count(*) FROM security_events WHERE kind = 'access_revoked' AND tenant_id = $1 AND object_id = $2", string(b.Owner), a.id)
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
