package ops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// sample is one request as the client saw it.
type sample struct {
	began  time.Time
	took   time.Duration
	what   string // write, read, public
	failed string // why it failed, or ""
}

func (s sample) ended() time.Time { return s.began.Add(s.took) }

// record has the samples of all clients.
type record struct {
	mu      sync.Mutex
	samples []sample
	waits   []wait
	faults  []error // unexpected answers
}

// wait is how long a retried write took, from the first attempt to the answer.
type wait struct {
	began, ended time.Time
}

func (r *record) keep(s sample) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.samples = append(r.samples, s)
}

func (r *record) fault(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = append(r.faults, err)
}

// between returns the samples that ended in the interval.
func (r *record) between(from, to time.Time) (list []sample) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.samples {
		if !s.ended().Before(from) && s.ended().Before(to) {
			list = append(list, s)
		}
	}
	return list
}

// longest returns the longest wait of a write that was answered in the interval.
func (r *record) longest(from, to time.Time) (most time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.waits {
		if !w.ended.Before(from) && w.ended.Before(to) {
			most = max(most, w.ended.Sub(w.began))
		}
	}
	return most
}

// client sends each request once, without retries, so every failure is recorded.
type client struct {
	site   *site
	http   *http.Client
	bearer string
	sent   int
}

// renewal is after how many requests a client opens a new connection, like short-lived
// clients.
const renewal = 25

func (s *site) client(bearer string) *client {
	transport := &http.Transport{TLSClientConfig: s.trust, MaxIdleConnsPerHost: 1}
	s.t.Cleanup(transport.CloseIdleConnections)
	return &client{site: s, bearer: bearer, http: &http.Client{
		Transport: transport, Timeout: 10 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// answer is a response that has been read.
type answer struct {
	status int
	header http.Header
	body   string
}

// errAway means that there was no answer, or a 503 or similar from Kith.
var errAway = errors.New("away")

// send sends a request with headers as "Name: value".
func (c *client) send(ctx context.Context, method, path, body string, headers ...string) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.site.base+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	req.GetBody = nil // so that net/http does not retry it
	if c.bearer != "" {
		req.Header.Set("Authorization", "Bearer "+c.bearer)
	}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Set(name, value)
	}
	c.sent++
	req.Close = c.sent%renewal == 0
	res, err := c.http.Do(req)
	if err != nil {
		return answer{}, fmt.Errorf("%w: no answer", errAway)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return answer{}, fmt.Errorf("%w: incomplete answer", errAway)
	}
	got := answer{res.StatusCode, res.Header, string(text)}
	if got.status >= http.StatusInternalServerError {
		return got, fmt.Errorf("%w: %d", errAway, got.status)
	}
	return got, nil
}

const (
	mcp      = "/mcp/v1"
	jsonType = "Content-Type: application/json"
	formType = "Content-Type: application/x-www-form-urlencoded"
)

// arguments are the arguments of a tool call.
type arguments = map[string]any

// toolCall returns the request that calls a tool.
func toolCall(tool string, args arguments) string {
	text, _ := json.Marshal(map[string]any{ // texts and numbers cannot fail
		"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": tool, "arguments": args},
	})
	return string(text)
}

// call runs a tool.
func (c *client) call(ctx context.Context, body string, headers ...string) (answer, error) {
	return c.send(ctx, http.MethodPost, mcp, body, append(headers, jsonType)...)
}

// result calls a tool that must succeed and returns its answer.
func (c *client) result(t *testing.T, tool string, args arguments) map[string]any {
	t.Helper()
	got, err := c.call(t.Context(), toolCall(tool, args))
	var reply struct {
		Result struct {
			Structured map[string]any `json:"structuredContent"`
			IsError    bool           `json:"isError"`
		}
	}
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	if err := json.Unmarshal([]byte(got.body), &reply); err != nil || reply.Result.Structured == nil || reply.Result.IsError {
		t.Fatalf("%s: got %d %s", tool, got.status, got.body)
	}
	return reply.Result.Structured
}

// done reports whether a tool call succeeded.
func (a answer) done() bool {
	return a.status == http.StatusOK && strings.Contains(a.body, `"isError":false`)
}
