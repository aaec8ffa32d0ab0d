// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/resilience -run 'TestPlacement|TestFrozenBackend|TestPlacementThroughARollout|TestServiceTokenIsReplaced|TestPlacementOfPages'

package resilience

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// leftOutTime is longer than an edge takes to notice a frozen backend: two seconds until the next health check, and
// three for that. statusTime is longer than the interval of the readings of /status.
const (
	leftOutTime = 10 * time.Second
	statusTime  = 60 * time.Second
)

// returnTime is longer than the edges take to send members back to a restarted backend.
const returnTime = 40 * time.Second

// pair is a service with two backends and two edges.
type pair struct {
	*harness.Service

	addresses [2]string
	backends  [2]*harness.Program
	second    *harness.Service // the other edge
}

func newPair(t *testing.T) *pair {
	t.Helper()
	p := &pair{Service: harness.NewService(t, harness.Split)}
	p.Settings["KITH_CREDITS_FREE"] = "1000000"
	p.addresses = [2]string{p.BackendAddr, harness.FreeAddress(t)}
	for i := range p.backends {
		p.start(i)
	}
	p.second = harness.NewService(t, harness.Split)
	for _, s := range []*harness.Service{p.Service, p.second} {
		s.Edge = s.Run("edge", map[string]string{
			"KITH_BACKEND_URL": "http://" + p.addresses[0] + ",http://" + p.addresses[1], "KITH_SERVICE_TOKEN": p.ServiceToken,
		})
	}
	return p
}

func (p *pair) start(i int) {
	p.T.Helper()
	p.backends[i] = p.Run("backend", p.Database(), map[string]string{"KITH_BACKEND_ADDR": p.addresses[i], "KITH_SERVICE_TOKEN": p.ServiceToken})
}

// metric returns the value of a series of a process.
func (p *pair) metric(t *testing.T, of *harness.Program, series string) int {
	t.Helper()
	text := harness.Get(t, of.Admin+"/metrics", "Accept: text/plain").Body
	value := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(series) + ` (\d+)$`).FindStringSubmatch(text)
	if value == nil {
		t.Fatalf("%s has no %s", of.Name, series)
	}
	n, err := strconv.Atoi(value[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// builds returns how many indexes each backend has built.
func (p *pair) builds(t *testing.T) (builds [2]int) {
	t.Helper()
	for i, b := range p.backends {
		builds[i] = p.metric(t, b, `kith_search_build_duration_seconds_count{kind="whole"}`)
	}
	return builds
}

// fallbacks returns how many calls for a backend's members the other backend answered.
func (p *pair) fallbacks(t *testing.T, of int) (n int) {
	t.Helper()
	for _, s := range []*harness.Service{p.Service, p.second} {
		n += p.metric(t, s.Edge, fmt.Sprintf("kith_placement_fallbacks_total{backend=%q}", p.addresses[of]))
	}
	return n
}

// TestPlacement: over two edges, with two tokens, the index of each member is built once. When a
// backend is killed, reads and writes of all members go on, and only its members move. When it is
// up again, its members return to it.
func TestPlacement(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it needs PostgreSQL")
	}
	p := newPair(t)
	const members = 12
	var agents []harness.Agent // four for each member: two tokens at two edges
	for range members {
		m := p.NewMember(t)
		for range 2 {
			bearer := m.Token(t).Bearer
			agents = append(agents, p.Agent(harness.PathCurrent, bearer), p.second.Agent(harness.PathCurrent, bearer))
		}
	}
	for i, a := range agents {
		a.Create(t, harness.Arguments{"name": fmt.Sprintf("Ana Reyes %d", i)})
		a.Find(t, "Ana")
	}
	first := p.builds(t)
	if first[0]+first[1] != members || first[0] == 0 || first[1] == 0 {
		t.Fatalf("the indexes of %d members were built %v times", members, first)
	}

	p.backends[0].Kill()
	for i, a := range agents { // no call fails; without a key, a write on a connection that breaks could
		name := fmt.Sprintf("Ana Moreau %d", i)
		if got := a.WithKey(t, fmt.Sprint("moreau-", i), harness.ToolCall(t, "create_connection", harness.Arguments{"name": name})); got.Status != http.StatusOK {
			t.Fatalf("got %d %s", got.Status, got.Body)
		}
		if found := a.Find(t, "Moreau"); len(found) != i%4+1 {
			t.Fatalf("agent %d finds %v", i, found)
		}
	}
	if built := p.metric(t, p.backends[1], `kith_search_build_duration_seconds_count{kind="whole"}`); built != members {
		t.Errorf("the other backend has built %d indexes, for %d members", built, members)
	}
	if p.fallbacks(t, 0) == 0 || p.fallbacks(t, 1) != 0 {
		t.Errorf("calls that another backend answered: %d and %d", p.fallbacks(t, 0), p.fallbacks(t, 1))
	}

	p.start(0)
	harness.Within(t, returnTime, "all members of the backend that is back are served by it", func() bool {
		before := p.fallbacks(t, 0)
		for _, a := range agents {
			a.Find(t, "Ana")
		}
		return p.fallbacks(t, 0) == before
	})
	if again := p.builds(t); again != [2]int{first[0], members} {
		t.Errorf("the indexes were built %v times, at first %v", again, first)
	}
}

// TestFrozenBackend: a backend that accepts connections but answers nothing is left out once it misses a health
// check, so its members are served again although it is still frozen. The gauge and /status tell it.
// When it goes on, it gets calls again.
func TestFrozenBackend(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it needs PostgreSQL")
	}
	p := newPair(t)
	up := func(of int) int {
		return p.metric(t, p.Edge, fmt.Sprintf("kith_placement_backend_up{backend=%q}", p.addresses[of]))
	}
	both := func() bool { return up(0) == 1 && up(1) == 1 }
	harness.Eventually(t, "both backends pass a health check", both)
	var agents []harness.Agent
	for i := range 8 {
		a := p.NewMember(t).Agent(t)
		a.Create(t, harness.Arguments{"name": fmt.Sprintf("Ana Reyes %d", i)})
		agents = append(agents, a)
	}
	told := func() bool {
		return strings.Contains(harness.Get(t, p.Edge.Admin+"/status", "Accept: text/html").Body, "KithBackendLeftOut")
	}
	if told() {
		t.Error("/status tells of a backend that is left out, and there is none")
	}
	p.backends[0].Freeze()
	harness.Within(t, leftOutTime, "the frozen backend is left out", func() bool { return up(0) == 0 })
	for i, a := range agents {
		if _, found := trySearch(a); !found {
			t.Errorf("member %d is not served while a backend is frozen", i)
		}
	}
	if up(1) != 1 {
		t.Error("the other backend is left out, too")
	}
	harness.Within(t, statusTime, "/status tells of it", told)
	p.backends[0].Continue()
	harness.Within(t, returnTime, "the backend is back", both)
}

