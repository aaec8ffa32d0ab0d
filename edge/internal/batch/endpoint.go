// Package batch serves POST /api/batch: up to 20 public reads in one request.
//
//	items ──▶ resolve ──▶ spend ──▶ read ──▶ answer
//
// An invalid body is a 400 for the whole batch. Otherwise the batch is a 200 and each item has a
// status of its own, in the order sent: 403 for an item that is not a batchable read, 400 for a
// credential in its query, 429 when the rate policy of its endpoint refuses it. The handlers of
// single reads answer the other items, within the batch's limits of time and size. Identical reads
// are made once, and each of them counts.
package batch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/kith-crm/kith/edge/internal/httpapi"
	"github.com/kith-crm/kith/edge/internal/ratelimit"
	"github.com/kith-crm/kith/edge/internal/requestlog"
	"github.com/kith-crm/kith/edge/internal/route"
)

// Limiter counts items under the rate policies of their endpoints.
type Limiter interface {
	// TakeN counts n requests under a policy for the caller of r. It returns how many are admitted,
	// starting with the first, and when the window ends. It writes the RateLimit headers.
	TakeN(w http.ResponseWriter, r *http.Request, policy string, n int) (admitted int, reset time.Duration)
}

// Options configure the endpoint. All but Preload and Observe are required.
type Options struct {
	// Routes are the live routes; the batchable ones can be items.
	Routes   []route.Route
	Limiter  Limiter
	Problems *httpapi.Problems
	Logger   *slog.Logger
	// BaseURL is the public address, without a slash at the end.
	BaseURL string
	// Preload returns a context with which handlers read the profiles of these usernames
	// in one call.
	Preload func(ctx context.Context, usernames []string) context.Context
	// Observe is called for each batch with the number of items per status.
	Observe func(statuses map[int]int)
}

// Endpoint serves batches. It is safe for concurrent use.
type Endpoint struct {
	Options

	matcher      *route.Matcher
	notBatchable *outcome
	queryInPath  *outcome
	full         *outcome
}

// RouteBatch is the name of the route.
const RouteBatch = "batch"

// Routes returns the route of batches. o.Routes is set to the live routes.
func Routes(o Options) []route.Route {
	return []route.Route{{
		Name: RouteBatch, Methods: []string{http.MethodPost}, Pattern: "/api/batch", State: route.Current, Protocol: route.HTTP,
		Anonymous: true, RatePolicy: ratelimit.PolicyBatch,
		Summary: "Up to 20 of the batchable reads in one request; each item has its own status.",
		Build: func(live []route.Route) (route.Handler, error) {
			o.Routes = live
			e, err := New(o)
			if err != nil {
				return nil, err
			}
			return e.Serve, nil
		},
	}}
}

// New builds the endpoint. It fails if an option is missing.
func New(o Options) (*Endpoint, error) {
	if o.Limiter == nil || o.Problems == nil || o.Logger == nil || o.BaseURL == "" {
		return nil, errors.New("build batch: limiter, problems, logger and base URL are required")
	}
	matcher, err := route.NewMatcher(batchable(o.Routes))
	if err != nil {
		return nil, fmt.Errorf("build batch: %w", err)
	}
	e := &Endpoint{Options: o, matcher: matcher}
	refused := e.refuse(httpapi.NotBatchable, "Only the reads listed in batchable can be items of a batch.")
	refused.Batchable = Allowlist(o.Routes)
	e.notBatchable = refused.marshal()
	refused.Detail = "A path of an item has no query string: pass its parameters in query."
	e.queryInPath = refused.marshal()
	e.full = e.refuse(httpapi.AnswerTooLarge, "The answer to this batch is too large: request this item in another batch.").marshal()
	return e, nil
}

// Serve implements route.Handler.
func (e *Endpoint) Serve(w http.ResponseWriter, r *http.Request, _ string) {
	var sent body
	if !httpapi.ReadJSON(w, r, e.Problems, maxBody, &sent) {
		return
	}
	items, faults := sent.items()
	if len(faults) > 0 {
		e.Problems.Write(w, r, httpapi.InvalidParameter, "The batch is not valid.", faults...)
		return
	}
	release, ok := requestlog.FromContext(r.Context()).AcquireMore(r.Context(), places(len(items))-1)
	if !ok {
		e.Problems.Write(w, r, httpapi.Unavailable, httpapi.BusyDetail)
		return
	}
	defer release()
	outcomes := e.answer(w, r, items)
	e.observe(r, outcomes)
	answer, err := e.encode(items, outcomes)
	if err != nil { // all bodies are JSON that the handlers of reads have written
		e.Problems.Write(w, r, httpapi.Internal, httpapi.InternalDetail)
		return
	}
	httpapi.WriteJSON(w, r, http.StatusOK, answer)
}

