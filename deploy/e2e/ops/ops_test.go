//go:build ops || ha

package ops

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestOperations is the chaos test. It needs an otherwise idle machine for minutes, so it is
// compiled only for `make e2e-ops`.
func TestOperations(t *testing.T) {
	d := &day{t: t, site: newSite(t, plan{}), began: time.Now()}
	d.load = newLoad(t, d.site)
	d.pass("ordinary load", 12*time.Second)
	d.replaceBuild()
	d.killEach()
	d.loseRedis()
	d.calm()
	d.loseBackends()
	d.restartPostgres()
	d.losePostgres()
	d.calm()
	d.killWatchers()
	d.calm()
	d.load.stop()
	d.judge()
	d.tell("e2e-ops.md")
}

// day is the sequence of events on a site.
type day struct {
	t       *testing.T
	site    *site
	load    *load
	began   time.Time
	events  []event
	summary string
}

// settle is how long clients are observed after the restart that ends an event.
const settle = 3 * time.Second

// happen runs an event: lose stops something, and restore starts it again when all expected
// effects are there, such as alerts.
func (d *day) happen(name string, lose, restore func(), effects ...func(since time.Time) bool) *event {
	d.t.Helper()
	e := event{name: name, began: time.Now()}
	lose()
	within(d.t, timeout, name+": its effects are visible", func() bool {
		return !slices.ContainsFunc(effects, func(there func(time.Time) bool) bool { return !there(e.began) })
	})
	e.restored = time.Now()
	restore()
	d.settle()
	e.ended = time.Now()
	d.events = append(d.events, e)
	d.t.Logf("%s: %v", name, e.outcome(d.load.record))
	return &d.events[len(d.events)-1]
}

// pass waits while the clients run, and records the interval as an event.
func (d *day) pass(name string, while time.Duration) {
	d.t.Helper()
	e := event{name: name, began: time.Now()}
	within(d.t, timeout, "time passes", func() bool { return time.Since(e.began) > while })
	e.ended = time.Now()
	d.events = append(d.events, e)
	d.t.Logf("%s: %v", name, e.outcome(d.load.record))
}

func (d *day) settle() {
	d.t.Helper()
	until := time.Now().Add(settle)
	within(d.t, timeout, "clients run for the interval", func() bool { return time.Now().After(until) })
}

// told returns a condition that is true once the alert with the labels has arrived.
func (d *day) told(alert string, labels ...string) func(time.Time) bool {
	return func(since time.Time) bool { return d.site.pager.heard(since, alert, labels...) }
}

// replaceBuild replaces the first build by the second, backends first. One backend then goes
// back to the first build, on the schema of the second, and forward again.
func (d *day) replaceBuild() {
	d.t.Helper()
	first := d.site.backends[0]
	for _, p := range []*process{first, d.site.backends[1], d.site.edges[0], d.site.edges[1]} {
		d.replace(p, " is upgraded to the next build", d.site.builds[1])
	}
	first.env = append(first.env, "KITH_ACCEPT_NEWER_SCHEMA=true")
	d.replace(first, " goes back to the previous build", d.site.builds[0])
	d.replace(first, " is upgraded to the next build again", d.site.builds[1])
	last := &d.events[len(d.events)-1]
	d.site.show(d.t, last, wish{"overview", "Builds", func(got []series) (float64, bool) {
		both := slices.ContainsFunc(got, func(s series) bool { return s.labels["version"] == versions[1] })
		return float64(len(got)), both
	}})
	for _, p := range d.site.pager.since(d.began) {
		if !slow(p.alert) {
			d.t.Errorf("%s fired while edges and backends were rolled: %v", p.alert, p.labels)
		}
	}
}

// replace stops a process and starts another build in its place; no request may fail.
func (d *day) replace(p *process, what, build string) {
	d.t.Helper()
	e := event{name: p.name + what, began: time.Now()}
	p.stop()
	p.program = build
	e.restored = time.Now()
	p.start()
	d.settle()
	e.ended = time.Now()
	d.events = append(d.events, e)
	o := e.outcome(d.load.record)
	d.t.Logf("%s: %v", e.name, o)
	if o.failed > 0 {
		d.t.Errorf("%s: %d of %d requests failed: %v", e.name, o.failed, o.requests, o.reasons)
	}
}

