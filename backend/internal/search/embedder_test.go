package search_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/search"
	"github.com/kith-crm/kith/backend/internal/search/vector"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/timeline"
)

// remote is a remote provider that tests can make fail.
type remote struct {
	vector.Local

	host string
	mu   sync.Mutex
	// before is called before each call, with the number of the call from 1.
	before func(call int) error
	calls  int
	texts  []string
}

func (r *remote) Host() string { return r.host }

func (r *remote) Embed(ctx context.Context, texts []string) ([]vector.Vector, error) {
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

// bundle is a member with people, and a runner of jobs.
type bundle struct {
	store    *db.DB
	owner    tenant.ID
	provider *remote
	ids      []string
}

func each(t *testing.T, persons int, test func(t *testing.T, b *bundle)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		b := &bundle{store: s, owner: dbtest.Member(t, s, "maria"), provider: &remote{}}
		if _, err := dbtest.Ledger(t, s).OpenMonth(t.Context(), b.owner); err != nil {
			t.Fatal(err)
		}
		b.write(t, func(ctx context.Context, u *db.Tx) error {
			for i := range persons {
				made, err := people.Create(ctx, u, people.Draft{Name: fmt.Sprintf("Person %d", i)})
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

func (b *bundle) write(t *testing.T, fn func(context.Context, *db.Tx) error) {
	t.Helper()
	if err := b.store.Tenant(b.owner, false).Write(t.Context(), db.Actor{Tool: "embed_objects"}, fn); err != nil {
		t.Fatal(err)
	}
}

// begin queues the job.
func (b *bundle) begin(t *testing.T, p search.EmbedParams) *job.Job {
	t.Helper()
	var j *job.Job
	b.write(t, func(ctx context.Context, u *db.Tx) (err error) {
		j, _, err = search.StartEmbedding(ctx, u, b.provider, b.provider.host, p, 0)
		return err
	})
	return j
}

// finish runs jobs until this one has ended, and returns it with its result.
func (b *bundle) finish(t *testing.T, j *job.Job) (*job.Job, search.EmbedResult) {
	t.Helper()
	hub := &job.Hub{}
	r := job.NewRunner(job.Config{
		Queue: dbtest.Queue(t, b.store), Kinds: []job.Kind{search.EmbedJob(b.store, dbtest.Ledger(t, b.store), b.provider)}, Workers: 1, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
		Changed: hub.Changed, Poll: 10 * time.Millisecond, Backoff: time.Millisecond,
	})
	r.Start(t.Context())
	defer r.Stop(t.Context())
	for {
		changed, stop := hub.Watch(b.owner, j.Number)
		got, err := job.GetJob(t.Context(), b.store.Tenant(b.owner, true), j.Number)
		if err != nil {
			t.Fatal(err)
		}
		if got.Terminal() {
			stop()
			var result search.EmbedResult
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

func (b *bundle) run(t *testing.T, p search.EmbedParams) (*job.Job, search.EmbedResult) {
	t.Helper()
	return b.finish(t, b.begin(t, p))
}

// used returns how many credits of the month are spent.
func (b *bundle) used(t *testing.T) int {
	t.Helper()
	balance, err := dbtest.Ledger(t, b.store).GetCredits(t.Context(), b.owner)
	if err != nil {
		t.Fatal(err)
	}
	return balance.Used()
}

func wantResult(t *testing.T, j *job.Job, got search.EmbedResult, embedded, unchanged int) {
	t.Helper()
	want := search.EmbedResult{Embedded: embedded, Unchanged: unchanged, Model: vector.LocalModel, Dimensions: 256, Provider: got.Provider}
	if j.State != job.Succeeded || got != want || j.Done != embedded+unchanged || j.Total != j.Done {
		t.Errorf("%s %s %s, %d of %d: %+v, want %+v", j.State, j.ErrorCode, j.ErrorDetail, j.Done, j.Total, got, want)
	}
}

func TestEverybodyGetsAVectorOnce(t *testing.T) {
	t.Parallel()
	each(t, 250, func(t *testing.T, b *bundle) {
		j, result := b.run(t, search.EmbedParams{})
		wantResult(t, j, result, 250, 0)
		if result.Provider != "local" || b.used(t) != 2 || j.Charged != 2 { // the call itself is charged by its handler
			t.Errorf("%s made them, %d credits, %d charged", result.Provider, b.used(t), j.Charged)
		}
		b.write(t, func(ctx context.Context, u *db.Tx) error {
			if _, _, err := timeline.AddNote(ctx, u, timeline.Note{Body: "x", ConnectionIDs: b.ids[:1]}); err != nil {
				return err
			}
			_, err := timeline.LogInteractions(ctx, u, timeline.Interaction{Kind: "call", ConnectionIDs: b.ids[1:2]})
			return err
		})
		calls := b.provider.calls
		j, result = b.run(t, search.EmbedParams{})
		if wantResult(t, j, result, 1, 249); b.provider.calls != calls+1 {
			t.Errorf("%d calls", b.provider.calls-calls)
		}
		j, result = b.run(t, search.EmbedParams{})
		wantResult(t, j, result, 0, 250)
		j, result = b.run(t, search.EmbedParams{All: true})
		wantResult(t, j, result, 250, 0)
	})
}

func TestNoPersonToEmbed(t *testing.T) {
	t.Parallel()
	each(t, 0, func(t *testing.T, b *bundle) {
		j, result := b.run(t, search.EmbedParams{})
		if j.State != job.Succeeded || result.Embedded != 0 || result.Dimensions != 0 {
			t.Errorf("%s, %+v", j.State, result)
		}
	})
}

// Steps that were done before an attempt ended are not repeated.
func TestWorkGoesOnWhereItEnded(t *testing.T) {
	t.Parallel()
	each(t, 300, func(t *testing.T, b *bundle) {
		b.provider.before = func(call int) error {
			if call%2 == 0 {
				return &vector.ProviderError{Message: "it is busy"}
			}
			return nil
		}
		j, result := b.run(t, search.EmbedParams{})
		wantResult(t, j, result, 300, 0)
		if b.provider.calls != 7 || len(b.provider.texts) != 300 || b.used(t) != 3 {
			t.Errorf("%d calls for %d texts, %d credits", b.provider.calls, len(b.provider.texts), b.used(t))
		}
	})
}

func TestProviderThatFails(t *testing.T) {
	t.Parallel()
	each(t, 120, func(t *testing.T, b *bundle) {
		for name, err := range map[string]*vector.ProviderError{
			"refuses": {Message: "it refuses the key", Final: true}, "stays away": {Message: "it does not answer"},
		} {
			b.provider.before = func(int) error { return err }
			j, _ := b.run(t, search.EmbedParams{})
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
		err := b.store.Tenant(b.owner, false).Write(t.Context(), db.Actor{}, func(ctx context.Context, u *db.Tx) error {
			_, _, err := search.StartEmbedding(ctx, u, b.provider, "", search.EmbedParams{}, 2)
			return err
		})
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "vectors.example") || !strings.Contains(err.Error(), "settings page") {
			t.Errorf("got %v", err)
		}
		allow := func(host string) {
			if err := account.SetEmbeddingsHost(context.Background(), b.store, b.owner, host); err != nil {
				t.Error(err)
			}
		}
		// If the member withdraws permission while the job waits or runs, nothing more is
		// sent.
		j, _ := b.run(t, search.EmbedParams{})
		if j.State != job.Failed || j.ErrorCode != "provider_not_allowed" || b.provider.calls != 0 {
			t.Errorf("%s %s after %d calls", j.State, j.ErrorCode, b.provider.calls)
		}
		allow("vectors.example")
		b.provider.before = func(int) error {
			allow("")
			return nil
		}
		j, _ = b.run(t, search.EmbedParams{})
		if j.State != job.Failed || j.ErrorCode != "provider_not_allowed" || b.provider.calls != 1 {
			t.Errorf("%s %s after %d calls", j.State, j.ErrorCode, b.provider.calls)
		}
		allow("vectors.example")
		b.provider.before = nil
		if j, result := b.run(t, search.EmbedParams{}); j.State != job.Succeeded || result.Provider != "vectors.example" || result.Embedded != 104 || result.Unchanged != 96 {
			t.Errorf("%s %+v", j.State, result)
		}
		if text := strings.Join(b.provider.texts, "\n"); strings.Contains(text, "@") || !strings.Contains(text, "Person 7") {
			t.Error(text)
		}
	})
}

// The price is charged before any vector is made.
func TestTooFewCredits(t *testing.T) {
	t.Parallel()
	each(t, 250, func(t *testing.T, b *bundle) {
		b.write(t, func(ctx context.Context, u *db.Tx) error {
			month, err := dbtest.Ledger(t, b.store).OpenMonth(ctx, b.owner)
			if err == nil {
				_, err = dbtest.Ledger(t, b.store).ChargeTx(ctx, u, month, 999)
			}
			return err
		})
		j, _ := b.run(t, search.EmbedParams{})
		if j.State != job.Failed || j.ErrorCode != job.CodeCredits || b.provider.calls != 0 {
			t.Errorf("%s %s after %d calls", j.State, j.ErrorCode, b.provider.calls)
		}
	})
}

func TestCancelledJobTellsHowFarItGot(t *testing.T) {
	t.Parallel()
	each(t, 300, func(t *testing.T, b *bundle) {
		j := b.begin(t, search.EmbedParams{})
		b.provider.before = func(call int) error {
			if call < 3 {
				return nil
			}
			err := b.store.Tenant(b.owner, false).Write(context.Background(), db.Actor{}, func(ctx context.Context, u *db.Tx) error {
				_, err := job.CancelJob(ctx, u, j.Number)
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
		if first, second := b.begin(t, search.EmbedParams{}), b.begin(t, search.EmbedParams{All: true}); first.Number != second.Number {
			t.Errorf("%d and %d", first.Number, second.Number)
		}
	})
}
