// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/observability -run TestMetrics

package observability

import (
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// documentedMetrics returns the metrics that observability/metrics.md lists: types by name.
func documentedMetrics(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(harness.Repository("observability", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(kith_[a-z_]+)` \\| ([a-z]+) \\|").FindAllStringSubmatch(string(text), -1) {
		documented[row[1]] = row[2]
	}
	if len(documented) < 36 {
		t.Fatalf("only %d metrics found in the list", len(documented))
	}
	return documented
}

// scrape has the values that the processes of a service report, by series as written; the
// greatest value if several processes have the series.
type scrape map[string]float64

// readMetrics scrapes each process of the service.
func readMetrics(t *testing.T, s *harness.Service) scrape {
	t.Helper()
	all := scrape{}
	for _, p := range s.Programs() {
		got := harness.Get(t, p.Admin+"/metrics", "Accept: application/openmetrics-text; version=1.0.0")
		if got.Status != http.StatusOK || !strings.HasSuffix(strings.TrimSpace(got.Body), "# EOF") {
			t.Fatalf("%s: %d, not OpenMetrics: %s", p.Name, got.Status, harness.Shorten(got.Body))
		}
		for line := range strings.Lines(got.Body) {
			line, _, _ = strings.Cut(line, " # ") // the exemplar
			at := strings.LastIndexByte(line, ' ')
			if strings.HasPrefix(line, "#") || at < 0 {
				continue
			}
			value, err := strconv.ParseFloat(strings.TrimSpace(line[at:]), 64)
			if err != nil {
				t.Fatalf("%s: %q: %v", p.Name, line, err)
			}
			all[line[:at]] = max(all[line[:at]], value)
		}
	}
	return all
}

// of returns the greatest value of a metric's series, and whether it has any series.
func (s scrape) of(metric, kind string) (most float64, found bool) {
	if kind == "histogram" {
		metric += "_count"
	}
	for series, value := range s {
		if name, _, _ := strings.Cut(series, "{"); name == metric {
			most, found = max(most, value), true
		}
	}
	return most, found
}

// still lists the metrics that stay 0 in this test, with the reason.
func still() map[string]string {
	return map[string]string{
		"kith_http_in_flight_requests": "no request is in flight during the scrape; unit tests of package metrics cover it",
		"kith_rate_limit_fallback":     "Redis stays up here; TestFallbackIsTold in edge/server stops it",
		"kith_job_queue_age_seconds":   "workers are faster than a scrape; TestCountJobs covers it",
		"kith_sweep_rows_total":        "nothing has expired yet; TestSweepsAreCounted in backend/server covers it",
		"kith_sweep_purges_total":      "the same",
		"kith_store_damaged":           "the database is whole; TestDamagedBackup of backend/internal/db damages one",
		"kith_source_runs_total":       "nobody has a calendar; TestFailures of backend/internal/sources covers it",
		"kith_source_overdue_seconds":  "the same",
		"kith_sources_failing":         "the same",
		"kith_digests_total":           "nobody gets a digest; TestDigestsAreCounted in backend/server covers it",
		"kith_digest_overdue_seconds":  "the same; TestMailServerDown of backend/internal/digest covers it",
		"kith_digests_failing":         "the same",

		"kith_placement_fallbacks_total": "there is one backend; TestPlacement in e2e/resilience has two, and kills one",
	}
}

// absent returns the metrics that a topology does not have, with the reason.
func absent(way harness.Topology) map[string]string {
	reasons := map[string]string{"kith_tls_certificate_expiry_timestamp_seconds": "no listener has a certificate; TestCertificatesAreWatched covers it"}
	if way.Postgres {
		reasons["kith_store_disk_free_bytes"] = "the database is not a file on this machine"
		reasons["kith_store_disk_size_bytes"] = "the same"
		reasons["kith_store_log_bytes"] = "PostgreSQL keeps its own log"
		reasons["kith_store_damaged"] = "PostgreSQL is not checked: it has checksums of its own"
	}
	if !way.Split {
		for _, name := range []string{"kith_placement_backend_up", "kith_placement_calls_total", "kith_placement_fallbacks_total"} {
			reasons[name] = "the edge calls the backend in its own process"
		}
	}
	return reasons
}

// moved returns the series that must be above 0, besides one series of each metric.
func moved() []string {
	return []string{
		`kith_batch_items_total{status="200"}`, `kith_batch_items_total{status="403"}`,
		`kith_rate_limit_hits_total{outcome="admitted",policy="mcp"}`, `kith_rate_limit_hits_total{outcome="refused",policy="directory"}`,
		`kith_tool_calls_total{outcome="ok",tool="create_connection"}`, `kith_tool_calls_total{outcome="refused",tool="create_connection"}`,
		`kith_tool_calls_total{outcome="invalid_arguments",tool="create_connection"}`, `kith_tool_calls_total{outcome="unknown_tool",tool="unknown"}`,
		`kith_backend_requests_total{outcome="answered"}`,
		`kith_oauth_events_total{kind="register",result="ok"}`, `kith_oauth_events_total{kind="authorize",result="ok"}`,
		`kith_oauth_events_total{kind="sign_in",result="ok"}`, `kith_oauth_events_total{kind="sign_in",result="refused"}`,
		`kith_oauth_events_total{kind="consent",result="ok"}`, `kith_oauth_events_total{kind="code",result="ok"}`,
		`kith_oauth_events_total{kind="refresh",result="ok"}`, `kith_oauth_events_total{kind="refresh",result="refused"}`,
		`kith_oauth_events_total{kind="revoke",result="ok"}`, `kith_oauth_events_total{kind="register",result="refused"}`,
		`kith_idempotency_keys_total{outcome="kept"}`, `kith_idempotency_keys_total{outcome="replayed"}`,
		`kith_idempotency_keys_total{outcome="reused"}`,
		`kith_credits_total{direction="charged",tool="create_connection"}`, `kith_credits_total{direction="charged",tool="search_connections"}`,
		`kith_credit_decisions_total{outcome="refused",tool="create_connection"}`,
		`kith_job_runs_total{kind="embed_objects",outcome="succeeded"}`,
		`kith_store_queries_total{operation="select",outcome="ok"}`, `kith_store_queries_total{operation="commit",outcome="ok"}`,
		`kith_search_build_duration_seconds_count{kind="whole"}`,
		"process_cpu_seconds_total", "go_goroutines", `kith_jobs{kind="sweep",state="scheduled"}`,
	}
}

// TestMetrics: every documented metric is reported, and each rises above 0 after requests
// that should raise it.
func TestMetrics(t *testing.T) {
	t.Parallel()
	for _, way := range harness.Topologies() {
		t.Run(way.Name, func(t *testing.T) {
			t.Parallel()
			s := harness.NewService(t, way)
			s.LimitAll("100000/3600")
			s.Settings["KITH_RATE_DIRECTORY"] = "5/3600"
			s.Settings["KITH_MAX_IN_FLIGHT"] = "4"
			s.Settings["KITH_CREDITS_FREE"] = "60"
			s.Settings["KITH_SMTP_URL"] = "smtp://" + harness.FreeAddress(t) + "?from=kith@kith.example" // nothing listens there
			s.Start()
			ada := s.NewMember(t).Agent(t)
			provoke(t, s, ada)
			var got scrape
			harness.Eventually(t, "a request was shed, a writer waited for SQLite's only connection, an email was given up, and the first sweep is over", func() bool {
				callAtOnce(t, ada)
				got = readMetrics(t, s)
				shed, _ := got.of("kith_http_shed_total", "counter")
				waits, _ := got.of("go_sql_wait_count_total", "counter")
				return shed > 0 && (way.Postgres || waits > 0) && got[`kith_jobs{kind="sweep",state="scheduled"}`] > 0 && got[`kith_mail_total{outcome="failed"}`] > 0
			})
			judgeMetrics(t, way, got)
		})
	}
}

func judgeMetrics(t *testing.T, way harness.Topology, got scrape) {
	t.Helper()
	missing, quiet := absent(way), still()
	for name, kind := range documentedMetrics(t) {
		most, found := got.of(name, kind)
		_, mayBeMissing := missing[name]
		_, mayBeQuiet := quiet[name]
		switch {
		case found == mayBeMissing:
			t.Errorf("%s is reported: %v, unlike the list says", name, found)
		case found && most <= 0 && !mayBeQuiet:
			t.Errorf("%s is %v: it should have risen", name, most)
		}
	}
	for _, pools := range []string{"go_sql_open_connections", "go_sql_max_open_connections"} {
		if most, _ := got.of(pools, "gauge"); most <= 0 {
			t.Errorf("%s is %v", pools, most)
		}
	}
	for _, series := range moved() {
		if got[series] <= 0 {
			t.Errorf("%s is %v: it should have risen", series, got[series])
		}
	}
	for series := range got {
		if strings.HasPrefix(series, "kith_") && (strings.Contains(series, "m-") || strings.Contains(series, "/api/") || strings.Contains(series, "kith_pat")) {
			t.Errorf("%s has a member, a path or a token in a label", series)
		}
	}
}

// callAtOnce sends more concurrent requests than the limit admits. They write, and writes of
// one member wait for each other.
func callAtOnce(t *testing.T, a harness.Agent) {
	t.Helper()
	var wait sync.WaitGroup
	body := harness.ToolCall(t, "create_connection", harness.Arguments{"name": harness.NewWord()})
	for range 64 {
		wait.Go(func() {
			if got := a.Post(t, body); got.Status != http.StatusOK && got.Status != http.StatusServiceUnavailable {
				t.Errorf("got %d %s", got.Status, got.Body)
			}
		})
	}
	wait.Wait()
}

// provoke sends requests that should raise every metric.
func provoke(t *testing.T, s *harness.Service, a harness.Agent) {
	t.Helper()
	provokeTools(t, a, s.Agent(harness.PathCurrent, s.NewMember(t).Token(t, "connections").Bearer))
	provokeSignIn(t, s)
	const items = `{"requests":[{"id":"1","path":"/api/network/members"},{"id":"2","path":"/nothing"}]}`
	if got := s.Send(t, http.MethodPost, "/api/batch", items, harness.JSONType); got.Status != http.StatusOK {
		t.Fatalf("got %d %s", got.Status, got.Body)
	}
	for range 6 {
		s.Send(t, http.MethodGet, "/api/network/members", "")
	}
	key, body := harness.NewWord(), harness.ToolCall(t, "create_connection", harness.Arguments{"name": harness.NewWord()})
	harness.CheckReplay(t, "the first", a.WithKey(t, key, body), false)
	harness.CheckReplay(t, "the second", a.WithKey(t, key, body), true)
	a.WithKey(t, key, harness.ToolCall(t, "create_connection", harness.Arguments{"name": harness.NewWord()}))
	for range 40 { // until the credits are spent
		a.Post(t, harness.ToolCall(t, "create_connection", harness.Arguments{"name": harness.NewWord()}))
	}
}

func provokeTools(t *testing.T, a, reader harness.Agent) {
	t.Helper()
	a.Create(t, harness.Arguments{"name": "Maria Silva", "location": "Lisbon"})
	a.Find(t, "Maria")
	a.Post(t, harness.ToolCall(t, "create_connection", harness.Arguments{"nobody": true}))
	a.Post(t, harness.ToolCall(t, "no_such_tool", harness.Arguments{}))
	reader.Post(t, harness.ToolCall(t, "create_connection", harness.Arguments{"name": "X"}))
	a.Call(t, "embed_objects", harness.Arguments{})
	harness.Eventually(t, "the vectors are made", func() bool {
		return readMetrics(t, a.Service)[`kith_job_runs_total{kind="embed_objects",outcome="succeeded"}`] > 0
	})
	a.Call(t, "search_connections", harness.Arguments{"query": "Mario", "mode": "semantic"})
}

func provokeSignIn(t *testing.T, s *harness.Service) {
	t.Helper()
	person := s.NewPerson(t)
	g := s.NewGrant(t, person, "connections account write")
	old := g.Tokens.Refresh
	g.Refresh(t, "")
	again := "grant_type=refresh_token&client_id=" + g.ClientID + "&refresh_token=" + old + "x"
	s.Send(t, http.MethodPost, "/oauth/token", again, "Content-Type: "+harness.FormType)
	g.Revoke(t)
	s.Send(t, http.MethodPost, harness.PathRegister, `{}`, harness.JSONType)
	v := s.NewSession(t)
	values := harness.Form(v.Send(t, "/sign-in", nil))
	values.Set("login", person["MEMBER_USERNAME"])
	values.Set("password", "not the password")
	if got := v.Send(t, "/sign-in", values); got.Status != http.StatusForbidden {
		t.Errorf("got %d", got.Status)
	}
}
