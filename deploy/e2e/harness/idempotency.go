package harness

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// HoldKeys blocks the service from committing requests with idempotency keys until release
// is called.
func (s *Service) HoldKeys(t *testing.T) (release func()) {
	t.Helper()
	if !s.Topology.Postgres {
		return LockDatabase(t, s.DatabaseURL)
	}
	tx, err := s.OpenDatabase(t).BeginTx(t.Context(), nil)
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

// inFlight is one request with a key, sent over several connections at once while its
// commit is blocked. All but one are answered; that one is still running.
type inFlight struct {
	Refused    []Response
	Unanswered net.Conn // the connection without an answer yet
	Answer     chan Response
}

// SendAtOnce sends the request concurrently. Early answers must be a 409.
func (d IdempotentEndpoint) SendAtOnce(t *testing.T, body, key string) *inFlight {
	t.Helper()
	const callers = 4
	type arrival struct {
		conn   net.Conn
		answer Response
	}
	arrivals := make(chan arrival, callers)
	conns := map[net.Conn]bool{}
	for range callers {
		conn := d.Service.Dial(t)
		conns[conn] = true
		if _, err := io.WriteString(conn, d.request(body, key)); err != nil {
			t.Fatal(err)
		}
		go func() {
			var got Response // stays empty when the connection is closed before the answer
			if res, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil {
				got = ReadResponse(t, res)
			}
			arrivals <- arrival{conn, got}
		}()
	}
	f := &inFlight{Answer: make(chan Response, 1)}
	for range callers - 1 {
		early := <-arrivals
		f.Refused = append(f.Refused, early.answer)
		delete(conns, early.conn)
		CheckSame(t, "while the first is running", early.answer.Head("Retry-After", "Idempotency-Replayed"),
			map[string]string{"status": "409", "Retry-After": "1", "Idempotency-Replayed": ""})
		if !strings.Contains(early.answer.Body, "Idempotency-Key") {
			t.Errorf("while the first is running: got %s", early.answer.Body)
		}
	}
	for conn := range conns {
		f.Unanswered = conn
	}
	go func() { f.Answer <- (<-arrivals).answer }()
	return f
}

// WithKey sends a body with an idempotency key.
func (a Agent) WithKey(t *testing.T, key, body string) Response {
	t.Helper()
	return a.Post(t, body, KeyLine(key))
}

// CheckReplay fails the test unless the answer is a 200, and is a replay if want is true and
// not a replay if it is false.
func CheckReplay(t *testing.T, what string, got Response, want bool) {
	t.Helper()
	if replayed := got.Header.Get("Idempotency-Replayed") == "true"; got.Status != http.StatusOK || replayed != want {
		t.Errorf("%s: got %d, replayed %v, want %v: %s", what, got.Status, replayed, want, Excerpt(got.Body))
	}
}

// IdempotentEndpoint is a path that accepts idempotency keys, with a caller who may use it.
type IdempotentEndpoint struct {
	Service *Service
	Path    string
	Bearer  string // "" for none
	Status  int    // of a successful answer
	// MakeBody returns the body of a request that has an effect and contains the word.
	MakeBody func(word string) string
}

const PathRegister = "/oauth/register"

// KeyLine returns the header line of a key.
func KeyLine(key string) string { return "Idempotency-Key: " + key }

// Send sends a body over a TCP connection with the header lines unchanged; a client
// library would normalise them.
func (d IdempotentEndpoint) Send(t *testing.T, body string, lines ...string) Response {
	t.Helper()
	return d.Service.SendRaw(t, d.request(body, lines...))
}

func (d IdempotentEndpoint) request(body string, lines ...string) string {
	head := []string{"POST " + d.Path + " HTTP/1.1", "Host: localhost", "Connection: close", fmt.Sprint("Content-Length: ", len(body))}
	if d.Bearer != "" {
		head = append(head, "Authorization: Bearer "+d.Bearer)
	}
	if !strings.Contains(strings.Join(lines, "\n"), "Content-Type") {
		head = append(head, JSONType)
	}
	return strings.Join(append(head, lines...), "\r\n") + "\r\n\r\n" + body
}
