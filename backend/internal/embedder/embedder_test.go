package embedder_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/embedder"
	"github.com/kith-crm/kith/backend/internal/embedding"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/store"
	"github.com/kith-crm/kith/backend/internal/storetest"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/timeline"
)

// remote is a remote provider that is made to fail.
type remote struct {
	embedding.Local

	host string
	mu   sync.Mutex
	// before is called with the number of the call, from 1, ahead of each.
	before func(call int) error
	calls  int
	texts  []string
}

func (r *remote) Host() string { return r.host }

func (r *remote) Embed(ctx context.Context, texts []string) ([]embedding.Vector, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls++
	if r.before != nil {
		if err := r.before(r.calls); err != nil {
			return nil, err
		}
	}
	r.texts = append(r.texts, texts...)
	return r.Local.Embed(ctx, texts)
}

// bundle is a member with people, and a runner.
type bundle struct {
	store    *store.Store
	owner    tenant.ID
	provider *remote
	ids      []string
}

func each(t *testing.T, people int, test func(t *testing.T, b *bundle)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		b := &bundle{store: s, owner: storetest.Member(t, s, "maria"), provider: &remote{}}
		if _, err := s.Tenant(b.owner, false).OpenMonth(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.write(t, func(ctx context.Context, u *store.Unit) error {
			for i := range people {
				made, err := connection.Create(ctx, u, connection.Draft{Name: fmt.Sprintf("Person %d", i)})
				if err != nil {
					return err
				}
				b.ids = append(b.ids, made.Connection.ID)
			}
			return nil
		})
		test(t, b)
	})
}

func (b *bundle) write(t *testing.T, fn func(context.Context, *store.Unit) error) {
	t.Helper()
	if err := b.store.Tenant(b.owner, false).Write(t.Context(), store.Actor{Tool: "embed_objects"}, fn); err != nil {
		t.Fatal(err)
	}
}

// begin queues the job.
func (b *bundle) begin(t *testing.T, p embedder.Params) *job.Job {
	t.Helper()
	var j *job.Job
	b.write(t, func(ctx context.Context, u *store.Unit) (err error) {
		j, _, err = embedder.Start(ctx, u, b.provider, b.provider.host, p, 0)
		return err
	})
	return j
}

// finish runs jobs until this one has ended, and returns it with its result.
func (b *bundle) finish(t *testing.T, j *job.Job) (*job.Job, embedder.Result) {
	t.Helper()
	hub := &job.Hub{}
	r := job.NewRunner(job.Config{
		Queue: b.store, Kinds: []job.Kind{embedder.New(b.store, b.provider)}, Workers: 1, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
		Changed: hub.Changed, Poll: 10 * time.Millisecond, Backoff: time.Millisecond,
	})
	r.Start(t.Context())
	defer r.Stop(t.Context())
	for {
		changed, stop := hub.Watch(b.owner, j.Number)
		got, err := b.store.Tenant(b.owner, true).GetJob(t.Context(), j.Number)
		if err != nil {
			t.Fatal(err)
		}
		if got.Terminal() {
			stop()
			var result embedder.Result
			if got.Result != "" {
				if err := json.Unmarshal([]byte(got.Result), &result); err != nil {
					t.Fatal(err)
				}
			}
			return got, result
		}
		select {
		case <-changed:
		case <-t.Context().Done():
		}
		stop()
	}
}

func (b *bundle) run(t *testing.T, p embedder.Params) (*job.Job, embedder.Result) {
	t.Helper()
	return b.finish(t, b.begin(t, p))
}

// used is how many credits of the month are spent.
func (b *bundle) used(t *testing.T) int {
	t.Helper()
	balance, err := b.store.GetCredits(t.Context(), b.owner)
	if err != nil {
		t.Fatal(err)
	}
	return balance.Used()
}

func wantResult(t *testing.T, j *job.Job, got embedder.Result, embedded, unchanged int) {
	t.Helper()
	want := embedder.Result{Embedded: embedded, Unchanged: unchanged, Model: embedding.LocalModel, Dimensions: 256, Provider: got.Provider}
	if j.State != job.Succeeded || got != want || j.Done != embedded+unchanged || j.Total != j.Done {
		t.Errorf("%s %s %s, %d of %d: %+v, want %+v", j.State, j.ErrorCode, j.ErrorDetail, j.Done, j.Total, got, want)
	}
}

func TestEverybodyGetsAVectorOnce(t *testing.T) {
	t.Parallel()
	each(t, 250, func(t *testing.T, b *bundle) {
		j, result := b.run(t, embedder.Params{})
		wantResult(t, j, result, 250, 0)
		if result.Provider != "local" || b.used(t) != 2 || j.Charged != 2 { // the call itself is charged by its handler
			t.Errorf("%s made them, %d credits, %d charged", result.Provider, b.used(t), j.Charged)
		}
		b.write(t, func(ctx context.Context, u *store.Unit) error {
			if _, _, err := timeline.AddNote(ctx, u, timeline.Note{Body: "x", ConnectionIDs: b.ids[:1]}); err != nil {
				return err
			}
			_, err := timeline.LogInteraction(ctx, u, timeline.Interaction{Kind: "call", ConnectionIDs: b.ids[1:2]})
			return err
		})
		calls := b.provider.calls
		j, result = b.run(t, embedder.Params{})
		if wantResult(t, j, result, 1, 249); b.provider.calls != calls+1 {
			t.Errorf("%d calls", b.provider.calls-calls)
		}
		j, result = b.run(t, embedder.Params{})
		wantResult(t, j, result, 0, 250)
		j, result = b.run(t, embedder.Params{All: true})
		wantResult(t, j, result, 250, 0)
	})
}