// answer returns the outcome of each item, in their order.
func (e *Endpoint) answer(w http.ResponseWriter, r *http.Request, items []item) []*outcome {
	outcomes := make([]*outcome, len(items))
	wanted := make([]*read, len(items))
	for i, it := range items {
		wanted[i] = e.resolve(it.path, it.query)
		switch {
		case wanted[i] == nil && strings.Contains(it.path, "?"):
			outcomes[i] = e.queryInPath
		case wanted[i] == nil:
			outcomes[i] = e.notBatchable
		case route.CarriesCredential(it.query):
			wanted[i] = nil
			outcomes[i] = e.problem(r, httpapi.CredentialInQuery, "A credential in the query string is never accepted.")
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

// spend counts each item, also identical ones, on the rate policy of its endpoint, and refuses the
// items over the limit.
func (e *Endpoint) spend(w http.ResponseWriter, r *http.Request, wanted []*read, outcomes []*outcome) {
	members := map[string][]int{} // policy to items
	var order []string
	for i, want := range wanted {
		if want == nil {
			continue
		}
		policy := want.route.RatePolicy
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

// inherited returns the headers that items take from the batch's request.
func inherited(h http.Header) http.Header {
	out := http.Header{}
	if language := h["Accept-Language"]; language != nil {
		out["Accept-Language"] = language
	}
	return out
}

func (e *Endpoint) observe(r *http.Request, outcomes []*outcome) {
	requestlog.FromContext(r.Context()).Note(slog.Int("items", len(outcomes)))
	if e.Observe == nil {
		return
	}
	statuses := map[int]int{}
	for _, o := range outcomes {
		statuses[o.status]++
	}
	e.Observe(statuses)
}

// refusal is the body of an item that the batch endpoint refuses.
type refusal struct {
	httpapi.Problem

	Batchable  []Readable `json:"batchable,omitempty"`
	Policy     string     `json:"policy,omitzero"`
	RetryAfter int        `json:"retry_after,omitzero"`
}

func (e *Endpoint) refuse(code httpapi.Code, detail string) refusal {
	return refusal{Problem: e.Problems.Problem(code, detail)}
}

// marshal converts a refusal to an outcome.
func (r refusal) marshal() *outcome {
	body, err := json.Marshal(r)
	if err != nil { // strings and numbers do not fail
		body = []byte("null")
	}
	return &outcome{status: r.Status, contentType: "application/problem+json", body: body}
}

// overBudget returns the outcome of an item that the rate policy of its endpoint refuses.
func (e *Endpoint) overBudget(policy string, reset time.Duration) *outcome {
	seconds := max(1, int((reset+time.Second-1)/time.Second))
	r := e.refuse(httpapi.RateLimited, "The budget of this endpoint is used up; the other items are not affected.")
	r.Policy, r.Violated, r.RetryAfter = policy, []string{policy}, seconds
	return r.marshal()
}

// batchJSON is the answer to a batch.
type batchJSON struct {
	Object    string         `json:"object"`
	Count     int            `json:"count"`
	Responses []responseJSON `json:"responses"`
}

// responseJSON is the answer to an item. It has Body or Text.
type responseJSON struct {
	ID     string         `json:"id"`
	Status int            `json:"status"`
	Body   jsontext.Value `json:"body,omitzero"`
	Text   *string        `json:"text,omitzero"`
}

// encode returns the JSON body of the answer to a batch. outcomes has one entry for each item.
func (e *Endpoint) encode(items []item, outcomes []*outcome) ([]byte, error) {
	const aroundItem = 64 // about the bytes of an item in addition to its id and its body
	answer, size := batchJSON{Object: "batch", Count: len(items)}, 0
	for i, it := range items {
		o := outcomes[i]
		if size+len(o.body) > maxTotalBody {
			o = e.full
		}
		size += aroundItem + len(it.id) + len(o.body)
		response := responseJSON{ID: it.id, Status: o.status}
		if isJSON(o.contentType) {
			response.Body = o.body
		} else {
			response.Text = new(string(o.body))
		}
		answer.Responses = append(answer.Responses, response)
	}
	return json.Marshal(answer, jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true))
}

// isJSON reports whether a body is JSON, which is copied to the answer unchanged.
func isJSON(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	return media == "application/json" || strings.HasSuffix(media, "+json")
}