// slow reports whether an alert is about latency; a shared machine can cause such alerts.
func slow(alert string) bool { return alert == "KithSlow" || strings.Contains(alert, "Latency") }

// killEach kills each process of Kith and waits for the alert.
func (d *day) killEach() {
	d.t.Helper()
	for _, p := range []*process{d.site.edges[0], d.site.edges[1], d.site.backends[0], d.site.backends[1]} {
		e := d.happen(p.name+" is killed", p.kill, p.start, d.told("KithInstanceDown", "instance="+d.site.admin[p.name]))
		d.site.show(d.t, e, wish{"overview", "Processes up", atMost(1)})
		if o := e.outcome(d.load.record); o.share() > 0.02 {
			d.t.Errorf("%s: %v", e.name, o)
		}
	}
}

// killWatchers kills Prometheus and Alertmanager. No request fails; alerts that fire while
// Alertmanager is down arrive when it is back.
func (d *day) killWatchers() {
	d.t.Helper()
	d.mustNotFail(d.happen("prometheus is killed", d.site.prometheus.kill, d.site.prometheus.start))
	both := func() {
		d.site.alertmanager.kill()
		d.site.redis.kill()
	}
	firing := func(since time.Time) bool {
		got, err := d.site.ask(`ALERTS{alertname="KithRateLimitFallback",alertstate="firing"}`, since, time.Now())
		return err == nil && len(got) > 0
	}
	began := time.Now()
	e := d.happen("alertmanager and redis are killed", both, func() {
		d.site.alertmanager.start()
		within(d.t, timeout, "the alert that fired meanwhile arrives", func() bool { return d.told("KithRateLimitFallback")(began) })
		d.site.redis.start()
	}, firing)
	d.mustNotFail(e)
}

func (d *day) mustNotFail(e *event) {
	d.t.Helper()
	if o := e.outcome(d.load.record); o.failed > 0 {
		d.t.Errorf("%s: %v", e.name, o)
	}
}

// loseRedis kills Redis: each edge then counts limits by itself, and no request is refused.
func (d *day) loseRedis() {
	d.t.Helper()
	e := d.happen("redis is killed", d.site.redis.kill, d.site.redis.start, d.told("KithRateLimitFallback"))
	d.mustNotFail(e)
	d.site.show(d.t, e, wish{"edge", "Rate limits without Redis", atLeast(1)})
}

// restartPostgres restarts the database, as an upgrade does.
func (d *day) restartPostgres() {
	d.t.Helper()
	e := d.happen("postgres is restarted", d.site.postgres.interrupt, d.site.postgres.start)
	d.recovers(e)
}

// losePostgres kills the database.
func (d *day) losePostgres() {
	d.t.Helper()
	faults := wish{"tools", "Share of server errors", atLeast(0.5)}
	d.over("KithErrors", "KithStoreDown") // an alert that still fires would not be sent again
	e := d.happen("postgres is killed", d.site.postgres.kill, d.site.postgres.start, d.told("KithStoreDown"), d.told("KithErrors"),
		d.shown(faults))
	d.recovers(e)
	d.site.show(d.t, e,
		wish{"store", "Database is up", atMost(0)}, wish{"overview", "Database is up", atMost(0)},
		wish{"edge", "Share of server errors", atLeast(0.05)}, faults, wish{"overview", "Firing alerts", atLeast(1)},
	)
}

// shown returns a condition that is true once a panel shows the wished value. It has to be
// waited for, since a rate also covers the time before the event.
func (d *day) shown(w wish) func(time.Time) bool {
	return func(since time.Time) bool {
		_, fits := d.site.shows(d.t, w, since, time.Now())
		return fits
	}
}

// over waits until earlier alerts no longer fire and their resolutions have arrived.
func (d *day) over(alerts ...string) {
	d.t.Helper()
	firing := `ALERTS{alertstate="firing",alertname=~"` + strings.Join(alerts, "|") + `"}`
	within(d.t, timeout, fmt.Sprintf("%v are resolved", alerts), func() bool {
		if slices.ContainsFunc(d.site.pager.since(time.Time{}), func(p page) bool { return slices.Contains(alerts, p.alert) && p.toldEnd.IsZero() }) {
			return false
		}
		got, err := d.site.ask(firing, time.Now(), time.Now())
		return err == nil && len(got) == 0
	})
}