func TestNobodyToEmbed(t *testing.T) {
	t.Parallel()
	each(t, 0, func(t *testing.T, b *bundle) {
		j, result := b.run(t, embedder.Params{})
		if j.State != job.Succeeded || result.Embedded != 0 || result.Dimensions != 0 {
			t.Errorf("%s, %+v", j.State, result)
		}
	})
}

// What was done before an attempt ended is not done again.
func TestWorkGoesOnWhereItEnded(t *testing.T) {
	t.Parallel()
	each(t, 300, func(t *testing.T, b *bundle) {
		b.provider.before = func(call int) error {
			if call%2 == 0 {
				return &embedding.ProviderError{Message: "it is busy"}
			}
			return nil
		}
		j, result := b.run(t, embedder.Params{})
		wantResult(t, j, result, 300, 0)
		if b.provider.calls != 7 || len(b.provider.texts) != 300 || b.used(t) != 3 {
			t.Errorf("%d calls for %d texts, %d credits", b.provider.calls, len(b.provider.texts), b.used(t))
		}
	})
}

func TestProviderThatFails(t *testing.T) {
	t.Parallel()
	each(t, 120, func(t *testing.T, b *bundle) {
		for name, err := range map[string]*embedding.ProviderError{
			"refuses": {Message: "it refuses the key", Final: true}, "stays away": {Message: "it does not answer"},
		} {
			b.provider.before = func(int) error { return err }
			j, _ := b.run(t, embedder.Params{})
			if j.State != job.Failed || j.ErrorCode != "provider_failed" || !strings.Contains(j.ErrorDetail, err.Message) || b.used(t) != 0 {
				t.Errorf("%s: %s %s %s, %d credits", name, j.State, j.ErrorCode, j.ErrorDetail, b.used(t))
			}
		}
	})
}

func TestRemoteProviderMustBeAllowed(t *testing.T) {
	t.Parallel()
	each(t, 200, func(t *testing.T, b *bundle) {
		b.provider.host = "vectors.example"
		err := b.store.Tenant(b.owner, false).Write(t.Context(), store.Actor{}, func(ctx context.Context, u *store.Unit) error {
			_, _, err := embedder.Start(ctx, u, b.provider, "", embedder.Params{}, 2)
			return err
		})
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "vectors.example") || !strings.Contains(err.Error(), "settings page") {
			t.Errorf("got %v", err)
		}
		allow := func(host string) {
			if err := b.store.SetEmbeddingsHost(context.Background(), b.owner, host); err != nil {
				t.Error(err)
			}
		}
		// Who takes it back while the job waits, or runs, has nothing more sent.
		j, _ := b.run(t, embedder.Params{})
		if j.State != job.Failed || j.ErrorCode != "provider_not_allowed" || b.provider.calls != 0 {
			t.Errorf("%s %s after %d calls", j.State, j.ErrorCode, b.provider.calls)
		}
		allow("vectors.example")
		b.provider.before = func(int) error {
			allow("")
			return nil
		}
		j, _ = b.run(t, embedder.Params{})
		if j.State != job.Failed || j.ErrorCode != "provider_not_allowed" || b.provider.calls != 1 {
			t.Errorf("%s %s after %d calls", j.State, j.ErrorCode, b.provider.calls)
		}
		allow("vectors.example")
		b.provider.before = nil
		if j, result := b.run(t, embedder.Params{}); j.State != job.Succeeded || result.Provider != "vectors.example" || result.Embedded != 104 || result.Unchanged != 96 {
			t.Errorf("%s %+v", j.State, result)
		}
		if text := strings.Join(b.provider.texts, "\n"); strings.Contains(text, "@") || !strings.Contains(text, "Person 7") {
			t.Error(text)
		}
	})
}

// The price is taken before anything is made.
func TestTooFewCredits(t *testing.T) {
	t.Parallel()
	each(t, 250, func(t *testing.T, b *bundle) {
		b.write(t, func(ctx context.Context, u *store.Unit) error {
			month, err := b.store.Tenant(b.owner, false).OpenMonth(ctx)
			if err == nil {
				_, err = u.Charge(ctx, month, 999)
			}
			return err
		})
		j, _ := b.run(t, embedder.Params{})
		if j.State != job.Failed || j.ErrorCode != job.CodeCredits || b.provider.calls != 0 {
			t.Errorf("%s %s after %d calls", j.State, j.ErrorCode, b.provider.calls)
		}
	})
}

func TestCancelledJobTellsHowFarItGot(t *testing.T) {
	t.Parallel()
	each(t, 300, func(t *testing.T, b *bundle) {
		j := b.begin(t, embedder.Params{})
		b.provider.before = func(call int) error {
			if call < 3 {
				return nil
			}
			err := b.store.Tenant(b.owner, false).Write(context.Background(), store.Actor{}, func(ctx context.Context, u *store.Unit) error {
				_, err := u.CancelJob(ctx, j.Number)
				return err
			})
			return err
		}
		j, result := b.finish(t, j)
		if j.State != job.Cancelled || result.Embedded != 192 {
			t.Errorf("%s %+v", j.State, result)
		}
	})
}

func TestStartingItAgainReturnsTheLiveJob(t *testing.T) {
	t.Parallel()
	each(t, 1, func(t *testing.T, b *bundle) {
		if first, second := b.begin(t, embedder.Params{}), b.begin(t, embedder.Params{All: true}); first.Number != second.Number {
			t.Errorf("%d and %d", first.Number, second.Number)
		}
	})
}
