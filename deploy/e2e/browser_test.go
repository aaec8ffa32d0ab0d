package e2e

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// browser follows no redirect: where one comes, the test sees it.
var browser = &http.Client{
	Timeout:       patience,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// answer is an HTTP response, read to its end.
type answer struct {
	status int
	header http.Header
	body   string
}

// send sends a request. The headers are lines like "Origin: https://a.example";
// the same name may come twice.
func (s *service) send(t *testing.T, method, path, body string, headers ...string) answer {
	t.Helper()
	secrets.keepBody(body)
	req, err := http.NewRequestWithContext(t.Context(), method, s.base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		if name == "Host" {
			req.Host = value
			continue
		}
		req.Header.Add(name, value)
	}
	res, err := browser.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return readAnswer(t, res)
}

func readAnswer(t *testing.T, res *http.Response) answer {
	t.Helper()
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("the answer cannot be read: %v", err)
	}
	rateHeaders.keep(res.Header)
	return answer{res.StatusCode, res.Header, string(body)}
}

// dial opens a bare connection to the edge, which net/http does not tidy up.
func (s *service) dial(t *testing.T) net.Conn {
	t.Helper()
	return dial(t, s.addr)
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// sendRaw sends the bytes as they are, and reads one answer.
func (s *service) sendRaw(t *testing.T, request string) answer {
	t.Helper()
	conn := s.dial(t)
	// A server that refuses early closes before it has read everything: what
	// counts is the answer.
	_, _ = io.WriteString(conn, request)
	method, _, _ := strings.Cut(request, " ")
	res, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	return readAnswer(t, res)
}