// TestPlacementThroughARollout: backends that are replaced one by one, while members read and write
// without idempotency keys, cause no failed call.
func TestPlacementThroughARollout(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it needs PostgreSQL")
	}
	p := newPair(t)
	var (
		wait         sync.WaitGroup
		over         atomic.Bool
		made, failed atomic.Int64
	)
	for i := range 6 {
		a := p.NewMember(t).Agent(t)
		if i%2 == 1 {
			a.Service = p.second
		}
		wait.Go(func() {
			for n := 0; !over.Load(); n++ {
				_, created := tryCreate(a, fmt.Sprintf("Ana Reyes %d", n))
				_, found := trySearch(a)
				made.Add(2)
				if !created || !found {
					failed.Add(1)
				}
			}
		})
	}
	for i := range p.backends {
		before := made.Load()
		harness.Eventually(t, "calls are made", func() bool { return made.Load() > before+20 })
		p.backends[i].Stop()
		before = made.Load()
		harness.Eventually(t, "calls are made without the backend", func() bool { return made.Load() > before+20 })
		p.start(i)
	}
	over.Store(true)
	wait.Wait()
	if n := failed.Load(); n > 0 {
		t.Errorf("%d of %d calls failed", n, made.Load())
	}
}

// TestServiceTokenIsReplaced: the service token changes in three steps, and no call fails. Afterwards the old one is worth nothing.
func TestServiceTokenIsReplaced(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it needs PostgreSQL")
	}
	p := newPair(t)
	before, after := p.ServiceToken, harness.Secrets.Keep("service token", rand.Text())
	a := p.NewMember(t).Agent(t)
	var wait sync.WaitGroup
	var over atomic.Bool
	var made, failed atomic.Int64
	call := func(on *harness.Service) (ok bool) {
		a := a
		a.Service = on
		_, ok = trySearch(a)
		return ok
	}
	calls := func(on *harness.Service) { // while the backends are restarted one after the other
		over.Store(false)
		wait.Go(func() {
			for !over.Load() {
				made.Add(1)
				if !call(on) {
					failed.Add(1)
				}
			}
		})
	}
	restart := func(settings map[string]string) {
		for i := range p.backends {
			p.backends[i].Stop()
			settings["KITH_BACKEND_ADDR"] = p.addresses[i]
			p.backends[i] = p.Run("backend", p.Database(), settings)
			from := made.Load()
			harness.Eventually(t, "calls are made", func() bool { return made.Load() > from+10 })
		}
		over.Store(true)
		wait.Wait()
	}
	calls(p.Service)
	restart(map[string]string{"KITH_SERVICE_TOKEN": after, "KITH_SERVICE_TOKEN_PREVIOUS": before})
	p.second.Edge.Stop()
	p.second.Edge = p.second.Run("edge", map[string]string{
		"KITH_BACKEND_URL": "http://" + p.addresses[0] + ",http://" + p.addresses[1], "KITH_SERVICE_TOKEN": after,
	})
	calls(p.second)
	restart(map[string]string{"KITH_SERVICE_TOKEN": after})
	if n := failed.Load(); n > 0 {
		t.Errorf("%d of %d calls failed", n, made.Load())
	}
	if call(p.Service) || !call(p.second) {
		t.Error("the old service token still works, or the new one does not")
	}
}

// TestPlacementOfPages: a member's pages come from the backend that has their index.
func TestPlacementOfPages(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it needs PostgreSQL")
	}
	p := newPair(t)
	const members = 6
	for range members {
		person := p.NewPerson(t)
		v := p.NewSession(t)
		form := harness.Form(v.Send(t, "/sign-in", nil))
		form.Set("login", person["MEMBER_USERNAME"])
		form.Set("password", person["MEMBER_PASSWORD"])
		if got := v.Send(t, "/sign-in", form); got.Status != http.StatusSeeOther {
			t.Fatalf("got %d %s", got.Status, got.Body)
		}
		grant := p.NewGrant(t, person, "connections")
		for range 3 {
			for _, path := range []string{"/people?q=Ana", "/people", "/network"} {
				if got := v.Send(t, path, nil); got.Status != http.StatusOK {
					t.Fatalf("%s: got %d %s", path, got.Status, got.Body)
				}
			}
			p.second.Agent(harness.PathCurrent, grant.Tokens.Access).Find(t, "Ana")
		}
	}
	if builds := p.builds(t); builds[0]+builds[1] != members {
		t.Errorf("the indexes of %d members were built %v times", members, builds)
	}
}
