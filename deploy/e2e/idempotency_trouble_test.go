package e2e

import (
	"net/http"
	"strings"
	"testing"
)

// TestKeysOverTheLimit: a request that was one too many was not done, and its key
// is for the one that comes in time. Replays count like any other request.
func TestKeysOverTheLimit(t *testing.T) {
	t.Parallel()
	for _, way := range topologies() {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, way)
			s.limitAll("2/1")
			s.start()
			a := s.newMember(t).agent(t)
			for _, d := range s.doors(t, a) {
				t.Run(d.path, func(t *testing.T) { checkOverLimit(t, d) })
			}
		})
	}
}

func checkOverLimit(t *testing.T, d door) {
	t.Helper()
	var key, body string
	eventually(t, "a request is one too many", func() bool {
		key, body = keyLine(newWord()), d.does(newWord())
		got := d.send(t, body, key)
		if got.status == http.StatusTooManyRequests && (got.header.Get("Retry-After") == "" || got.header.Get("Idempotency-Replayed") != "") {
			t.Errorf("got %v", got.header)
		}
		return got.status == http.StatusTooManyRequests
	})
	inTime := func() (got answer) {
		eventually(t, "a request is in time", func() bool {
			got = d.send(t, body, key)
			return got.status != http.StatusTooManyRequests
		})
		return got
	}
	d.isKept(t, "the first in time", inTime(), false)
	d.isKept(t, "the second", inTime(), true)
	eventually(t, "a replay is one too many", func() bool { return d.send(t, body, key).status == http.StatusTooManyRequests })
}

// TestKeysWithoutCredits: what could not be paid for was not done, and is done
// under its key once it can be.
func TestKeysWithoutCredits(t *testing.T) {
	t.Parallel()
	for _, way := range topologies() {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, way)
			s.settings["KITH_CREDITS_FREE"] = "3"
			s.start()
			ada := s.newMember(t)
			a := ada.agent(t)
			a.create(t, arguments{"name": "All That Can Be Paid For"})
			a.call(t, "search_connections", arguments{"query": "x"})
			bodies := map[string]string{
				"a write": toolCall(t, "create_connection", arguments{"name": newWord()}),
				"a read":  toolCall(t, "search_connections", arguments{"query": newWord()}),
			}
			for what, body := range bodies {
				for range 2 {
					got := a.keyed(t, what, body)
					isReplay(t, what+" without credits", got, false)
					if !strings.Contains(got.body, `"isError":true`) || !strings.Contains(got.body, "credits") {
						t.Errorf("%s: got %s", what, got.body)
					}
				}
			}
			s.operate(t, "", "member", "set-plan", ada.username, "pro")
			for what, body := range bodies {
				got := a.keyed(t, what, body)
				isReplay(t, what+" with credits", got, false)
				if !strings.Contains(got.body, `"isError":false`) {
					t.Errorf("%s: got %s", what, got.body)
				}
				isReplay(t, what+" again", a.keyed(t, what, body), true)
			}
		})
	}
}

// TestKeysInAnOutage: while the store is away a request with a key is a 503, since
// nobody can tell whether it was done. It is done under its key afterwards, and
// what was done before is answered as before.
func TestKeysInAnOutage(t *testing.T) {
	eachTopologyThat(t, inPostgres, func(t *testing.T, s *service) {
		set := s.overWire(t)
		for _, d := range s.doors(t, s.newMember(t).agent(t)) {
			before, during, word := keyLine(newWord()), keyLine(newWord()), newWord()
			first := d.send(t, d.does("old"+word), before)
			d.isKept(t, "before", first, false)
			set(true)
			for _, got := range []answer{d.send(t, d.does("old"+word), before), d.send(t, d.does(word), during)} {
				checkUnavailable(t, d.path, got)
			}
			set(false)
			var got answer
			eventually(t, "the store is back", func() bool {
				got = d.send(t, d.does(word), during)
				return got.status != http.StatusServiceUnavailable
			})
			d.isKept(t, "afterwards", got, false)
			d.isKept(t, "and again", d.send(t, d.does(word), during), true)
			d.isDoneOnce(t, word)
			again := d.send(t, d.does("old"+word), before)
			d.isKept(t, "what was before", again, true)
			if again.body != first.body {
				t.Errorf("%s: it was answered %s and is now %s", d.path, first.body, again.body)
			}
		}
	})
}
