package batch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/kith-crm/kith/edge/internal/content"
	"github.com/kith-crm/kith/edge/internal/exchange"
	"github.com/kith-crm/kith/edge/internal/problem"
	"github.com/kith-crm/kith/edge/internal/route"
)

// Limiter counts items against the budgets of their endpoints.
type Limiter interface {
	// TakeN counts n requests under a policy for the caller of r, and returns how
	// many of them, from the first, are admitted and when the window ends. It
	// writes headers that tell of it.
	TakeN(w http.ResponseWriter, r *http.Request, policy string, n int) (admitted int, reset time.Duration)
}

// Options are what the endpoint needs. All but Preload and Observe are required.
type Options struct {
	// Rows is the route table as it is mounted; its batchable rows are served.
	Rows []route.Route
	// Handlers has the handler of each batchable row, by Route.HandlerName.
	Handlers map[string]route.Handler
	Limiter  Limiter
	Problems *problem.Writer
	Logger   *slog.Logger
	// BaseURL is the public address, without a slash at the end.
	BaseURL string
	// Preload returns a context with which handlers find the profiles of these
	// usernames without asking for each of them.
	Preload func(ctx context.Context, usernames []string) context.Context
	// Observe is told of each batch: how many items had which status.
	Observe func(statuses map[int]int)
}

// Endpoint serves batches. It is safe for concurrent use.
type Endpoint struct {
	Options

	finder       *route.Finder
	notBatchable *outcome
	full         *outcome
}

// New builds the endpoint. It fails if an option or a handler is missing.
func New(o Options) (*Endpoint, error) {
	if o.Limiter == nil || o.Problems == nil || o.Logger == nil || o.BaseURL == "" {
		return nil, errors.New("build batch: limiter, problems, logger and base URL are required")
	}
	rows := batchable(o.Rows)
	for _, r := range rows {
		if o.Handlers[r.HandlerName()] == nil {
			return nil, fmt.Errorf("build batch: route %q has no handler", r.Name)
		}
	}
	finder, err := route.NewFinder(rows)
	if err != nil {
		return nil, fmt.Errorf("build batch: %w", err)
	}
	e := &Endpoint{Options: o, finder: finder}
	refused := e.refuse(problem.NotBatchable, "Only the reads of the list can be items of a batch.")
	refused.Batchable = Allowlist(o.Rows)
	e.notBatchable = refused.marshal()
	e.full = e.refuse(problem.AnswerTooLarge, "The batch's answer is full: ask for this item in another one.").marshal()
	return e, nil
}

// Serve implements route.Handler.
func (e *Endpoint) Serve(w http.ResponseWriter, r *http.Request, _ string) {
	var sent envelope
	if !content.ReadJSON(w, r, e.Problems, maxBody, &sent) {
		return
	}
	items, faults := sent.items()
	if len(faults) > 0 {
		e.Problems.Write(w, r, problem.InvalidParameter, "The batch is not valid.", faults...)
		return
	}
	release, ok := exchange.FromContext(r.Context()).AcquireMore(r.Context(), places(len(items))-1)
	if !ok {
		e.Problems.Write(w, r, problem.Unavailable, problem.BusyDetail)
		return
	}
	defer release()
	outcomes := e.answer(w, r, items)
	answer := e.appendAnswer(make([]byte, 0, 4096), items, outcomes)
	e.observe(r, outcomes)
	h := w.Header()
	h["Content-Type"] = []string{"application/json"}
	h["Cache-Control"] = []string{"no-store"}
	h["Content-Length"] = []string{strconv.Itoa(len(answer))}
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(answer) // the caller may be gone
}

// answer returns the outcome of each item, in their order.
func (e *Endpoint) answer(w http.ResponseWriter, r *http.Request, items []item) []*outcome {
	outcomes := make([]*outcome, len(items))
	wanted := make([]*read, len(items))
	for i, it := range items {
		wanted[i] = e.resolve(it.path, it.query)
		switch {
		case wanted[i] == nil:
			outcomes[i] = e.notBatchable
		case route.CarriesCredential(it.query):
			wanted[i] = nil
			outcomes[i] = e.problem(r, problem.CredentialInQuery, "A credential in the query string is never accepted.")
		}
	}
	e.spend(w, r, wanted, outcomes)
	var reads []*read
	first := make(map[string]*read, len(wanted))
	for i, want := range wanted {
		if want == nil || outcomes[i] != nil {
			continue
		}
		if same, ok := first[want.key()]; ok {
			wanted[i] = same
			continue
		}
		first[want.key()] = want
		reads = append(reads, want)
	}
	e.readAll(r.Context(), inherited(r.Header), reads)
	for i, want := range wanted {
		if outcomes[i] == nil {
			outcomes[i] = want.outcome
		}
	}
	return outcomes
}

// spend takes each item from the budget of its endpoint, one by one even where
// items are identical, and refuses those that it has no room for.
func (e *Endpoint) spend(w http.ResponseWriter, r *http.Request, wanted []*read, outcomes []*outcome) {
	members := map[string][]int{} // policy to items
	var order []string
	for i, want := range wanted {
		if want == nil {
			continue
		}
		policy := want.row.RatePolicy
		if members[policy] == nil {
			order = append(order, policy)
		}
		members[policy] = append(members[policy], i)
	}
	for _, policy := range order {
		admitted, reset := e.Limiter.TakeN(w, r, policy, len(members[policy]))
		for _, i := range members[policy][min(admitted, len(members[policy])):] {
			outcomes[i] = e.overBudget(policy, reset)
		}
	}
}

// inherited is what an item's request takes over from the batch's.
func inherited(h http.Header) http.Header {
	out := http.Header{}
	if language := h["Accept-Language"]; language != nil {
		out["Accept-Language"] = language
	}
	return out
}

func (e *Endpoint) observe(r *http.Request, outcomes []*outcome) {
	exchange.FromContext(r.Context()).Note(slog.Int("items", len(outcomes)))
	if e.Observe == nil {
		return
	}
	statuses := map[int]int{}
	for _, o := range outcomes {
		statuses[o.status]++
	}
	e.Observe(statuses)
}
