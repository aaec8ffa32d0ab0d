package server

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/edge/internal/backendtest"
)

// shortOfTime starts a server with short timeouts.
func shortOfTime(t *testing.T, c Config) *Server {
	t.Helper()
	s := newServer(t, c)
	s.http.ReadHeaderTimeout = 50 * time.Millisecond
	s.http.ReadTimeout = 100 * time.Millisecond
	return start(t, s)
}

func TestSlowHeadersAreCutOff(t *testing.T) {
	t.Parallel()
	conn := dial(t, shortOfTime(t, testConfig(backendtest.New())))
	if _, err := io.WriteString(conn, "GET /api/human/amara HTTP/1.1\r\nHost: kith"); err != nil {
		t.Fatal(err)
	}
	if answer, err := io.ReadAll(conn); err != nil || strings.Contains(string(answer), "200 OK") {
		t.Errorf("got %q, %v", answer, err)
	}
}

func TestSlowBodyIsARequestTimeout(t *testing.T) {
	t.Parallel()
	conn := dial(t, shortOfTime(t, testConfig(backendtest.New())))
	request := strings.TrimSuffix(post("/mcp/v1", ping), "}")
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	if r := readReply(t, conn); r.status != 408 || !strings.Contains(r.body, "-32600") || !r.closes {
		t.Errorf("%d %s, closes %t", r.status, r.body, r.closes)
	}
}
