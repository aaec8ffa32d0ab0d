// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/observability -run 'TestTraces|TestSlowStatements|TestNothingIsTracedUnlessAsked|TestCollectorDown|TestTracesThatCannotBe'

package observability

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// tracedTo sets the service to send its spans to the collector with a short delay.
func tracedTo(s *harness.Service, c *harness.Collector) {
	s.Settings["OTEL_TRACES_EXPORTER"] = "otlp"
	s.Settings["OTEL_EXPORTER_OTLP_ENDPOINT"] = c.URL
	s.Settings["OTEL_BSP_SCHEDULE_DELAY"] = "50"
}

// under returns the paths of a trace's spans from the root. Spans without a parent in the
// trace are marked as lost.
func under(t *testing.T, trace []harness.Span) []string {
	t.Helper()
	byID := map[string]harness.Span{}
	for _, s := range trace {
		byID[s.ID] = s
	}
	var paths []string
	for _, s := range trace {
		path := s.Name
		for s.Parent != "" {
			above, ok := byID[s.Parent]
			if !ok {
				path = "(lost) > " + path
				break
			}
			s, path = above, above.Name+" > "+path
		}
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths
}

// awaitTrace waits for a trace with a matching span and with all of these paths, and checks
// that every span is under one root.
func awaitTrace(t *testing.T, c *harness.Collector, what string, like func(harness.Span) bool, paths ...string) []harness.Span {
	t.Helper()
	var trace []harness.Span
	whole := func() bool {
		trace = c.Trace(like)
		got := under(t, trace)
		for _, path := range paths {
			if !slices.Contains(got, path) {
				return false
			}
		}
		return len(trace) > 0 && !strings.Contains(strings.Join(got, "\n"), "(lost)")
	}
	defer func() {
		if t.Failed() {
			t.Logf("%s: got\n%s", what, strings.Join(under(t, trace), "\n"))
		}
	}()
	harness.Eventually(t, what, whole)
	roots := 0
	for _, s := range trace {
		if s.Parent == "" {
			roots++
		}
	}
	if roots != 1 {
		t.Errorf("%s: %d roots", what, roots)
	}
	return trace
}

// theirTrace is the trace id of a caller who asks to be sampled; a ratio sampler samples it
// at every ratio.
const theirTrace = "00000000000000010000000000000001"

const theirParent = "Traceparent: 00-" + theirTrace + "-00000000000000aa-01"

// TestTraces: one tool call is one trace, from the edge through the backend to the database,
// in every topology; log lines and exemplars of metrics have its id.
func TestTraces(t *testing.T) {
	t.Parallel()
	for _, way := range harness.Topologies() {
		t.Run(way.Name, func(t *testing.T) {
			t.Parallel()
			s, c := harness.NewService(t, way), harness.NewCollector(t)
			tracedTo(s, c)
			s.Start()
			ada := s.NewMember(t).Agent(t)
			if got := ada.Post(t, harness.ToolCall(t, "create_connection", harness.Arguments{"name": harness.NewWord(), "emails": []string{harness.NewWord() + "@friend.example"}}), theirParent); got.Status != http.StatusOK {
				t.Fatalf("got %d %s", got.Status, got.Body)
			}
			const call = "kith.connections.v1.ConnectionService/CreateConnection"
			trace := awaitTrace(t, c, "a call", func(s harness.Span) bool { return s.Attributes["kith.tool"] == "create_connection" },
				"mcp-v1", "mcp-v1 > "+call, "mcp-v1 > "+call+" > "+call,
				"mcp-v1 > "+call+" > "+call+" > insert connections", "mcp-v1 > "+call+" > "+call+" > commit")
			judgeCall(t, s, trace)
			judgeLines(t, s, trace[0].Trace)
			harness.Eventually(t, "a duration has its exemplar", func() bool {
				all := ""
				for _, p := range s.Programs() {
					all += harness.Get(t, p.Admin+"/metrics", "Accept: application/openmetrics-text; version=1.0.0").Body
				}
				return strings.Contains(all, `# {trace_id="`+trace[0].Trace+`"}`)
			})
			s.Send(t, http.MethodGet, "/sign-in?next="+harness.NewWord(), "", theirParent)
			awaitTrace(t, c, "a page", func(s harness.Span) bool { return s.Name == "sign-in" }, "sign-in", "sign-in > GET /sign-in")
			ada.Call(t, "embed_objects", harness.Arguments{})
			started := awaitTrace(t, c, "the call that starts a job", func(s harness.Span) bool { return s.Attributes["kith.tool"] == "embed_objects" }, "mcp-v1")
			job := awaitTrace(t, c, "a job", func(s harness.Span) bool {
				return s.Name == "job embed_objects" && s.Attributes["kith.outcome"] == "succeeded"
			}, "job embed_objects", "job embed_objects > commit")
			for _, span := range job {
				if span.Parent == "" && !slices.Equal(span.Links, []string{started[0].Trace}) {
					t.Errorf("the job links to %v, not to the call %s", span.Links, started[0].Trace)
				}
			}
		})
	}
}

// TestSlowStatements: with the setting, the log has a line for each slow statement, with its table and its request, and
// without what is in it.
func TestSlowStatements(t *testing.T) {
	t.Parallel()
	for _, way := range harness.Topologies() {
		t.Run(way.Name, func(t *testing.T) {
			t.Parallel()
			s := harness.NewService(t, way)
			s.StartWith(map[string]string{"KITH_SLOW_STATEMENTS": "1ns", "KITH_LOG_FORMAT": "json", "KITH_INSTANCE": "node-7"})
			secret := harness.NewWord()
			called := s.NewMember(t).Agent(t).Post(t, harness.ToolCall(t, "create_connection", harness.Arguments{"name": secret + " from notes"}))
			harness.Eventually(t, "the statement is in the log", func() bool {
				for line := range strings.Lines(s.Backend.Stderr.String()) {
					var entry struct {
						Message   string `json:"msg"`
						Operation string
						Table     string
						Instance  string
						RequestID string `json:"request_id"`
					}
					if json.Unmarshal([]byte(line), &entry) == nil && entry.Message == "slow statement" && entry.Operation == "insert" &&
						entry.Table == "connections" && entry.RequestID == called.Header.Get("X-Request-Id") && entry.Instance == "node-7" {
						return true
					}
				}
				return false
			})
			if strings.Contains(s.Backend.Stderr.String(), secret) {
				t.Error("the log has what was written")
			}
		})
	}
}

// judgeCall checks which services made the spans of a call, and that the caller's trace is
// linked but not continued.
func judgeCall(t *testing.T, s *harness.Service, trace []harness.Span) {
	t.Helper()
	services := map[string]bool{}
	for _, one := range trace {
		services[one.Service] = true
		if one.Trace == theirTrace {
			t.Errorf("the caller's trace is continued in %s", one.Name)
		}
		if one.Parent == "" && !slices.Equal(one.Links, []string{theirTrace}) {
			t.Errorf("the root links to %v", one.Links)
		}
	}
	want := []string{"kith"}
	if s.Topology.Split {
		want = []string{"kith-backend", "kith-edge"}
	}
	if got := slices.Sorted(maps.Keys(services)); !slices.Equal(got, want) {
		t.Errorf("services %v, want %v", got, want)
	}
}

// judgeLines finds the log line of the request at the edge and that of the call in the
// backend by the trace id.
func judgeLines(t *testing.T, s *harness.Service, trace string) {
	t.Helper()
	for p, what := range map[*harness.Program]string{s.Edge: "request", s.Backend: "call"} {
		if s.Edge == s.Backend {
			what = "request"
		}
		harness.Eventually(t, "the "+what+" of the trace is in the log", func() bool {
			for line := range strings.Lines(p.Stderr.String()) {
				if strings.Contains(line, trace) && (strings.Contains(line, "msg="+what) || strings.Contains(line, `"msg":"`+what+`"`)) {
					return true
				}
			}
			return false
		})
	}
}

// TestNothingIsTracedUnlessAsked: without an exporter nothing is traced, even if a caller
// asks for it.
func TestNothingIsTracedUnlessAsked(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string]map[string]string{
		"no exporter": {"OTEL_TRACES_EXPORTER": ""}, "none": {"OTEL_TRACES_EXPORTER": "none"}, "disabled": {"OTEL_SDK_DISABLED": "true"},
		"sampled never":  {"OTEL_TRACES_SAMPLER": "parentbased_always_off"},
		"sampled rarely": {"OTEL_TRACES_SAMPLER": "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.0000001"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, c := harness.NewService(t, harness.EdgeTopology()), harness.NewCollector(t)
			s.Binary = harness.PlainBinary
			tracedTo(s, c)
			s.StartWith(settings)
			ada := s.NewMember(t).Agent(t)
			ada.Post(t, harness.ToolCall(t, "create_connection", harness.Arguments{"name": harness.NewWord()}), theirParent)
			s.Send(t, http.MethodGet, "/sign-in", "", theirParent)
			for _, p := range s.Programs() {
				p.Stop() // which flushes the exporter
				if strings.Contains(p.Stderr.String(), "trace_id") {
					t.Errorf("the log of %s names a trace", p.Name)
				}
			}
			if n := c.RequestCount(); n > 0 {
				t.Errorf("the collector was sent spans %d times", n)
			}
		})
	}
}

