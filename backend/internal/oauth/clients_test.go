package oauth_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// A recently used client is cached; later it is read from the store again.
func TestClientsAreRemembered(t *testing.T) {
	t.Parallel()
	s, f := flakySite(t, webtest.Options{Auth: func(c *oauth.Config) { c.RememberClients = time.Minute }})
	a := newAgent(t, s)
	pair := a.tokens(t, s.SignedIn(t, "maria"))
	for _, step := range []struct {
		wait time.Duration
		want string
	}{
		{time.Second, "BEGIN, COMMITTED"},
		{2 * time.Minute, "SELECT clients, BEGIN, COMMITTED"},
	} {
		s.Clock.Advance(step.wait)
		f.plan(t, failure{})
		got := a.refresh(t, pair.RefreshToken)
		if got.Status != http.StatusOK {
			t.Fatalf("got %+v", got)
		}
		if calls := f.called(); calls != step.want {
			t.Errorf("after %s it calls %s", step.wait, calls)
		}
		pair = got
	}
}
