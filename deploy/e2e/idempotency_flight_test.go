package e2e

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// hold keeps the service from ending what it keeps answers of, until release is
// called.
func (s *service) hold(t *testing.T) (release func()) {
	t.Helper()
	if !s.topology.postgres {
		return lockDatabase(t, s.databaseURL)
	}
	tx, err := s.openDatabase(t).BeginTx(t.Context(), nil)
	if err == nil {
		_, err = tx.ExecContext(t.Context(), "LOCK TABLE idempotency_keys IN SHARE MODE")
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := tx.Rollback(); err != nil {
			t.Error(err)
		}
	}
}

// awaitHeld waits until somebody in PostgreSQL waits for what hold has.
func (s *service) awaitHeld(t *testing.T) {
	t.Helper()
	db := s.openDatabase(t)
	const waiting = "SELECT count(*) FROM pg_locks JOIN pg_database d ON d.oid = database WHERE datname = current_database() AND NOT granted"
	eventually(t, "the first is at its end", func() bool {
		n := 0
		if err := db.QueryRowContext(t.Context(), waiting).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n > 0
	})
}

// flight is one keyed request, sent by many at once while its end is held up. All
// but one have been answered; that one is being worked on.
type flight struct {
	early  []answer
	last   net.Conn // of the one that is not answered
	answer chan answer
}

// takeOff sends the request. Those who are answered must have got a 409.
func (d door) takeOff(t *testing.T, body, key string) *flight {
	t.Helper()
	const callers = 4
	type arrival struct {
		conn   net.Conn
		answer answer
	}
	arrivals := make(chan arrival, callers)
	conns := map[net.Conn]bool{}
	for range callers {
		conn := d.service.dial(t)
		conns[conn] = true
		if _, err := io.WriteString(conn, d.request(body, key)); err != nil {
			t.Fatal(err)
		}
		go func() {
			var got answer // stays empty when the connection is closed before it comes
			if res, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil {
				got = readAnswer(t, res)
			}
			arrivals <- arrival{conn, got}
		}()
	}
	f := &flight{answer: make(chan answer, 1)}
	for range callers - 1 {
		early := <-arrivals
		f.early = append(f.early, early.answer)
		delete(conns, early.conn)
		if got := early.answer; got.status != http.StatusConflict || got.header.Get("Retry-After") != "1" || got.header.Get("Idempotency-Replayed") != "" || !strings.Contains(got.body, "Idempotency-Key") {
			t.Errorf("while the first is at work: got %d %v %s", got.status, got.header, got.body)
		}
	}
	for conn := range conns {
		f.last = conn
	}
	go func() { f.answer <- (<-arrivals).answer }()
	return f
}

// checkInFlight: of many who come at once with one key, one is served, and the
// others are told so at once. Later all of them get its answer.
func checkInFlight(t *testing.T, d door) {
	key, word := keyLine(newWord()), newWord()
	body := d.does(word)
	release := d.service.hold(t)
	f := d.takeOff(t, body, key)
	if got := d.send(t, d.does(newWord()), key); got.status != http.StatusConflict {
		t.Errorf("another body under the key: got %d %s", got.status, got.body)
	}
	release()
	first := <-f.answer
	d.isKept(t, "the first", first, false)
	again := d.send(t, body, key)
	d.isKept(t, "another after it", again, true)
	if again.body != first.body {
		t.Errorf("it was answered\n%s\nand is now\n%s", first.body, again.body)
	}
	d.isDoneOnce(t, word)
}

// checkHangUp: a caller who hangs up in the middle has it done all the same, and
// learns of it when they come back.
func checkHangUp(t *testing.T, d door) {
	key, word := keyLine(newWord()), newWord()
	body := d.does(word)
	release := d.service.hold(t)
	f := d.takeOff(t, body, key)
	if err := f.last.Close(); err != nil {
		t.Fatal(err)
	}
	if got := <-f.answer; got.status != 0 {
		t.Fatalf("the first was answered before it was done: %d %s", got.status, got.body)
	}
	if got := d.send(t, body, key); got.status != http.StatusConflict {
		t.Errorf("while it is at work: got %d %s", got.status, got.body)
	}
	release()
	var got answer
	eventually(t, "it is done", func() bool {
		got = d.send(t, body, key)
		return got.status != http.StatusConflict
	})
	d.isKept(t, "the next attempt", got, true)
	d.isDoneOnce(t, word)
}

// isDoneOnce wants one person of the name to be on file, where the door is one to
// add people by.
func (d door) isDoneOnce(t *testing.T, word string) {
	t.Helper()
	if d.bearer == "" {
		return
	}
	if found := (agent{d.service, d.path, d.bearer}).find(t, word); len(found) != 1 {
		t.Errorf("%s: it was done %d times", d.path, len(found))
	}
}

// TestKeysAmongServices: services on one database know of each other's keys, of
// those in flight as well.
func TestKeysAmongServices(t *testing.T) {
	eachTopologyThat(t, inPostgres, func(t *testing.T, s *service) {
		other := s.beside(t)
		a := s.newMember(t).agent(t)
		there := other.doors(t, a)
		for i, here := range s.doors(t, a) {
			key, body := keyLine(newWord()), here.does(newWord())
			release := s.hold(t)
			f := here.takeOff(t, body, key)
			s.awaitHeld(t) // until then it is in flight in its own process only
			if got := there[i].send(t, body, key); got.status != http.StatusConflict {
				t.Errorf("%s: the other service answers %d %s", here.path, got.status, got.body)
			}
			release()
			first := <-f.answer
			here.isKept(t, "here", first, false)
			again := there[i].send(t, body, key)
			here.isKept(t, "there", again, true)
			if again.body != first.body {
				t.Errorf("%s: it was answered %s and is there %s", here.path, first.body, again.body)
			}
		}
	})
}
