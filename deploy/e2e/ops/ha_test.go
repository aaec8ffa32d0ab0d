//go:build ha

package ops

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// TestFailover loses hosts and connections of a cluster under load. It needs root and an
// otherwise idle machine for minutes, so it is compiled only for `make e2e-ha`.
func TestFailover(t *testing.T) {
	c := newCluster(t)
	f := &failover{day: &day{t: t, site: c.site, began: time.Now()}, cluster: c}
	f.load = newLoad(t, c.site)
	f.pass("ordinary load", 10*time.Second)
	f.switchover()
	f.killPrimary()
	f.loseReplica()
	f.freezePrimary()
	f.calm()
	f.killBackendAndEdge()
	f.failRedisOver()
	f.cutBackend()
	f.jumpClock()
	f.calm()
	f.cutHalves()
	f.calm()
	f.load.stop()
	f.judgeFailover()
	f.tell("e2e-ha.md")
}

// failover is one run of the test.
type failover struct {
	*day

	cluster *cluster
	windows strings.Builder // a table of how long requests failed after each event
}

// window is how long requests may fail after a loss, and again after the restart.
const window = 20 * time.Second

// lose runs an event: it calls lose, waits until requests succeed again and the effects are
// visible, and calls restore. Requests may fail within the window only.
func (f *failover) lose(name string, lose, restore func(), effects ...func(since time.Time) bool) {
	f.t.Helper()
	began, seen := time.Now(), make([]bool, len(effects))
	for i, there := range effects {
		effects[i] = func(since time.Time) bool { seen[i] = there(since); return seen[i] }
	}
	f.t.Cleanup(func() {
		if f.t.Failed() {
			f.t.Logf("%s, %s ago: effects that were there at last: %v", name, time.Since(began), seen)
		}
	})
	e := f.happen(name, lose, func() {
		restore()
		within(f.t, timeout, name+": the databases are complete again", f.cluster.complete)
	}, append(effects, f.recovered)...)
	after := time.Duration(0)
	for _, s := range f.load.record.between(e.began, e.restored) {
		if s.failed != "" {
			after = max(after, s.ended().Sub(e.began))
		}
	}
	back := e.outcome(f.load.record).lastAfterReturn
	fmt.Fprintf(&f.windows, "| %s | %s | %s |\n", name, brief(after), brief(back))
	if after > window || back > window {
		f.t.Errorf("%s: requests failed for %s after the loss, and for %s after the return", name, after, back)
	}
}

// recovered reports whether no request has failed for a while.
func (f *failover) recovered(since time.Time) bool {
	const least, quiet = 10 * time.Second, 4 * time.Second
	if time.Since(since) < least {
		return false
	}
	answered := false
	for _, s := range f.load.record.between(time.Now().Add(-quiet), time.Now()) {
		if s.failed != "" {
			return false
		}
		answered = answered || s.what == "write"
	}
	return answered
}

// replaced returns a condition that is true once another database is the primary.
func (f *failover) replaced(was *host) func(time.Time) bool {
	return func(time.Time) bool {
		now := f.cluster.primary()
		return now != nil && now != was
	}
}

// down returns a condition that is true once the alert that the host's Kith is down has arrived.
func (f *failover) down(h *host) func(time.Time) bool {
	return f.told("KithInstanceDown", "instance="+f.site.admin[h.name])
}

func (f *failover) leader() *host {
	f.t.Helper()
	var found *host
	within(f.t, timeout, "there is a primary", func() bool { found = f.cluster.primary(); return found != nil })
	return found
}

// standby returns a database with the role.
func (f *failover) standby(role string) *host {
	f.t.Helper()
	within(f.t, timeout, "the databases are complete", f.cluster.complete)
	for _, m := range f.cluster.states() {
		for _, h := range f.cluster.databases {
			if m.Name == h.name && m.Role == role {
				return h
			}
		}
	}
	f.t.Fatalf("no database has the role %s", role)
	return nil
}

func (f *failover) switchover() {
	f.t.Helper()
	was, to := f.leader(), f.standby("sync_standby")
	f.lose("the primary is switched over", func() { f.cluster.switchOver(to) }, func() {}, f.replaced(was))
}

func (f *failover) killPrimary() {
	f.t.Helper()
	h := f.leader()
	f.lose("the host of the primary crashes", h.crash, h.start, f.replaced(h))
}

func (f *failover) loseReplica() {
	f.t.Helper()
	h := f.standby("sync_standby")
	f.lose("the host of the synchronous standby crashes", h.crash, h.start)
}

