package harness

import (
	"bufio"
	"crypto/rand"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Client follows no redirects, so tests see each redirect.
var Client = &http.Client{
	Timeout:       Timeout,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// Response is an HTTP response with its whole body.
type Response struct {
	Status int
	Header http.Header
	Body   string
}

// Send sends a request. The headers are lines like "Origin: https://a.example";
// the same name may come twice.
func (s *Service) Send(t *testing.T, method, path, body string, headers ...string) Response {
	t.Helper()
	Secrets.keepBody(body)
	req, err := http.NewRequestWithContext(t.Context(), method, s.Base+path, strings.NewReader(body))
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
	res, err := Client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return ReadResponse(t, res)
}

func ReadResponse(t testing.TB, res *http.Response) Response {
	t.Helper()
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("the answer cannot be read: %v", err)
	}
	rateHeaders.keep(res.Header)
	return Response{res.StatusCode, res.Header, string(body)}
}

// Dial opens a TCP connection to the edge, for requests that net/http would change.
func (s *Service) Dial(t *testing.T) net.Conn {
	t.Helper()
	return Dial(t, s.Addr)
}

func Dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(Timeout)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// SendRaw sends the bytes unchanged and reads one answer.
func (s *Service) SendRaw(t *testing.T, request string) Response {
	t.Helper()
	conn := s.Dial(t)
	// A server that refuses a request early may close before it has read everything, so
	// a write error does not matter; the answer does.
	_, _ = io.WriteString(conn, request)
	method, _, _ := strings.Cut(request, " ")
	res, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	return ReadResponse(t, res)
}

// NewWord returns a random word that no other test uses.
func NewWord() string { return strings.ToLower(rand.Text()) }

// Get reads an address, which need not be the service's, with one header.
func Get(t *testing.T, address, header string) Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	name, value, _ := strings.Cut(header, ": ")
	req.Header.Set(name, value)
	res, err := Client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return ReadResponse(t, res)
}

const FormType = "application/x-www-form-urlencoded"

// Excerpt shortens a body for failure messages.
func Excerpt(body string) string { return strings.ToValidUTF8(body[:min(len(body), 400)], "?") }

// CheckUnavailable fails the test unless the answer is a 503 with Retry-After. A 401 or
// another 4xx would make clients discard valid credentials.
func CheckUnavailable(t *testing.T, what string, got Response) {
	t.Helper()
	if got.Status != http.StatusServiceUnavailable || got.Header.Get("Retry-After") == "" || got.Header.Get("WWW-Authenticate") != "" {
		t.Errorf("%s: got %d (Retry-After %q) %s, want 503", what, got.Status, got.Header.Get("Retry-After"), got.Body)
	}
}

// Demo is the username of the sandbox's member, whose profile is public.
const Demo = "demo"

func Shorten(s string) string { return strings.ToValidUTF8(s[:min(len(s), 60)], "?") }

// CheckPreflight fails the test unless the preflight answer allows the method.
func CheckPreflight(t *testing.T, got Response, method string) {
	t.Helper()
	if got.Status != http.StatusNoContent || got.Body != "" {
		t.Errorf("OPTIONS: got %d %q, want 204", got.Status, got.Body)
	}
	for name, want := range map[string]string{
		"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Methods": method, "Access-Control-Allow-Headers": "authorization", "Allow": method,
	} {
		if value := got.Header.Get(name); !strings.Contains(value, want) {
			t.Errorf("OPTIONS: %s is %q, want %q in it", name, value, want)
		}
	}
	if got.Header.Get("Access-Control-Allow-Credentials") != "" {
		t.Error("OPTIONS: Access-Control-Allow-Credentials is set")
	}
}

// Head returns the status and the named headers in one map, for comparison.
func (a Response) Head(names ...string) map[string]string {
	head := map[string]string{"status": strconv.Itoa(a.Status)}
	for _, name := range names {
		head[name] = a.Header.Get(name)
	}
	return head
}

// CheckSame fails the test with the differences, if there are any.
func CheckSame(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
