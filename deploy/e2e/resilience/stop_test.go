// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/resilience -run 'TestGracefulStop|TestGracefulStopOfBackend|TestStopTimeout|TestRestart'

package resilience

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// pendingRequest is a request that the server has begun to handle; it waits for the body.
type pendingRequest struct {
	conn   net.Conn
	reader *bufio.Reader
	body   string
}

// beginRequest sends a POST without its body, and returns once the server asks for the body
// (RFC 9110, section 10.1.1), which is when the handler reads.
func beginRequest(t *testing.T, addr, path, body string, headers ...string) *pendingRequest {
	t.Helper()
	p := &pendingRequest{conn: harness.Dial(t, addr), body: body}
	p.reader = bufio.NewReader(p.conn)
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\n%s\r\nExpect: 100-continue\r\nContent-Length: %d\r\n", path, harness.JSONType, len(body))
	for _, line := range headers {
		head += line + "\r\n"
	}
	if _, err := io.WriteString(p.conn, head+"\r\n"); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(p.reader, nil)
	if err != nil || res.StatusCode != http.StatusContinue {
		t.Fatalf("no 100 Continue: %v %v", res, err)
	}
	_ = res.Body.Close() // it has no body
	return p
}

// finish sends the body and reads the answer.
func (p *pendingRequest) finish(t *testing.T) harness.Response {
	t.Helper()
	if _, err := io.WriteString(p.conn, p.body); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(p.reader, nil)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	return harness.ReadResponse(t, res)
}

// awaitRefusal waits until nothing listens on the address.
func awaitRefusal(t *testing.T, addr string) {
	t.Helper()
	harness.Eventually(t, "new connections are refused", func() bool {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	})
}

// TestGracefulStop: a call in flight at SIGTERM is answered, its write is stored, new
// connections are refused meanwhile, and the exit code is 0.
func TestGracefulStop(t *testing.T) {
	harness.EachOwn(t, func(t *testing.T, s *harness.Service) {
		a := s.NewMember(t).Agent(t)
		pending := beginRequest(t, s.Addr, harness.PathCurrent, harness.ToolCall(t, "create_connection", harness.Arguments{"name": "Last Minute"}), "Authorization: Bearer "+a.Bearer)
		s.Edge.Signal()
		awaitRefusal(t, s.Addr)
		got := pending.finish(t)
		if got.Status != http.StatusOK || got.Reply(t).Error != nil {
			t.Errorf("the call in flight: got %d %s", got.Status, got.Body)
		}
		for _, p := range s.Programs() {
			p.Stop()
		}
		s.Start()
		if found := a.Find(t, "Last Minute"); len(found) != 1 {
			t.Errorf("the write in flight is lost: %v", found)
		}
	})
}

// TestGracefulStopOfBackend: the same for an internal caller of the backend, at SIGHUP.
func TestGracefulStopOfBackend(t *testing.T) {
	harness.EachOwnThat(t, harness.IsSplit, func(t *testing.T, s *harness.Service) {
		bearer := s.NewMember(t).Token(t).Bearer
		pending := beginRequest(t, s.BackendAddr, "/kith.connections.v1.ConnectionService/SearchConnections", `{"query":"x"}`,
			"Authorization: Bearer "+bearer, "Kith-Service-Token: "+s.ServiceToken)
		s.Backend.HangUp()
		awaitRefusal(t, s.BackendAddr)
		if got := pending.finish(t); got.Status != http.StatusOK {
			t.Errorf("the call in flight: got %d %s", got.Status, got.Body)
		}
		s.Backend.AwaitExit()
	})
}

// TestStopTimeout: a call that does not end does not block the exit beyond the timeout.
func TestStopTimeout(t *testing.T) {
	t.Parallel()
	s := harness.NewService(t, harness.SQLite)
	s.Settings["KITH_STOP_TIMEOUT"] = "200ms"
	s.Start()
	beginRequest(t, s.Addr, harness.PathSandbox, harness.Request(t, "ping", nil))
	s.Edge.Signal()
	s.Edge.Ended = true
	harness.Eventually(t, "the process has ended", func() bool {
		select {
		case <-s.Edge.Exited:
			return true
		default:
			return false
		}
	})
}

// TestRestart: data and tokens are still there after a restart.
func TestRestart(t *testing.T) {
	harness.EachOwn(t, func(t *testing.T, s *harness.Service) {
		a := s.NewMember(t).Agent(t)
		id := a.Create(t, harness.Arguments{"name": "Lasting Friend"})
		for _, p := range s.Programs() {
			p.Stop()
		}
		s.Start()
		if found := a.Find(t, "lasting"); !slices.Equal(found, []string{id}) {
			t.Errorf("found %v, want %s", found, id)
		}
		if found := s.SandboxAgent().Find(t, "microgrids"); len(found) == 0 {
			t.Error("the sandbox is empty")
		}
	})
}
