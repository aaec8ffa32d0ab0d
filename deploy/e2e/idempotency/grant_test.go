// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/idempotency -run TestKeysOfAGrant

package idempotency

import (
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestKeysOfAGrant: a key belongs to the grant, so it stays valid after the access token is
// refreshed. A later token without the scope is refused and does not get the stored answer.
func TestKeysOfAGrant(t *testing.T) {
	harness.EachTopology(t, func(t *testing.T, s *harness.Service) {
		person := s.NewPerson(t)
		g := s.NewGrant(t, person, "connections account write")
		key, body := harness.NewWord(), harness.ToolCall(t, "create_connection", harness.Arguments{"name": harness.NewWord()})
		first := g.Agent().WithKey(t, key, body)
		harness.CheckReplay(t, "the first", first, false)
		old := g.Agent()
		g.Refresh(t, "")
		harness.CheckChallenge(t, old, body, harness.InvalidToken, harness.KeyLine(key))
		again := g.Agent().WithKey(t, key, body)
		harness.CheckReplay(t, "with the next access token", again, true)
		if again.Body != first.Body {
			t.Errorf("the first answer was %s, the second %s", first.Body, again.Body)
		}
		another := s.NewGrant(t, person, "connections account write")
		harness.CheckReplay(t, "by another client of the same person", another.Agent().WithKey(t, key, body), false)

		g.Refresh(t, "connections account")
		refused := g.Agent().WithKey(t, key, body)
		if r := refused.Reply(t); r.Error == nil || r.Error.Code != harness.CodeRefused || refused.Header.Get("Idempotency-Replayed") != "" {
			t.Errorf("with a token that may not write: got %d %v %s", refused.Status, refused.Header, refused.Body)
		}
		g.Refresh(t, "")
		harness.CheckReplay(t, "with all scopes again", g.Agent().WithKey(t, key, body), true)
		g.Revoke(t)
		harness.CheckChallenge(t, g.Agent(), body, harness.InvalidToken, harness.KeyLine(key))
	})
}
