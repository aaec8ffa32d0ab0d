// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/idempotency -run TestKeysAmongServices

package idempotency

import (
	"net/http"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// awaitHeld waits until a PostgreSQL session waits for the lock that hold has.
func awaitHeld(t *testing.T, s *harness.Service) {
	t.Helper()
	db := s.OpenDatabase(t)
	const waiting = "SELECT count(*) FROM pg_locks JOIN pg_database d ON d.oid = database WHERE datname = current_database() AND NOT granted"
	harness.Eventually(t, "the first request waits for the lock", func() bool {
		n := 0
		if err := db.QueryRowContext(t.Context(), waiting).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n > 0
	})
}

// checkInFlight: of many concurrent requests with one key, one is served and the others are
// refused at once. Later requests get its answer.
func checkInFlight(t *testing.T, d harness.IdempotentEndpoint) {
	key, word := harness.KeyLine(harness.NewWord()), harness.NewWord()
	body := d.MakeBody(word)
	release := d.Service.HoldKeys(t)
	f := d.SendAtOnce(t, body, key)
	if got := d.Send(t, d.MakeBody(harness.NewWord()), key); got.Status != http.StatusConflict {
		t.Errorf("another body under the key: got %d %s", got.Status, got.Body)
	}
	release()
	first := <-f.Answer
	isKept(t, d, "the first", first, false)
	again := d.Send(t, body, key)
	isKept(t, d, "a later request", again, true)
	if again.Body != first.Body {
		t.Errorf("the first answer was\n%s\nthe second\n%s", first.Body, again.Body)
	}
	isDoneOnce(t, d, word)
}

// checkHangUp: a request whose caller disconnects still takes effect, and the next attempt
// gets its answer.
func checkHangUp(t *testing.T, d harness.IdempotentEndpoint) {
	key, word := harness.KeyLine(harness.NewWord()), harness.NewWord()
	body := d.MakeBody(word)
	release := d.Service.HoldKeys(t)
	f := d.SendAtOnce(t, body, key)
	if err := f.Unanswered.Close(); err != nil {
		t.Fatal(err)
	}
	if got := <-f.Answer; got.Status != 0 {
		t.Fatalf("the first was answered before its commit: %d %s", got.Status, got.Body)
	}
	if got := d.Send(t, body, key); got.Status != http.StatusConflict {
		t.Errorf("while it is running: got %d %s", got.Status, got.Body)
	}
	release()
	var got harness.Response
	harness.Eventually(t, "the request is done", func() bool {
		got = d.Send(t, body, key)
		return got.Status != http.StatusConflict
	})
	isKept(t, d, "the next attempt", got, true)
	isDoneOnce(t, d, word)
}

// isDoneOnce checks that one connection of the name exists, for endpoints that create
// connections.
func isDoneOnce(t *testing.T, d harness.IdempotentEndpoint, word string) {
	t.Helper()
	if d.Bearer == "" {
		return
	}
	if found := (d.Service.Agent(d.Path, d.Bearer)).Find(t, word); len(found) != 1 {
		t.Errorf("%s: the request took effect %d times", d.Path, len(found))
	}
}

// TestKeysAmongServices: services on one database share keys, including those of requests
// in flight.
func TestKeysAmongServices(t *testing.T) {
	harness.EachOwnThat(t, harness.IsPostgres, func(t *testing.T, s *harness.Service) {
		other := s.StartBeside(t)
		a := s.NewMember(t).Agent(t)
		there := doors(t, other, a)
		for i, here := range doors(t, s, a) {
			key, body := harness.KeyLine(harness.NewWord()), here.MakeBody(harness.NewWord())
			release := s.HoldKeys(t)
			f := here.SendAtOnce(t, body, key)
			awaitHeld(t, s) // until then only its own process knows that it is in flight
			if got := there[i].Send(t, body, key); got.Status != http.StatusConflict {
				t.Errorf("%s: the other service answers %d %s", here.Path, got.Status, got.Body)
			}
			release()
			first := <-f.Answer
			isKept(t, here, "here", first, false)
			again := there[i].Send(t, body, key)
			isKept(t, here, "there", again, true)
			if again.Body != first.Body {
				t.Errorf("%s: this service answered %s, the other %s", here.Path, first.Body, again.Body)
			}
		}
	})
}
