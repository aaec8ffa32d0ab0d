package authserver_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/authserver"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// A client that asked a moment ago is known without the store; later it is not.
func TestClientsAreRemembered(t *testing.T) {
	t.Parallel()
	f := &flaky{}
	s := webtest.New(t, webtest.Options{Auth: func(c *authserver.Config) {
		f.Store, f.Sessions = c.Store, c.Sessions
		c.Store, c.Sessions, c.RememberClients = f, f, time.Minute
	}})
	a := newAgent(t, s)
	pair := a.tokens(t, s.SignedIn(t, "maria"))
	for _, step := range []struct {
		wait time.Duration
		want []string
	}{
		{time.Second, []string{"RotateRefreshToken"}},
		{2 * time.Minute, []string{"GetClient", "RotateRefreshToken"}},
	} {
		s.Clock.Advance(step.wait)
		f.plan(failure{})
		got := a.refresh(t, pair.RefreshToken)
		if got.Status != http.StatusOK {
			t.Fatalf("got %+v", got)
		}
		if calls := f.called(); len(calls) != len(step.want) || calls[0] != step.want[0] {
			t.Errorf("after %s it calls %v", step.wait, calls)
		}
		pair = got
	}
}
