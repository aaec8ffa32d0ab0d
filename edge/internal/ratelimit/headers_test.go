package ratelimit_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kith-crm/kith/edge/internal/ratelimit"
)

// part returns a decision about a part of a request.
func part(d ratelimit.Decision) ratelimit.Decision {
	d.Part = true
	return d
}

func decision(name string, quota, window, remaining, reset int, allowed bool) ratelimit.Decision {
	return ratelimit.Decision{
		Policy:  ratelimit.Policy{Name: name, Quota: quota, Window: time.Duration(window) * time.Second},
		Allowed: allowed, Remaining: remaining, Reset: reset,
	}
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	off := ratelimit.Decision{Policy: ratelimit.Policy{Name: "off", Window: time.Minute}, Allowed: true}
	for name, test := range map[string]struct {
		decisions []ratelimit.Decision
		want      http.Header
	}{
		"refused": {
			[]ratelimit.Decision{decision("mcp-sandbox", 60, 60, 0, 17, false)},
			http.Header{
				"RateLimit": {`"mcp-sandbox";r=0;t=17`}, "RateLimit-Policy": {`"mcp-sandbox";q=60;w=60`},
				"RateLimit-Limit": {"60"}, "RateLimit-Remaining": {"0"}, "RateLimit-Reset": {"17"}, "Retry-After": {"17"},
			},
		},
		"allowed": {
			[]ratelimit.Decision{decision("profile", 120, 60, 119, 60, true)},
			http.Header{
				"RateLimit": {`"profile";r=119;t=60`}, "RateLimit-Policy": {`"profile";q=120;w=60`},
				"RateLimit-Limit": {"120"}, "RateLimit-Remaining": {"119"}, "RateLimit-Reset": {"60"},
			},
		},
		"several": {
			[]ratelimit.Decision{
				decision("batch", 30, 60, 12, 50, true), off, decision("profile", 120, 60, 3, 5, true), decision("directory", 60, 60, 3, 9, true),
			},
			http.Header{
				"RateLimit":        {`"batch";r=12;t=50, "profile";r=3;t=5, "directory";r=3;t=9`},
				"RateLimit-Policy": {`"batch";q=30;w=60, "profile";q=120;w=60, "directory";q=60;w=60`},
				"RateLimit-Limit":  {"60"}, "RateLimit-Remaining": {"3"}, "RateLimit-Reset": {"9"},
			},
		},
		"parts of a request": {
			[]ratelimit.Decision{
				decision("batch", 30, 60, 12, 50, true), part(decision("profile", 120, 60, 0, 5, true)), part(decision("directory", 60, 60, 3, 9, true)),
			},
			http.Header{
				"RateLimit":        {`"batch";r=12;t=50, "profile";r=0;t=5, "directory";r=3;t=9`},
				"RateLimit-Policy": {`"batch";q=30;w=60, "profile";q=120;w=60, "directory";q=60;w=60`},
				"RateLimit-Limit":  {"30"}, "RateLimit-Remaining": {"12"}, "RateLimit-Reset": {"50"},
			},
		},
		"parts alone": {
			[]ratelimit.Decision{off, part(decision("profile", 120, 60, 7, 5, true)), part(decision("directory", 60, 60, 3, 9, true))},
			http.Header{
				"RateLimit": {`"profile";r=7;t=5, "directory";r=3;t=9`}, "RateLimit-Policy": {`"profile";q=120;w=60, "directory";q=60;w=60`},
				"RateLimit-Limit": {"60"}, "RateLimit-Remaining": {"3"}, "RateLimit-Reset": {"9"},
			},
		},
		"the wait suffices for all": {
			[]ratelimit.Decision{decision("a", 1, 60, 0, 50, true), decision("b", 1, 60, 0, 17, false), decision("c", 9, 60, 8, 59, true)},
			http.Header{
				"RateLimit":        {`"a";r=0;t=50, "b";r=0;t=17, "c";r=8;t=59`},
				"RateLimit-Policy": {`"a";q=1;w=60, "b";q=1;w=60, "c";q=9;w=60`},
				"RateLimit-Limit":  {"1"}, "RateLimit-Remaining": {"0"}, "RateLimit-Reset": {"50"}, "Retry-After": {"50"},
			},
		},
		"off":  {[]ratelimit.Decision{off}, http.Header{}},
		"none": {nil, http.Header{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := http.Header{}
			ratelimit.WriteHeaders(h, test.decisions...)
			if diff := cmp.Diff(test.want, h); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestHeadersAreReplaced(t *testing.T) {
	t.Parallel()
	h := http.Header{"Retry-After": {"2"}} // for a job that is still running
	ratelimit.WriteHeaders(h, decision("jobs", 60, 60, 59, 60, true))
	ratelimit.WriteHeaders(h, decision("jobs", 60, 60, 58, 30, true), decision("mcp", 9, 60, 8, 7, true))
	want := http.Header{
		"RateLimit": {`"jobs";r=58;t=30, "mcp";r=8;t=7`}, "RateLimit-Policy": {`"jobs";q=60;w=60, "mcp";q=9;w=60`},
		"RateLimit-Limit": {"9"}, "RateLimit-Remaining": {"8"}, "RateLimit-Reset": {"7"}, "Retry-After": {"2"},
	}
	if diff := cmp.Diff(want, h); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A parser of structured fields reads the expected values, and writes the same bytes.
func TestHeadersAreStructuredFields(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.IntRange(1, 12).Draw(t, "decisions")
		decisions := make([]ratelimit.Decision, 0, count)
		for range count {
			decisions = append(decisions, decision(
				rapid.StringMatching(`[a-z0-9-]{1,64}`).Draw(t, "name"),
				rapid.IntRange(1, ratelimit.MaxQuota).Draw(t, "quota"), rapid.IntRange(1, 86400).Draw(t, "window"),
				rapid.IntRange(0, ratelimit.MaxQuota).Draw(t, "remaining"), rapid.IntRange(1, 86400).Draw(t, "reset"),
				rapid.Bool().Draw(t, "allowed"),
			))
		}
		h := http.Header{}
		ratelimit.WriteHeaders(h, decisions...)
		raw := map[string][]string(h) // Go's canonical spelling would be different
		checkList(t, raw["RateLimit"], decisions, func(d ratelimit.Decision) (string, int, string, int) {
			return "r", d.Remaining, "t", d.Reset
		})
		checkList(t, raw["RateLimit-Policy"], decisions, func(d ratelimit.Decision) (string, int, string, int) {
			return "q", d.Policy.Quota, "w", int(d.Policy.Window / time.Second)
		})
	})
}

func checkList(t *rapid.T, values []string, decisions []ratelimit.Decision, params func(ratelimit.Decision) (string, int, string, int)) {
	list, err := httpsfv.UnmarshalList(values)
	if err != nil || len(list) != len(decisions) {
		t.Fatalf("parse %q: %d members, %v", values, len(list), err)
	}
	for i, d := range decisions {
		item := httpsfv.NewItem(d.Policy.Name)
		first, m, second, n := params(d)
		item.Params.Add(first, int64(m))
		item.Params.Add(second, int64(n))
		if diff := cmp.Diff(item.Value, list[i].(httpsfv.Item).Value); diff != "" {
			t.Fatal(diff)
		}
		if want, _ := httpsfv.Marshal(item); !slices.Contains(strings.Split(values[0], ", "), want) {
			t.Fatalf("%q is not in %q", want, values[0])
		}
	}
	if again, err := httpsfv.Marshal(list); err != nil || again != values[0] {
		t.Fatalf("canonical is %q (%v), not %q", again, err, values[0])
	}
}

// The headers are sent with the spelling of the specification.
func TestHeadersOnTheWire(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		ratelimit.WriteHeaders(w.Header(), decision("mcp-sandbox", 60, 60, 0, 17, false))
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	t.Cleanup(server.Close)
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: kith\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for scanner := bufio.NewScanner(conn); scanner.Scan(); {
		lines = append(lines, scanner.Text())
	}
	for _, want := range []string{
		"HTTP/1.1 429 Too Many Requests",
		`RateLimit: "mcp-sandbox";r=0;t=17`,
		`RateLimit-Policy: "mcp-sandbox";q=60;w=60`,
		"RateLimit-Limit: 60",
		"RateLimit-Remaining: 0",
		"RateLimit-Reset: 17",
		"Retry-After: 17",
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("no line %q in %s", want, strconv.Quote(strings.Join(lines, "\n")))
		}
	}
}

func TestHeadersAllocateTwice(t *testing.T) {
	h := http.Header{}
	d := decision("mcp-sandbox", 60, 60, 0, 17, false)
	if n := testing.AllocsPerRun(100, func() { ratelimit.WriteHeaders(h, d) }); n > 2 {
		t.Errorf("%v allocations", n)
	}
}