// freezePrimary stops all processes of the primary, and lets them resume after another database has
// taken over.
func (f *failover) freezePrimary() {
	f.t.Helper()
	outage := []string{"KithStoreDown", "KithBackendUnreachable", "KithErrors"} // any of them: which one fires depends on whether the backends' metrics arrive
	f.over(outage...)
	h := f.leader()
	f.lose("the host of the primary freezes", func() { h.signal(syscall.SIGSTOP) }, func() { h.signal(syscall.SIGCONT) }, f.replaced(h),
		func(since time.Time) bool {
			return slices.ContainsFunc(outage, func(alert string) bool { return f.told(alert)(since) })
		})
}

func (f *failover) killBackendAndEdge() {
	f.t.Helper()
	for _, h := range f.cluster.members[1:3] {
		f.lose(h.name+" is killed", h.kith().kill, h.kith().start, f.down(h))
	}
}

// failRedisOver kills the primary of Redis. After the failover to the replica, and before the
// primary is restarted, the edges must share rate limits again.
func (f *failover) failRedisOver() {
	f.t.Helper()
	h := f.cluster.caches[0]
	together := func(time.Time) bool {
		got, err := f.site.ask("sum(kith_rate_limit_fallback)", time.Now().Add(-time.Second), time.Now())
		return err == nil && len(got) > 0 && most(got) == 0
	}
	alone := func(since time.Time) bool {
		got, err := f.site.ask("kith_rate_limit_fallback", since, time.Now())
		return err == nil && most(got) == 1
	}
	f.lose("the host of the primary of Redis crashes", h.crash, h.start, alone, together)
	f.mustNotFail(&f.events[len(f.events)-1])
}

// cutBackend disconnects the host of a backend and its PgBouncer from the network.
func (f *failover) cutBackend() {
	f.t.Helper()
	h := f.cluster.members[0]
	f.lose(h.name+" is cut off from everything", h.unplug, h.plug, f.down(h))
}

// jumpClock sets the clock of the primary an hour ahead, and back.
func (f *failover) jumpClock() {
	f.t.Helper()
	h := f.leader()
	jumped := func(time.Time) bool {
		conn, err := pgx.Connect(f.t.Context(), "postgres://kith@"+h.at(5432)+"/postgres?sslmode=disable")
		if err != nil {
			return false
		}
		defer func() { _ = conn.Close(f.t.Context()) }()
		var clock time.Time
		err = conn.QueryRow(f.t.Context(), "SELECT clock_timestamp()").Scan(&clock)
		return err == nil && time.Until(clock) > 50*time.Minute
	}
	f.lose("the clock of the primary jumps an hour ahead, and back",
		func() { f.cluster.setClock(h, time.Hour) }, func() { f.cluster.setClock(h, 0) }, jumped)
}

// cutHalves separates the half with the primary from the clients and the other databases.
func (f *failover) cutHalves() {
	f.t.Helper()
	first := f.cluster.databases[0]
	for range 6 { // only the synchronous standby can take over
		if f.leader() == first {
			break
		}
		f.cluster.switchOver(f.standby("sync_standby"))
		within(f.t, timeout, "the databases are complete", f.cluster.complete)
	}
	if f.leader() != first {
		f.t.Errorf("the primary is not in the first half")
	}
	f.lose("the half of the network with the primary is cut off", f.cluster.network.split, f.cluster.network.join,
		f.replaced(first), f.down(f.cluster.members[0]), f.down(f.cluster.members[2]))
}

// judgeFailover checks that each write is stored once and charged once, and writes the summary.
func (f *failover) judgeFailover() {
	f.t.Helper()
	for i, fault := range f.load.record.faults {
		if i < 10 {
			f.t.Error(fault)
		}
	}
	writes, attempts, replayed := 0, 0, 0
	for _, w := range f.load.writers {
		w.judge(f.t)
		writes += len(w.written)
		for _, one := range w.written {
			attempts += one.attempts
			if one.replayed {
				replayed++
			}
		}
	}
	if writes < 2000 {
		f.t.Errorf("only %d writes were sent", writes)
	}
	f.summary = fmt.Sprintf("%d writes were sent %d times; all were answered, each is stored once and charged once, and the answer to %d was a replay.\n\n"+
		"| What happens | Requests failed until, after the loss | … after the return |\n|---|---:|---:|\n%s", writes, attempts, replayed, f.windows.String())
}
