package e2e

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// tracedTo has the service send its spans to a collector soon.
func (s *service) tracedTo(c *collector) {
	s.settings["OTEL_TRACES_EXPORTER"] = "otlp"
	s.settings["OTEL_EXPORTER_OTLP_ENDPOINT"] = c.url
	s.settings["OTEL_BSP_SCHEDULE_DELAY"] = "50"
}

// under returns the paths of the spans of a trace, from its root, and what is
// wrong with it.
func under(t *testing.T, trace []span) []string {
	t.Helper()
	byID := map[string]span{}
	for _, s := range trace {
		byID[s.id] = s
	}
	var paths []string
	for _, s := range trace {
		path := s.name
		for s.parent != "" {
			above, ok := byID[s.parent]
			if !ok {
				path = "(lost) > " + path
				break
			}
			s, path = above, above.name+" > "+path
		}
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths
}

// awaitTrace waits for a trace in which something is like this and all of these
// paths are, and every span is under one root.
func awaitTrace(t *testing.T, c *collector, what string, like func(span) bool, paths ...string) []span {
	t.Helper()
	var trace []span
	whole := func() bool {
		trace = c.found(like)
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
	eventually(t, what, whole)
	roots := 0
	for _, s := range trace {
		if s.parent == "" {
			roots++
		}
	}
	if roots != 1 {
		t.Errorf("%s: %d roots", what, roots)
	}
	return trace
}

// theirTrace is a traceparent of a caller who wants to be sampled, and says so with
// an id that is sampled at every ratio.
const theirTrace = "00000000000000010000000000000001"

const theirParent = "Traceparent: 00-" + theirTrace + "-00000000000000aa-01"

// TestTraces: one call of a tool is one trace, from the edge through the backend to
// the database, however the service runs; the log lines name it, and metrics do.
func TestTraces(t *testing.T) {
	t.Parallel()
	for _, way := range topologies() {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			s, c := newService(t, way), newCollector(t)
			s.tracedTo(c)
			s.start()
			ada := s.newMember(t).agent(t)
			if got := ada.post(t, toolCall(t, "create_connection", arguments{"name": newWord(), "emails": []string{newWord() + "@friend.example"}}), theirParent); got.status != http.StatusOK {
				t.Fatalf("got %d %s", got.status, got.body)
			}
			const call = "kith.connections.v1.ConnectionService/CreateConnection"
			trace := awaitTrace(t, c, "a call", func(s span) bool { return s.attributes["kith.tool"] == "create_connection" },
				"mcp-v1", "mcp-v1 > "+call, "mcp-v1 > "+call+" > select", "mcp-v1 > "+call+" > "+call,
				"mcp-v1 > "+call+" > "+call+" > insert", "mcp-v1 > "+call+" > "+call+" > commit")
			judgeCall(t, s, trace)
			judgeLines(t, s, trace[0].trace)
			eventually(t, "a duration has its exemplar", func() bool {
				all := ""
				for _, p := range s.programs() {
					all += s.sendTo(t, p.admin+"/metrics", "Accept: application/openmetrics-text; version=1.0.0").body
				}
				return strings.Contains(all, `# {trace_id="`+trace[0].trace+`"}`)
			})
			s.send(t, http.MethodGet, "/sign-in?next="+newWord(), "", theirParent)
			awaitTrace(t, c, "a page", func(s span) bool { return s.name == "sign-in" }, "sign-in", "sign-in > GET /sign-in")
			ada.call(t, "embed_objects", arguments{})
			awaitTrace(t, c, "a job", func(s span) bool {
				return s.name == "job embed_objects" && s.attributes["kith.outcome"] == "succeeded"
			}, "job embed_objects", "job embed_objects > commit")
		})
	}
}

// judgeCall looks who made the spans of a call, and that the caller's trace is only
// linked to.
func judgeCall(t *testing.T, s *service, trace []span) {
	t.Helper()
	services := map[string]bool{}
	for _, one := range trace {
		services[one.service] = true
		if one.trace == theirTrace {
			t.Errorf("the caller's trace goes on in %s", one.name)
		}
		if one.parent == "" && !slices.Equal(one.links, []string{theirTrace}) {
			t.Errorf("the root links to %v", one.links)
		}
	}
	want := []string{"kith"}
	if s.topology.split {
		want = []string{"kith-backend", "kith-edge"}
	}
	if got := slices.Sorted(maps.Keys(services)); !slices.Equal(got, want) {
		t.Errorf("services %v, want %v", got, want)
	}
}

// judgeLines looks for the line of the request at the edge and that of the call in
// the backend, by the trace.
func judgeLines(t *testing.T, s *service, trace string) {
	t.Helper()
	for p, what := range map[*program]string{s.front: "request", s.core: "call"} {
		if s.front == s.core {
			what = "request"
		}
		eventually(t, "the "+what+" of the trace is in the log", func() bool {
			for line := range strings.Lines(p.stderr.String()) {
				if strings.Contains(line, trace) && (strings.Contains(line, "msg="+what) || strings.Contains(line, `"msg":"`+what+`"`)) {
					return true
				}
			}
			return false
		})
	}
}

// TestNothingIsTracedUnlessAsked: not without the exporter, and not because a caller
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
			ways := topologies()
			s, c := newService(t, ways[len(ways)-1]), newCollector(t)
			s.tracedTo(c)
			s.startWith(settings)
			ada := s.newMember(t).agent(t)
			ada.post(t, toolCall(t, "create_connection", arguments{"name": newWord()}), theirParent)
			s.send(t, http.MethodGet, "/sign-in", "", theirParent)
			for _, p := range s.programs() {
				p.stop() // which sends what waits
				if strings.Contains(p.stderr.String(), "trace_id") {
					t.Errorf("the log of %s names a trace", p.name)
				}
			}
			if n := c.asked(); n > 0 {
				t.Errorf("the collector was sent spans %d times", n)
			}
		})
	}
}

// TestCollectorDown: a collector that nobody runs fails no call and no stop, and the
// log tells of it in its own form.
func TestCollectorDown(t *testing.T) {
	t.Parallel()
	s := newService(t, onSQLite)
	s.tracedTo(&collector{url: "http://" + freeAddress(t)})
	s.startWith(map[string]string{"KITH_LOG_FORMAT": "json"})
	ada := s.newMember(t).agent(t)
	for range 20 {
		ada.call(t, "create_connection", arguments{"name": newWord()})
	}
	eventually(t, "the log tells of it", func() bool { return strings.Contains(s.front.stderr.String(), "traces cannot be sent") })
	s.front.stop()
	for line := range strings.Lines(s.front.stderr.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("the log has the line %q", line)
		}
	}
	if n := strings.Count(s.front.stderr.String(), "traces cannot be sent"); n > 3 {
		t.Errorf("the log tells of it %d times", n)
	}
}

// TestTracesThatCannotBe: what cannot be set is refused at the start, in a sentence.
func TestTracesThatCannotBe(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{
		"OTEL_TRACES_EXPORTER": "zipkin", "OTEL_TRACES_SAMPLER": "sometimes", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
	} {
		settings := map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "KITH_ADDR": "127.0.0.1:0", "KITH_ADMIN_ADDR": "off"}
		settings[name] = value
		done := kith(t, environment(settings), "", "serve")
		checkOneSentence(t, done, "kith: "+name)
	}
}
