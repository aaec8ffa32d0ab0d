package status_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/prometheus/client_golang/prometheus"
	prom "github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/kith-crm/kith/observability/metrics"
)

// reports has the values that the collectors of a process report when they are scraped.
type reports struct {
	shed, bytes int64
	jobs        []metrics.JobCount
	day         time.Time
}

// connector is a driver whose connections have no database.
type connector struct{}

func (connector) Connect(context.Context) (driver.Conn, error) { return idleConn{}, nil }
func (connector) Driver() driver.Driver                        { return nil }

type idleConn struct{ driver.Conn }

func (idleConn) Close() error { return nil }

// stream is a Connect call that only knows its method.
type stream struct{ connect.StreamingHandlerConn }

func (stream) Spec() connect.Spec { return connect.Spec{Procedure: "/kith.test.v1.PingService/Ping"} }

// TestFiguresMove: each figure of the page shows what the real collectors of a process counted in
// 15 seconds, and no figure is missing.
func TestFiguresMove(t *testing.T) {
	t.Parallel()
	reg, r := metrics.New(metrics.BuildInfo{}), &reports{}
	work := collectors(t, reg, r)
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	recorder := newRecorder(t, reg, func() time.Time { return now })
	recorder.Record(t.Context())
	work()
	spendProcessor(t, 50*time.Millisecond)
	now = now.Add(15 * time.Second)
	recorder.Record(t.Context())

	body, _ := page(t, recorder)
	want := map[string]string{
		"Requests": "20.0 /s", "Requests that failed (5xx)": "5 %", "Request duration, 99th percentile": "49.8 ms",
		"Requests shed (503)": "2 /s", "Tool calls": "10.0 /s", "Tool call duration, 99th percentile": "248 ms",
		"Credits spent": "200 /min", "Connect calls": "1 /s", "Database statements": "4 /s", "Statement duration, 99th percentile": "9.95 ms",
		"Database connections in use": "3", "Queued jobs": "7", "Wait of the oldest queued job": "90.0 s",
		"Search indexes": "5 MiB", "Age of the sandbox": "3 h",
		// The test cannot know how much of these a process uses.
		"Processors": "", "Resident memory": "", "Goroutines": "",
	}
	titles := regexp.MustCompile(`<h2>([^<]+)</h2>`).FindAllStringSubmatch(body, -1)
	if len(titles) != len(want) {
		t.Errorf("%d figures are on the page, %d are expected", len(titles), len(want))
	}
	for _, title := range titles {
		expected, known := want[title[1]]
		got := strings.Join(strings.Fields(section(t, body, title[1])), " ")
		first, _, _ := strings.Cut(got, " ")
		value, err := strconv.ParseFloat(first, 64)
		if !known || err != nil || value <= 0 || !strings.HasPrefix(got+" ", expected) {
			t.Errorf("%s shows %q, want %q", title[1], got, expected)
		}
	}
}

// collectors registers the collectors of a process with edge and backend, and returns a function
// that counts the work of 15 seconds.
func collectors(t *testing.T, reg prometheus.Registerer, r *reports) (work func()) {
	t.Helper()
	http, httpErr := metrics.NewHTTP(reg, []string{"mcp"})
	tools, toolsErr := metrics.NewTools(reg, []string{"undo"})
	credits, creditsErr := metrics.NewCredits(reg, []string{"undo"})
	rpc, rpcErr := metrics.NewConnect(reg)
	queries, queriesErr := metrics.NewQueries(reg)
	db := sql.OpenDB(connector{})
	t.Cleanup(func() { _ = db.Close() })
	err := errors.Join(httpErr, toolsErr, creditsErr, rpcErr, queriesErr, reg.Register(prom.NewDBStatsCollector(db, "writer")),
		metrics.NewQueue(reg, []string{"sweep", "import"}, func(context.Context) ([]metrics.JobCount, error) { return r.jobs, nil }),
		metrics.NewConcurrencyLimit(reg, func() int64 { return 128 }, func() int64 { return r.shed }),
		metrics.NewSearch(reg, func() (int, int64) { return 1, r.bytes }, func() (int, int64) { return 0, 0 }),
		metrics.NewSandbox(reg, func() time.Time { return r.day }))
	if err != nil {
		t.Fatal(err)
	}
	ping := rpc.WrapStreamingHandler(func(context.Context, connect.StreamingHandlerConn) error { return nil })
	return func() {
		for i := range 300 {
			code := 200
			if i%20 == 0 {
				code = 503
			}
			http.Observe(t.Context(), "mcp", "POST", code, 40*time.Millisecond)
		}
		for range 150 {
			tools.Observe(t.Context(), "undo", metrics.OutcomeOK, 200*time.Millisecond)
		}
		credits.Charged("undo", 50)
		credits.Refunded("undo", 9)
		for range 3 {
			if _, err := db.Conn(t.Context()); err != nil {
				t.Error(err)
			}
		}
		for range 60 {
			queries.Observe(t.Context(), "select", metrics.QueryOK, 7*time.Millisecond)
		}
		for range 15 {
			if err := ping(t.Context(), stream{}); err != nil {
				t.Error(err)
			}
		}
		*r = reports{
			shed: 30, bytes: 5 << 20, day: time.Now().Add(-3 * time.Hour),
			jobs: []metrics.JobCount{
				{Kind: "import", State: "queued", Count: 7, Waited: 90 * time.Second}, {Kind: "import", State: "running", Count: 2},
				{Kind: "sweep", State: "scheduled", Count: 1}, // the scheduled job does not wait for a worker
			},
		}
	}
}

// spendProcessor uses the given processor time.
func spendProcessor(t *testing.T, least time.Duration) {
	t.Helper()
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			t.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	for begun := used(); used() < begun+least; {
		continue
	}
}
