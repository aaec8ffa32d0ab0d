package search

import (
	"context"
	"errors"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/billing"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/search/vector"
)

// EmbedKind is the public name of the job.
const EmbedKind = "embed_objects"

// Params say what to do.
type EmbedParams struct {
	// All makes new vectors even for people who have a current one.
	All bool `json:"all"`
}

// EmbedResult is the result of the job.
type EmbedResult struct {
	// Embedded people got a vector; Unchanged people have one of their stored data.
	Embedded  int `json:"embedded"`
	Unchanged int `json:"unchanged"`
	// Model and Dimensions describe the vectors. Dimensions is 0 when no vector was made
	// and none existed.
	Model      string `json:"model"`
	Dimensions int    `json:"dimensions"`
	// Provider is the host that made them, or local.
	Provider string `json:"provider"`
}

// localProvider is the value of Result.Provider for the built-in provider.
const localProvider = "local"

const (
	// batch is how many people a step embeds: one request to a remote provider.
	batch = 96
	// embedAttempts is how many attempts in a row may end without a step before the job fails.
	embedAttempts = 4
	// perCredit is how many vectors one credit pays for.
	perCredit = 100
	// The codes of failures.
	codeNotAllowed = "provider_not_allowed"
	codeProvider   = "provider_failed"
)

// checkpoint is how far the job got.
type checkpoint struct {
	// Priced reports whether the people were counted and paid for.
	Priced bool `json:"priced"`
	// Total is how many people there were when they were counted.
	Total int `json:"total"`
	// After is the id after which to continue.
	After      string `json:"after"`
	Embedded   int    `json:"embedded"`
	Unchanged  int    `json:"unchanged"`
	Dimensions int    `json:"dimensions"`
}

// EmbedJob returns the kind of job.
func EmbedJob(data *db.DB, ledger *billing.Ledger, provider vector.Provider) job.Kind {
	begin := func(run *job.Run) (*work, error) {
		w := &work{store: data, ledger: ledger, data: data.Tenant(run.Job.TenantID, false), provider: provider, run: run}
		return w, errors.Join(run.Params(&w.params), run.Checkpoint(&w.at))
	}
	return job.Kind{
		Name: EmbedKind,
		Run: func(ctx context.Context, run *job.Run) (any, error) {
			w, err := begin(run)
			if err != nil {
				return nil, err
			}
			return w.do(ctx)
		},
		SoFar: func(run *job.Run) (any, error) {
			w, err := begin(run)
			return w.result(), err
		},
	}
}

// StartEmbedding queues the job, or returns the live one. Price is the price of the call.
// It fails with fault.Invalid when the member does not allow the provider.
func StartEmbedding(ctx context.Context, u *db.Tx, provider vector.Provider, host string, p EmbedParams, price int) (j *job.Job, started bool, err error) {
	if !Allowed(provider, host) {
		return nil, false, fault.New(fault.Invalid, "%s", notAllowed(provider))
	}
	return job.StartJob(ctx, u, job.Draft{Kind: EmbedKind, Params: p, Charged: price})
}

// work is one attempt at the job.
type work struct {
	store    *db.DB
	ledger   *billing.Ledger
	data     *db.Tenant
	provider vector.Provider
	run      *job.Run
	params   EmbedParams
	at       checkpoint
}

func (w *work) do(ctx context.Context) (any, error) {
	if !w.at.Priced {
		if err := w.price(ctx); err != nil {
			return nil, err
		}
	}
	for {
		more, err := w.step(ctx)
		if err == nil && more {
			err = w.run.Yield(ctx)
		}
		if err != nil || !more {
			return w.result(), err
		}
	}
}

func (w *work) result() EmbedResult {
	host := w.provider.Host()
	if host == "" {
		host = localProvider
	}
	return EmbedResult{Embedded: w.at.Embedded, Unchanged: w.at.Unchanged, Model: w.provider.Model(), Dimensions: w.at.Dimensions, Provider: host}
}

// allowed ends the job when the member does not allow the provider.
func (w *work) allowed(ctx context.Context) error {
	m, err := account.GetMemberByID(ctx, w.store, w.run.Job.TenantID)
	if err == nil && !Allowed(w.provider, m.EmbeddingsHost) {
		err = job.Fail(codeNotAllowed, "%s", notAllowed(w.provider))
	}
	return err
}

