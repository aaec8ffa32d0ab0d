package server

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/edge/internal/backendtest"
)

func testConfig(backend *backendtest.Backend) Config {
	return Config{
		Addr:            "127.0.0.1:0",
		BaseURL:         "http://kith.example",
		Transport:       backend.Transport(),
		ServiceToken:    backendtest.ServiceToken,
		SandboxEnabled:  true,
		DAV:             true,
		SandboxToken:    backendtest.TokenSandbox,
		SandboxUsername: backendtest.SandboxUsername,
		ProfileCacheTTL: DefaultProfileCacheTTL,
		RateLimits:      backendtest.NoLimits(RatePolicies()),
	}
}

func newServer(t *testing.T, c Config) *Server {
	t.Helper()
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// start serves until the test ends.
func start(t *testing.T, s *Server) *Server {
	t.Helper()
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
		defer cancel()
		if err := s.Stop(ctx); err != nil {
			t.Error(err)
		}
		if err := <-s.Done(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// reply is an answer, read to its end.
type reply struct {
	status int
	header http.Header
	body   string
	closes bool // the server said that it closes the connection
}

// raw sends raw bytes, which an HTTP client would not send, and reads one answer.
func raw(t *testing.T, s *Server, text string) reply {
	t.Helper()
	conn := dial(t, s)
	go func() { _, _ = io.WriteString(conn, text) }() // the server may answer and close the connection before the end
	return readReply(t, conn)
}

func dial(t *testing.T, s *Server) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return conn
}

func readReply(t *testing.T, conn net.Conn) reply {
	t.Helper()
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{status: response.StatusCode, header: response.Header, body: string(body), closes: response.Close}
}

// get is a GET request for a target.
func get(target string) string {
	return "GET " + target + " HTTP/1.1\r\nHost: kith.example\r\nConnection: close\r\n\r\n"
}

// post returns a POST request with a JSON body and further header lines.
func post(target, body string, lines ...string) string {
	head := "POST " + target + " HTTP/1.1\r\nHost: kith.example\r\nConnection: close\r\nContent-Type: application/json\r\n" +
		"Content-Length: " + strconv.Itoa(len(body)) + "\r\n"
	for _, line := range lines {
		head += line + "\r\n"
	}
	return head + "\r\n" + body
}

const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

// isProblem reports whether the answer is a problem, and not one of net/http.
func (r reply) isProblem() bool {
	return r.header.Get("Content-Type") == "application/problem+json" && strings.Contains(r.body, `"code":`)
}