// TestCollectorDown: when the collector is down, calls and the shutdown still succeed, and
// the log has an error line in the usual format.
func TestCollectorDown(t *testing.T) {
	t.Parallel()
	s := harness.NewService(t, harness.SQLite)
	tracedTo(s, &harness.Collector{URL: "http://" + harness.FreeAddress(t)})
	s.StartWith(map[string]string{"KITH_LOG_FORMAT": "json"})
	ada := s.NewMember(t).Agent(t)
	for range 20 {
		ada.Call(t, "create_connection", harness.Arguments{"name": harness.NewWord()})
	}
	harness.Eventually(t, "the log reports the failed export", func() bool { return strings.Contains(s.Edge.Stderr.String(), "traces cannot be sent") })
	s.Edge.Stop()
	for line := range strings.Lines(s.Edge.Stderr.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("the log has the line %q", line)
		}
	}
	if n := strings.Count(s.Edge.Stderr.String(), "traces cannot be sent"); n > 3 {
		t.Errorf("the log reports the failed export %d times", n)
	}
}

// TestTracesThatCannotBe: invalid trace settings are refused at the start, in one sentence.
func TestTracesThatCannotBe(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{
		"OTEL_TRACES_EXPORTER": "zipkin", "OTEL_TRACES_SAMPLER": "sometimes", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
	} {
		settings := map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "KITH_ADDR": "127.0.0.1:0", "KITH_ADMIN_ADDR": "off"}
		settings[name] = value
		done := harness.RunKith(t, harness.Environment(settings), "", "serve")
		harness.CheckOneSentence(t, done, "kith: "+name)
	}
}