// price counts the people who need a vector and charges for them.
func (w *work) price(ctx context.Context) error {
	if err := w.allowed(ctx); err != nil {
		return err
	}
	stale, total := 0, 0
	for after := ""; ; {
		page, err := w.candidates(ctx, after)
		if err != nil {
			return err
		}
		stale, total = stale+len(page.stale), total+page.count
		if page.count < batch {
			break
		}
		after = page.last
	}
	w.at = checkpoint{Priced: true, Total: total}
	return job.WriteStep(db.WithoutQuota(ctx), w.data, w.run.Lease(), w.actor(), func(ctx context.Context, u *db.Tx) (job.Step, error) {
		return job.Step{Checkpoint: w.at, Total: total}, job.Charge(ctx, w.ledger, u, &w.run.Job, stale/perCredit)
	})
}

// page is a batch of people, sorted.
type page struct {
	version int64
	count   int
	last    string
	stale   []vector.Row // people who need a vector
	texts   []string     // of stale
	same    []string     // people who changed, but whose text did not
	current int          // people with a vector of their stored data, same included
	// dimensions are those of the current vectors.
	dimensions int
}

func (w *work) candidates(ctx context.Context, after string) (page, error) {
	found, err := ListCandidates(ctx, w.data, w.provider.Model(), after, batch, w.params.All)
	out := page{version: found.Version, count: len(found.People)}
	for _, c := range found.People {
		out.last = c.ID
		if c.Person == nil {
			out.current, out.dimensions = out.current+1, c.Dimensions
			continue
		}
		text := c.Person.Text()
		hash := vector.Hash(text)
		if hash == c.Hash && !w.params.All {
			out.current, out.dimensions = out.current+1, c.Dimensions
			out.same = append(out.same, c.ID)
			continue
		}
		out.stale = append(out.stale, vector.Row{ConnectionID: c.ID, Model: w.provider.Model(), ContentHash: hash})
		out.texts = append(out.texts, text)
	}
	return out, err
}

// step makes the vectors of one batch, and reports whether there is another.
func (w *work) step(ctx context.Context) (more bool, err error) {
	if err := w.allowed(ctx); err != nil {
		return false, err
	}
	p, err := w.candidates(ctx, w.at.After)
	if err != nil || p.count == 0 {
		return false, err
	}
	if err := w.embed(ctx, &p); err != nil {
		return false, err
	}
	next := w.at
	next.After, next.Embedded, next.Unchanged = p.last, w.at.Embedded+len(p.stale), w.at.Unchanged+p.current
	if p.dimensions > 0 {
		next.Dimensions = p.dimensions
	}
	done := next.Embedded + next.Unchanged
	next.Total = max(next.Total, done)
	err = job.WriteStep(db.WithoutQuota(ctx), w.data, w.run.Lease(), w.actor(), func(ctx context.Context, u *db.Tx) (job.Step, error) {
		step := job.Step{Checkpoint: next, Done: done, Total: next.Total}
		if len(p.stale) == 0 && len(p.same) == 0 {
			return step, nil
		}
		return step, PutEmbeddings(ctx, u, p.version, p.stale, p.same)
	})
	if err != nil {
		return false, err
	}
	w.at = next
	return p.count == batch, nil
}

// embed adds the vectors. It ends the job when the provider refuses the texts permanently,
// or stays unavailable.
func (w *work) embed(ctx context.Context, p *page) error {
	if len(p.texts) == 0 {
		return nil
	}
	vectors, err := w.provider.Embed(ctx, p.texts)
	if known := (*vector.ProviderError)(nil); errors.As(err, &known) && (known.Final || w.run.Job.Attempts >= embedAttempts) {
		return job.Fail(codeProvider, "Vectors could not be made: %s.", known.Message)
	}
	if err != nil {
		return err
	}
	for i := range p.stale {
		p.stale[i].Vector, p.stale[i].Dimensions = vectors[i], len(vectors[i])
		p.dimensions = len(vectors[i])
	}
	return nil
}

func (w *work) actor() db.Actor {
	j := &w.run.Job
	return db.Actor{CredentialID: j.CredentialID, CredentialName: j.CredentialName, Tool: j.Tool}
}
