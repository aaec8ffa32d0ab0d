package harness

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	collectorv1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/kith-crm/kith/backend/server"
)

// Span is one span as a collector receives it.
type Span struct {
	Service, Name, kind string
	Trace, ID, Parent   string
	Links               []string // of traces
	Attributes          map[string]string
}

// Collector receives spans by OTLP over HTTP.
type Collector struct {
	URL string

	mu       sync.Mutex
	requests int
	spans    []Span // only set for a collector of one test
	keeps    bool
	words    map[string]bool // every distinct text in the spans
	faults   []error
}

// startCollector starts a collector that listens until close is called.
func startCollector(keeps bool) (c *Collector, closeIt func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	c = &Collector{URL: "http://" + listener.Addr().String(), keeps: keeps, words: map[string]bool{}}
	server := &http.Server{Handler: c, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	return c, func() { _ = server.Close() }, nil
}

// NewCollector starts a collector for one test.
func NewCollector(t *testing.T) *Collector {
	t.Helper()
	c, closeIt, err := startCollector(true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		closeIt()
		if err := c.check(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// everyTrace receives the spans of all services without a collector of their own, so that
// the spans of the whole run are searched for secrets; Main sets it.
var everyTrace *Collector

// ServeHTTP implements http.Handler.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // A process that a test kills cannot finish its request.
	}
	var told collectorv1.ExportTraceServiceRequest
	err = proto.Unmarshal(body, &told)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests++
	if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
		c.faults = append(c.faults, fmt.Errorf("%s %s: no spans: %w", r.Method, r.URL, err))
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	for _, from := range told.GetResourceSpans() {
		who := attributesOf(from.GetResource().GetAttributes())
		for _, scope := range from.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				c.add(who["service.name"], s)
			}
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func (c *Collector) add(service string, s *tracev1.Span) {
	got := Span{
		Service: service, Name: s.GetName(), kind: s.GetKind().String(), Trace: hex.EncodeToString(s.GetTraceId()),
		ID: hex.EncodeToString(s.GetSpanId()), Parent: hex.EncodeToString(s.GetParentSpanId()), Attributes: attributesOf(s.GetAttributes()),
	}
	c.words["name="+got.Name] = true
	for key, value := range got.Attributes {
		c.words[key+"="+value] = true
	}
	for _, text := range []string{s.GetStatus().GetMessage(), s.GetTraceState()} {
		c.words["text="+text] = true
	}
	for _, event := range s.GetEvents() {
		c.words["text=event "+event.GetName()] = true
	}
	for _, link := range s.GetLinks() {
		c.words["text="+link.GetTraceState()] = true
		got.Links = append(got.Links, hex.EncodeToString(link.GetTraceId()))
	}
	if c.keeps {
		c.spans = append(c.spans, got)
	}
}

func attributesOf(list []*commonv1.KeyValue) map[string]string {
	out := map[string]string{}
	for _, a := range list {
		switch v := a.GetValue().GetValue().(type) {
		case *commonv1.AnyValue_StringValue:
			out[a.GetKey()] = v.StringValue
		case *commonv1.AnyValue_IntValue:
			out[a.GetKey()] = strconv.FormatInt(v.IntValue, 10)
		default:
			out[a.GetKey()] = fmt.Sprint(v)
		}
	}
	return out
}

// Trace returns all spans received so far of the trace that has a matching span.
func (c *Collector) Trace(like func(Span) bool) []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := slices.IndexFunc(c.spans, like)
	if at < 0 {
		return nil
	}
	var whole []Span
	for _, s := range c.spans {
		if s.Trace == c.spans[at].Trace {
			whole = append(whole, s)
		}
	}
	return whole
}

func (c *Collector) RequestCount() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.requests
}

// allowed matches the closed list of span names and attribute values.
func allowed() *regexp.Regexp {
	return regexp.MustCompile(`^(text=` +
		`|name=[a-z][a-z.]*(-[a-z0-9.]+){0,4}` + // routes, operations, "page", "unknown"
		`|name=job (` + strings.Join(server.JobKinds(), "|") + `)` +
		`|(name|rpc\.method)=kith\.[a-z]+\.v1\.[A-Za-z]+Service/[A-Za-z]+` +
		`|name=(GET |POST )?/[a-z/._{}$-]*` + // patterns of pages
		`|name=POST /index\.php/login/v2(/poll)?` +
		`|name=GET /assets/icon-[a-z0-9-]+\.png` +
		`|http\.request\.method=(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS|other)` +
		`|http\.response\.status_code=[1-5][0-9][0-9]` +
		`|rpc\.system\.name=(connectrpc|grpc)|rpc\.response\.status_code=[A-Z_]+` +
		`|db\.system\.name=(sqlite|postgresql)` +
		`|name=(select|insert|update|delete|with) (` + tables() + `)|db\.collection\.name=(` + tables() + `)` +
		`|db\.operation\.name=(select|insert|update|delete|with|begin|commit|rollback|other)` +
		`|error\.type=[A-Z_]+|error\.type=(conflict|unavailable|failed|abandoned)` +
		`|kith\.(tool|outcome)=[a-z_]*|kith\.rpc=(initialize|ping|tools/list|tools/call|prompts/list|prompts/get|completion/complete|resources/list|resources/templates/list|resources/read|other)` +
		`|kith\.backend=(127\.0\.0\.1:[0-9]+|several)` +
		`|kith\.principal=(anonymous|demo|credential)` +
		`|kith\.(items|job\.attempt)=[0-9]{1,2})$`)
}

// tables returns the names of all tables of the migrations, as alternatives of a pattern.
func tables() string {
	text, err := os.ReadFile(Repository("backend", "internal", "db", "migrations", "sqlite", "20261122000000_baseline.sql"))
	if err != nil {
		panic(err)
	}
	var names []string
	for _, found := range regexp.MustCompile(`(?m)^CREATE (?:VIRTUAL )?TABLE (\w+)`).FindAllSubmatch(text, -1) {
		names = append(names, string(found[1]))
	}
	return strings.Join(names, "|")
}

// memberName matches the usernames of the members of these tests.
var memberName = regexp.MustCompile(`\b[mp]-[a-z0-9]{12}\b`)

// check compares every text in the spans with the closed list and searches it for
// secrets.
func (c *Collector) check() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	errs := c.faults
	may := allowed()
	for _, word := range slices.Sorted(maps.Keys(c.words)) {
		if kind, _ := Secrets.leak(word); kind != "" {
			errs = append(errs, fmt.Errorf("a span shows a %s: %q", kind, word))
		}
		if !may.MatchString(word) || memberName.MatchString(word) {
			errs = append(errs, fmt.Errorf("a span has %q, which is not in the closed list", word))
		}
	}
	return errors.Join(errs...)
}