// loseBackends kills both backends.
func (d *day) loseBackends() {
	d.t.Helper()
	both := func(do func(*process)) func() {
		return func() { do(d.site.backends[0]); do(d.site.backends[1]) }
	}
	e := d.happen("both backends are killed", both((*process).kill), both((*process).start), d.told("KithDown", "job=kith-backend"))
	d.recovers(e)
	d.site.show(d.t, e, wish{"overview", "Processes up", atMost(0)}, wish{"edge", "Requests to the backend", atLeast(1)},
		wish{"overview", "Backend unreachable", atLeast(0.05)})
}

// recovery is how long after a restart requests may still fail.
const recovery = 10 * time.Second

func (d *day) recovers(e *event) {
	d.t.Helper()
	if o := e.outcome(d.load.record); o.lastAfterReturn > recovery {
		d.t.Errorf("%s: requests failed for %s after the restart: %v", e.name, o.lastAfterReturn, o.reasons)
	}
}

// lasting reports whether an alert's window is days, so that it outlasts the test even scaled.
func lasting(alert string) bool { return strings.HasSuffix(alert, "BudgetSlow") }

// calm waits until every alert is resolved; no request may fail meanwhile.
func (d *day) calm() {
	d.t.Helper()
	e := event{name: "ordinary load again", began: time.Now()}
	over := func() (firing []string) {
		for _, p := range d.site.pager.since(time.Time{}) {
			if p.toldEnd.IsZero() && !lasting(p.alert) && !slow(p.alert) {
				firing = append(firing, p.alert+" "+d.site.name(p.labels["instance"]))
			}
		}
		return firing
	}
	for began := time.Now(); len(over()) > 0 && time.Since(began) < 2*timeout; {
		<-time.After(settle)
	}
	if firing := over(); len(firing) > 0 {
		d.t.Errorf("these alerts are not resolved: %v", firing)
	}
	e.ended = time.Now()
	d.events = append(d.events, e)
	d.mustNotFail(&d.events[len(d.events)-1])
}

// judge checks the final state.
func (d *day) judge() {
	d.t.Helper()
	t := d.t
	for i, fault := range d.load.record.faults {
		if i < 10 {
			t.Error(fault)
		}
	}
	for _, want := range []string{
		"KithInstanceDown", "KithRateLimitFallback", "KithStoreDown", "KithErrors", "KithDown", "KithEdgeErrorBudgetFast", "KithToolErrorBudgetFast",
	} {
		if !d.site.pager.heard(d.began, want) {
			t.Errorf("%s never fired", want)
		}
	}
	writes, attempts, replayed := 0, 0, 0
	for _, w := range d.load.writers {
		w.judge(t)
		writes += len(w.written)
		for _, one := range w.written {
			attempts += one.attempts
			if one.replayed {
				replayed++
			}
		}
	}
	if writes < 2000 {
		t.Errorf("only %d writes were sent", writes)
	}
	gone, err := d.site.ask(`sum(kith_tool_calls_total{outcome="abandoned"})`, d.began, time.Now())
	if err != nil || !(most(gone) >= 20) {
		t.Errorf("callers disconnected %v times: %v", most(gone), err)
	}
	asked := d.site.checkDashboards(t, d.began, time.Now())
	d.summary = fmt.Sprintf("%d writes were sent %d times; all were answered, each is stored once and charged once, and the answer to %d was a replay. %d queries of dashboards were answered with data.",
		writes, attempts, replayed, asked)
}

// tell logs the tables and writes them to a file in .tmp.
func (d *day) tell(name string) {
	d.t.Helper()
	text := d.summary + "\n\n" + tell(d.events, d.load.record) + "\n" + tellPages(d.events, d.site.pager.since(d.began), d.site.name) + "\n" + tellShown(d.events)
	d.t.Log("\n" + text)
	file, err := filepath.Abs(filepath.Join(repository, ".tmp", name))
	must(d.t, err)
	must(d.t, os.MkdirAll(filepath.Dir(file), 0o755))
	write(d.t, file, text)
}
