package openapi

import (
	"bufio"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the driver, registered as "sqlite"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// maxInFlight is the request limit of the described service, and the number of requests with
// which checkBusy fills it: two for each processor. The service does not lower its limit
// below that when the processors are slow, so nothing here depends on how slow they are.
var maxInFlight = 2 * runtime.GOMAXPROCS(0)

// checkBusy fills the request limit of the service with requests that wait for a locked
// database. Meanwhile every operation answers 503. It uses the plain build: with the race
// detector the service did not get busy, for an unknown reason.
func (c *contract) checkBusy(t *testing.T) {
	s := harness.NewService(t, harness.SQLite)
	s.Binary = harness.PlainBinary
	s.LimitAll("100000/3600")
	s.Settings["KITH_MAX_IN_FLIGHT"] = strconv.Itoa(maxInFlight)
	s.Settings["KITH_CONNECTIONS_PER_ADDRESS"] = "-1" // every operation is requested at once
	s.Start()
	busy := readContract(t, s)
	release := harness.LockDatabase(t, s.DatabaseURL)
	var waiting sync.WaitGroup
	// On a busy machine, the first of them may have given up before the last one comes.
	harness.Eventually(t, "the service is busy", func() bool {
		waiting.Wait()
		for range maxInFlight {
			waiting.Go(func() {
				s.Send(t, http.MethodPost, "/oauth/register", `{"redirect_uris":["https://a.example/cb"]}`, harness.JSONType)
			})
		}
		for end := time.Now().Add(3 * time.Second); time.Now().Before(end); {
			if s.Send(t, http.MethodGet, "/", "").Status == http.StatusServiceUnavailable {
				return true
			}
		}
		return false
	})
	operations := slices.Collect(maps.Values(busy.operations))
	answers := make([]harness.Response, len(operations))
	var refused sync.WaitGroup // each request is queued before it is refused
	for i, op := range operations {
		k := busy.asDocumented(t, op, "")
		refused.Go(func() { answers[i] = s.Send(t, op.method, k.path, k.body, k.headers...) })
	}
	refused.Wait()
	for i, op := range operations {
		busy.check(t, op, answers[i])
		if got := answers[i]; got.Status != http.StatusServiceUnavailable {
			t.Errorf("%s: got %d %s", op.OperationID, got.Status, harness.Excerpt(got.Body))
		}
	}
	release()
	waiting.Wait()
	c.learn(busy)
}

// checkSlow begins requests and never sends their bodies.
func (c *contract) checkSlow(t *testing.T) {
	var waiting []func()
	for _, op := range c.operations {
		if op.Responses.Status(http.StatusRequestTimeout) != nil && !op.page() {
			waiting = append(waiting, c.startSlowly(t, op))
		}
	}
	for _, wait := range waiting {
		wait()
	}
}

// startSlowly begins a request and returns when the service waits for its body. The
// returned function waits for the answer.
func (c *contract) startSlowly(t *testing.T, op *operation) func() {
	t.Helper()
	conn := c.service.Dial(t)
	k := c.asDocumented(t, op, "")
	head := op.method + " " + op.path + " HTTP/1.1\r\nHost: localhost\r\n" + strings.Join(k.headers, "\r\n") +
		"\r\nExpect: 100-continue\r\nContent-Length: 500\r\n\r\n"
	if _, err := io.WriteString(conn, head); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(conn)
	if res, err := http.ReadResponse(reader, nil); err != nil || res.StatusCode != http.StatusContinue {
		t.Fatalf("%s: no 100 Continue: %v %v", op.OperationID, res, err)
	}
	return func() {
		res, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatalf("%s: no answer: %v", op.OperationID, err)
		}
		got := harness.ReadResponse(t, res)
		c.check(t, op, got)
		if got.Status != http.StatusRequestTimeout {
			t.Errorf("%s: got %d %s", op.OperationID, got.Status, got.Body)
		}
	}
}

// checkLimits calls a service where every rate limit is one request. The answers are
// checked against that service's own description.
func (c *contract) checkLimits(t *testing.T) {
	s := harness.NewService(t, harness.SQLite)
	s.LimitAll("1/3600")
	s.Start()
	limited := readContract(t, s)
	for id, op := range limited.operations {
		if op.page() || op.Responses.Status(http.StatusTooManyRequests) == nil {
			continue
		}
		k := limited.asDocumented(t, op, "")
		var got harness.Response
		// The first request of a credential counts against the address, later ones against the
		// credential.
		for try := 0; try < 3 && got.Status != http.StatusTooManyRequests; try++ {
			got = limited.ask(t, op, k)
		}
		if got.Status != http.StatusTooManyRequests {
			t.Errorf("%s: got %d %s", id, got.Status, harness.Excerpt(got.Body))
		}
	}
	c.learn(limited)
}

// checkOutage calls a service whose backend is down.
func (c *contract) checkOutage(t *testing.T) {
	if testing.Short() {
		t.Skip("it needs PostgreSQL")
	}
	s := harness.NewService(t, harness.Split)
	s.Settings["KITH_SECURITY_CONTACT"] = "mailto:security@kith.example" // else there is no such file
	s.Start()
	alone := readContract(t, s)
	requests := map[*operation]call{}
	for _, op := range alone.operations {
		if !op.page() {
			requests[op] = alone.asDocumented(t, op, "")
		}
	}
	s.Backend.Kill()
	for op, k := range requests {
		got := alone.ask(t, op, k)
		if got.Status != http.StatusServiceUnavailable && got.Status != http.StatusOK {
			t.Errorf("%s: got %d %s", op.OperationID, got.Status, harness.Excerpt(got.Body))
		}
	}
	c.learn(alone)
	s.StartBackend() // so that it can be stopped like the others
}

// learn copies the answers seen from another service.
func (c *contract) learn(from *contract) {
	for seen := range from.answered {
		c.answered[seen] = true
	}
	for words := range from.told {
		c.told[words] = true
	}
}

// lintByRedocly and lintBySpectral check the description with two third-party linters.
// Exceptions are in their configuration files, each with its reason.
func (c *contract) lintByRedocly(t *testing.T) {
	script := harness.NodeScript(t, "@redocly", "cli", "bin", "cli.js")
	quiet := map[string]string{"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"}
	done := harness.RunNode(t, quiet, script, "lint", "--config", "redocly.yaml", "--format", "stylish", c.file(t))
	if done.Code != 0 || !strings.Contains(done.Stderr+done.Stdout, "Your API description is valid") || strings.Contains(done.Stderr+done.Stdout, "warning") {
		t.Errorf("exit code %d: %s%s", done.Code, done.Stdout, done.Stderr)
	}
}

func (c *contract) lintBySpectral(t *testing.T) {
	script := harness.NodeScript(t, "@stoplight", "spectral-cli", "dist", "index.js")
	done := harness.RunNode(t, nil, script, "lint", "--ruleset", "spectral.yaml", "--fail-severity", "hint", c.file(t))
	if done.Code != 0 || !strings.Contains(done.Stdout, "No results with a severity of 'hint' or higher found!") {
		t.Errorf("exit code %d: %s%s", done.Code, done.Stdout, done.Stderr)
	}
}

// file writes the served description to a file.
func (c *contract) file(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "openapi.json")
	if err := os.WriteFile(path, []byte(c.body), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
