// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/idempotency -run 'TestKeysOverTheLimit|TestKeysWithoutCredits|TestKeysInAnOutage'

package idempotency

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestKeysOverTheLimit: a rate-limited request has no effect, and its key works for a later
// attempt. Replays count like any other request.
func TestKeysOverTheLimit(t *testing.T) {
	t.Parallel()
	for _, way := range harness.Topologies() {
		t.Run(way.Name, func(t *testing.T) {
			t.Parallel()
			s := harness.NewService(t, way)
			s.LimitAll("2/1")
			s.Start()
			a := s.NewMember(t).Agent(t)
			for _, d := range doors(t, s, a) {
				t.Run(d.Path, func(t *testing.T) { checkOverLimit(t, d) })
			}
		})
	}
}

func checkOverLimit(t *testing.T, d harness.IdempotentEndpoint) {
	t.Helper()
	var key, body string
	harness.Eventually(t, "a request is rate-limited", func() bool {
		key, body = harness.KeyLine(harness.NewWord()), d.MakeBody(harness.NewWord())
		got := d.Send(t, body, key)
		if got.Status == http.StatusTooManyRequests && (got.Header.Get("Retry-After") == "" || got.Header.Get("Idempotency-Replayed") != "") {
			t.Errorf("got %v", got.Header)
		}
		return got.Status == http.StatusTooManyRequests
	})
	inTime := func() (got harness.Response) {
		harness.Eventually(t, "a request is allowed", func() bool {
			got = d.Send(t, body, key)
			return got.Status != http.StatusTooManyRequests
		})
		return got
	}
	isKept(t, d, "the first allowed request", inTime(), false)
	isKept(t, d, "the second", inTime(), true)
	harness.Eventually(t, "a replay is rate-limited", func() bool { return d.Send(t, body, key).Status == http.StatusTooManyRequests })
}

// TestKeysWithoutCredits: a call without enough credits has no effect and keeps its key, also when
// there are credits again. With a new key it takes effect.
func TestKeysWithoutCredits(t *testing.T) {
	t.Parallel()
	for _, way := range harness.Topologies() {
		t.Run(way.Name, func(t *testing.T) {
			t.Parallel()
			s := harness.NewService(t, way)
			s.Settings["KITH_CREDITS_FREE"] = "3"
			s.Start()
			ada := s.NewMember(t)
			a := ada.Agent(t)
			a.Create(t, harness.Arguments{"name": "All That Can Be Paid For"})
			a.Call(t, "search_connections", harness.Arguments{"query": "x"})
			bodies := map[string]string{
				"a write": harness.ToolCall(t, "create_connection", harness.Arguments{"name": harness.NewWord()}),
				"a read":  harness.ToolCall(t, "search_connections", harness.Arguments{"query": harness.NewWord()}),
			}
			for what, body := range bodies {
				for _, replayed := range []bool{false, true} {
					got := a.WithKey(t, what, body)
					harness.CheckReplay(t, what+" without credits", got, replayed)
					if !strings.Contains(got.Body, `"isError":true`) || !strings.Contains(got.Body, "credits") {
						t.Errorf("%s: got %s", what, got.Body)
					}
				}
			}
			s.Operate(t, "", "member", "set-plan", ada.Username, "pro")
			for what, body := range bodies {
				harness.CheckReplay(t, what+" with the same key", a.WithKey(t, what, body), true)
				got := a.WithKey(t, what+" once more", body)
				harness.CheckReplay(t, what+" with credits", got, false)
				if !strings.Contains(got.Body, `"isError":false`) {
					t.Errorf("%s: got %s", what, got.Body)
				}
			}
		})
	}
}

// TestKeysInAnOutage: while the database is down a request with a key gets a 503, since the
// service cannot know whether it took effect. With the same key it takes effect afterwards,
// and requests from before the outage are replayed.
func TestKeysInAnOutage(t *testing.T) {
	harness.EachOwnThat(t, harness.IsPostgres, func(t *testing.T, s *harness.Service) {
		set := s.RestartOverProxy(t)
		for _, d := range doors(t, s, s.NewMember(t).Agent(t)) {
			before, during, word := harness.KeyLine(harness.NewWord()), harness.KeyLine(harness.NewWord()), harness.NewWord()
			first := d.Send(t, d.MakeBody("old"+word), before)
			isKept(t, d, "before", first, false)
			set(true)
			for _, got := range []harness.Response{d.Send(t, d.MakeBody("old"+word), before), d.Send(t, d.MakeBody(word), during)} {
				harness.CheckUnavailable(t, d.Path, got)
			}
			set(false)
			var got harness.Response
			harness.Eventually(t, "the store is back", func() bool {
				got = d.Send(t, d.MakeBody(word), during)
				return got.Status != http.StatusServiceUnavailable
			})
			isKept(t, d, "afterwards", got, false)
			isKept(t, d, "and again", d.Send(t, d.MakeBody(word), during), true)
			isDoneOnce(t, d, word)
			again := d.Send(t, d.MakeBody("old"+word), before)
			isKept(t, d, "a request from before the outage", again, true)
			if again.Body != first.Body {
				t.Errorf("%s: the first answer was %s, the second %s", d.Path, first.Body, again.Body)
			}
		}
	})
}
