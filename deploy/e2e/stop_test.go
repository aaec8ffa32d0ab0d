package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"testing"
)

// pendingRequest is a request that the server has begun to serve: it waits for
// the rest of the body.
type pendingRequest struct {
	conn   net.Conn
	reader *bufio.Reader
	body   string
}

// beginRequest sends all of a POST but the body, and returns once the server asks
// for it (RFC 9110, section 10.1.1), which is when the handler reads.
func beginRequest(t *testing.T, addr, path, body string, headers ...string) *pendingRequest {
	t.Helper()
	p := &pendingRequest{conn: dial(t, addr), body: body}
	p.reader = bufio.NewReader(p.conn)
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\n%s\r\nExpect: 100-continue\r\nContent-Length: %d\r\n", path, jsonType, len(body))
	for _, line := range headers {
		head += line + "\r\n"
	}
	if _, err := io.WriteString(p.conn, head+"\r\n"); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(p.reader, nil)
	if err != nil || res.StatusCode != http.StatusContinue {
		t.Fatalf("the server does not ask for the body: %v %v", res, err)
	}
	_ = res.Body.Close() // it has none
	return p
}

// finish sends the body and reads the answer.
func (p *pendingRequest) finish(t *testing.T) answer {
	t.Helper()
	if _, err := io.WriteString(p.conn, p.body); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(p.reader, nil)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	return readAnswer(t, res)
}

// awaitRefusal waits until nobody listens there any more.
func awaitRefusal(t *testing.T, addr string) {
	t.Helper()
	eventually(t, "new connections are refused", func() bool {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	})
}

// TestGracefulStop: a call in flight at SIGTERM is answered, its write is kept,
// new connections are refused meanwhile, and the exit code is 0.
func TestGracefulStop(t *testing.T) {
	eachTopology(t, func(t *testing.T, s *service) {
		a := s.newMember(t).agent(t)
		pending := beginRequest(t, s.addr, pathCurrent, toolCall(t, "create_connection", arguments{"name": "Last Minute"}), "Authorization: Bearer "+a.bearer)
		s.front.signal()
		awaitRefusal(t, s.addr)
		got := pending.finish(t)
		if got.status != http.StatusOK || got.reply(t).Error != nil {
			t.Errorf("the call in flight: got %d %s", got.status, got.body)
		}
		for _, p := range s.programs() {
			p.stop()
		}
		s.start()
		if found := a.find(t, "Last Minute"); len(found) != 1 {
			t.Errorf("the write in flight is lost: %v", found)
		}
	})
}

// TestGracefulStopOfBackend: the same for an internal caller of the backend.
func TestGracefulStopOfBackend(t *testing.T) {
	eachTopologyThat(t, isSplit, func(t *testing.T, s *service) {
		bearer := s.newMember(t).token(t).bearer
		pending := beginRequest(t, s.backendAddr, "/kith.connections.v1.ConnectionService/SearchConnections", `{"query":"x"}`,
			"Authorization: Bearer "+bearer, "Kith-Service-Token: "+s.serviceToken)
		s.core.signal()
		awaitRefusal(t, s.backendAddr)
		if got := pending.finish(t); got.status != http.StatusOK {
			t.Errorf("the call in flight: got %d %s", got.status, got.body)
		}
		s.core.awaitExit()
	})
}

// TestStopTimeout: a call that does not end cannot keep the process for ever.
func TestStopTimeout(t *testing.T) {
	t.Parallel()
	s := newService(t, onSQLite)
	s.settings["KITH_STOP_TIMEOUT"] = "200ms"
	s.start()
	beginRequest(t, s.addr, pathSandbox, request(t, "ping", nil))
	s.front.signal()
	s.front.ended = true
	eventually(t, "the process has ended", func() bool {
		select {
		case <-s.front.exited:
			return true
		default:
			return false
		}
	})
}

// TestRestart: what was written is there after a stop and a start, and so are tokens.
func TestRestart(t *testing.T) {
	eachTopology(t, func(t *testing.T, s *service) {
		a := s.newMember(t).agent(t)
		id := a.create(t, arguments{"name": "Lasting Friend"})
		for _, p := range s.programs() {
			p.stop()
		}
		s.start()
		if found := a.find(t, "lasting"); !slices.Equal(found, []string{id}) {
			t.Errorf("found %v, want %s", found, id)
		}
		if found := s.visitor().find(t, "microgrids"); len(found) == 0 {
			t.Error("the sandbox is empty")
		}
	})
}
