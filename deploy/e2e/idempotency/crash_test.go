// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/idempotency -run TestIdempotentWritesThroughCrashes

package idempotency

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// idempotentWrite is a write that must take effect once, however often it is sent.
type idempotentWrite struct {
	tool, mark string // the mark is a text that only this write stores
	key, body  string
	impatient  bool // its client sends it once and does not retry

	first    response // the first answer; its text is empty without one
	attempts int
}

// response is the answer to a write with a key, byte for byte.
type response struct {
	text     string
	replayed bool
}

// crashRound is a service that is killed repeatedly while clients write.
type crashRound struct {
	agent  harness.Agent
	client *http.Client
	down   sync.RWMutex // locked while the service restarts
	turn   atomic.Int64 // number of writes that clients have begun
	done   atomic.Int64 // number of writes that clients have finished

	mu     sync.Mutex
	again  map[string]int // number of retries by reason
	faults []error        // unexpected answers
}

// errAgain is the reason for a retry.
type errAgain string

func (e errAgain) Error() string { return string(e) }

// send sends a write once.
func (r *crashRound) send(ctx context.Context, w *idempotentWrite) (response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.agent.Service.Base+r.agent.Path, strings.NewReader(w.body))
	if err != nil {
		return response{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+r.agent.Bearer)
	req.Header.Set("Idempotency-Key", w.key)
	res, err := r.client.Do(req)
	if err != nil {
		return response{}, errAgain("no answer")
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return response{}, errAgain("incomplete answer")
	}
	switch {
	case res.StatusCode == http.StatusOK && strings.Contains(string(text), `"isError":false`):
		return response{string(text), res.Header.Get("Idempotency-Replayed") == "true"}, nil
	case res.StatusCode == http.StatusConflict, res.StatusCode == http.StatusTooManyRequests, res.StatusCode == http.StatusServiceUnavailable:
		return response{}, errAgain(res.Status)
	default:
		return response{}, fmt.Errorf("%s: got %d %s", w.tool, res.StatusCode, text)
	}
}

// insist sends a write until it gets an answer, or only once if its client is impatient.
func (r *crashRound) insist(ctx context.Context, w *idempotentWrite) (response, error) {
	for {
		// Wait until the service has restarted.
		r.down.RLock()
		r.down.RUnlock() //nolint:staticcheck // the critical section is empty: this only waits
		w.attempts++
		got, err := r.send(ctx, w)
		why, tryAgain := errors.AsType[errAgain](err)
		if !tryAgain || ctx.Err() != nil {
			return got, err
		}
		r.mu.Lock()
		r.again[string(why)]++
		r.mu.Unlock()
		if w.impatient {
			return got, nil
		}
	}
}

// each has n clients work through the writes concurrently.
func (r *crashRound) each(t *testing.T, n int, writes []*idempotentWrite, do func(*idempotentWrite) error) *sync.WaitGroup {
	t.Helper()
	r.turn.Store(0)
	r.done.Store(0)
	wait := &sync.WaitGroup{}
	for range n {
		wait.Go(func() {
			for i := r.turn.Add(1) - 1; int(i) < len(writes); i = r.turn.Add(1) - 1 {
				if err := do(writes[i]); err != nil {
					r.mu.Lock()
					r.faults = append(r.faults, err)
					r.mu.Unlock()
				}
				r.done.Add(1)
			}
		})
	}
	return wait
}

// crash kills the service at regular intervals, counted in writes, until all writes are
// done, and returns the number of kills.
func (r *crashRound) crash(t *testing.T, writes int, killAndStart func()) (kills int) {
	t.Helper()
	const atLeast, more = 15, 30
	for {
		next := r.done.Load() + atLeast + mathrand.Int64N(more)
		harness.Eventually(t, "more writes are done", func() bool { done := r.done.Load(); return done >= next || int(done) == writes })
		if int(r.done.Load()) == writes {
			return kills
		}
		r.restart(killAndStart)
		kills++
	}
}

func (r *crashRound) restart(killAndStart func()) {
	r.down.Lock()
	defer r.down.Unlock()
	killAndStart()
}

// deaths are the processes to kill: the only process of the service, or one of the two.
func deaths(way harness.Topology) map[string]func(s *harness.Service) {
	if !way.Split {
		return map[string]func(s *harness.Service){"the process": func(s *harness.Service) { s.Backend.Kill(); s.Start() }}
	}
	return map[string]func(s *harness.Service){
		"the backend": func(s *harness.Service) { s.Backend.Kill(); s.StartBackend() },
		"the edge":    func(s *harness.Service) { s.Edge.Kill(); s.StartEdge() },
	}
}

// TestIdempotentWritesThroughCrashes: with a key, every answered write took effect once,
// and every unanswered write once or not at all, however often it was sent and the service
// was killed. The credits match.
func TestIdempotentWritesThroughCrashes(t *testing.T) {
	t.Parallel()
	for _, way := range harness.Topologies() {
		for name, die := range deaths(way) {
			t.Run(way.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := harness.NewService(t, way)
				s.Settings["KITH_CREDITS_FREE"] = "100000"
				s.Settings["KITH_SANDBOX"] = "false" // seeding it slows down each start
				s.Start()
				checkCrashes(t, s, die)
			})
		}
	}
}

func checkCrashes(t *testing.T, s *harness.Service, die func(*harness.Service)) {
	t.Helper()
	const clients, total, kills = 16, 400, 8
	transport := &http.Transport{MaxIdleConnsPerHost: clients}
	t.Cleanup(transport.CloseIdleConnections)
	r := &crashRound{agent: s.NewMember(t).Agent(t), client: &http.Client{Transport: transport, Timeout: harness.Timeout}, again: map[string]int{}}
	person := r.agent.Create(t, harness.Arguments{"name": "Constant Companion"})
	writes := idempotentWrites(t, person, total)
	clientsAtWork := r.each(t, clients, writes, func(w *idempotentWrite) (err error) {
		w.first, err = r.insist(t.Context(), w)
		return err
	})
	if n := r.crash(t, total, func() { die(s) }); n < kills {
		t.Errorf("the service was killed %d times", n)
	} else {
		t.Logf("%d kills; sent again: %v", n, r.again)
	}
	clientsAtWork.Wait()
	books := readBooks(t, r.agent)
	done := effects(t, r.agent)
	checkOnce(t, writes, done)
	books.check(t, writes, done)
	r.checkReplays(t, clients, writes, done)
	for _, err := range r.faults {
		t.Error(err)
	}
}

// idempotentWrites returns writes of three tools, each with its own mark and key.
func idempotentWrites(t *testing.T, person string, n int) []*idempotentWrite {
	t.Helper()
	const impatient = 5 // every fifth client is impatient
	writes := make([]*idempotentWrite, n)
	for i := range writes {
		w := &idempotentWrite{mark: rand.Text(), key: rand.Text(), impatient: i%impatient == 0}
		var args harness.Arguments
		switch i % 3 {
		case 0:
			w.tool, args = "create_connection", harness.Arguments{"name": w.mark, "on_duplicate": "create"}
		case 1:
			w.tool, args = "add_note", harness.Arguments{"connection_ids": []string{person}, "body": w.mark}
		default:
			w.tool, args = "log_interaction", harness.Arguments{"connection_ids": []string{person}, "kind": "call", "summary": w.mark}
		}
		w.body = harness.ToolCall(t, w.tool, args)
		writes[i] = w
	}
	return writes
}
