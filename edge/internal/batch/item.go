package batch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/kith-crm/kith/edge/internal/httpapi"
	"github.com/kith-crm/kith/edge/internal/requestlog"
	"github.com/kith-crm/kith/edge/internal/route"
)

// Bounds of a batch. MaxItems is the specification's.
const (
	MaxItems = 20
	// maxBody is in bytes: enough for twenty long directory queries.
	maxBody = 128 << 10
	// maxID is in bytes.
	maxID = 128
	// maxParameters is how many query parameters an item may have.
	maxParameters = 16
)

// body is the body of a batch.
type body struct {
	Requests *[]request `json:"requests"`
}

// request is an item as it was sent.
type request struct {
	ID    *string              `json:"id"`
	Path  *string              `json:"path"`
	Query map[string]parameter `json:"query"`
}

// parameter is a query parameter's value: a string or an integer.
type parameter string

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (p *parameter) UnmarshalJSONFrom(decoder *jsontext.Decoder) error {
	token, err := decoder.ReadToken()
	if err != nil {
		return err
	}
	switch token.Kind() {
	case '"':
		*p = parameter(token.String())
		return nil
	case '0':
		if n, err := strconv.ParseInt(token.String(), 10, 64); err == nil {
			*p = parameter(strconv.FormatInt(n, 10))
			return nil
		}
	}
	return errors.New("must be a string or an integer")
}

// item is a request of a valid body.
type item struct {
	id, path string
	query    url.Values
}

// items returns the items of a body, or the errors of an invalid one.
func (b body) items() ([]item, []httpapi.Field) {
	switch {
	case b.Requests == nil:
		return nil, []httpapi.Field{{Field: "requests", Message: "is required: a list of 1 to 20 items"}}
	case len(*b.Requests) == 0 || len(*b.Requests) > MaxItems:
		return nil, []httpapi.Field{{
			Field: "requests", Message: fmt.Sprintf("takes 1 to %d items, and there are %d", MaxItems, len(*b.Requests)),
		}}
	}
	return check(*b.Requests)
}

func check(requests []request) ([]item, []httpapi.Field) {
	items := make([]item, len(requests))
	seen := make(map[string]bool, len(requests))
	var faults []httpapi.Field
	for i, r := range requests {
		fault := func(field, message string) {
			faults = append(faults, httpapi.Field{Field: fmt.Sprintf("requests[%d].%s", i, field), Message: message})
		}
		switch {
		case r.ID == nil || *r.ID == "":
			fault("id", "is required: it is echoed on the answer")
		case len(*r.ID) > maxID:
			fault("id", fmt.Sprintf("takes %d bytes at most", maxID))
		case seen[*r.ID]:
			fault("id", "is used twice in this batch")
		default:
			seen[*r.ID] = true
			items[i].id = *r.ID
		}
		if r.Path == nil {
			fault("path", "is required: the path of a read")
		} else {
			items[i].path = *r.Path
		}
		if len(r.Query) > maxParameters {
			fault("query", fmt.Sprintf("takes %d parameters at most", maxParameters))
			continue
		}
		items[i].query = values(r.Query)
	}
	return items, faults
}

func values(query map[string]parameter) url.Values {
	if len(query) == 0 {
		return nil
	}
	v := make(url.Values, len(query))
	for name, value := range query {
		v.Set(name, string(value))
	}
	return v
}

// Readable is an entry of the allowlist in refusals: a batchable read.
type Readable struct {
	Method string   `json:"method"`
	Path   string   `json:"path"`
	Query  []string `json:"query"`
}

// Allowlist returns the batchable reads among the routes.
func Allowlist(routes []route.Route) []Readable {
	var list []Readable
	for _, r := range batchable(routes) {
		query := r.Query
		if query == nil {
			query = []string{}
		}
		list = append(list, Readable{Method: r.Methods[0], Path: r.Pattern, Query: query})
	}
	return list
}

func batchable(routes []route.Route) []route.Route {
	var out []route.Route
	for _, r := range routes {
		if r.Batchable {
			out = append(out, r)
		}
	}
	return out
}

// read is the request of one or more items, and its answer.
type read struct {
	route    route.Route
	argument string
	path     string
	query    string
	outcome  *outcome
}

// key is equal for equal requests.
func (r *read) key() string { return r.route.Name + " " + r.argument + "?" + r.query }

func (r *read) target() string {
	if r.query == "" {
		return r.path
	}
	return r.path + "?" + r.query
}

// resolve finds the route of an item; nil if it is not a batchable read.
func (e *Endpoint) resolve(path string, query url.Values) *read {
	found, argument, ok := e.matcher.Find(path)
	if !ok {
		return nil
	}
	r := &read{route: found, argument: argument, path: path}
	if len(query) > 0 {
		r.query = query.Encode()
	}
	return r
}

// Limits of the work for one batch.
const (
	// parallel is how many reads of one batch run at a time.
	parallel = 4
	// itemDeadline limits one read, totalDeadline the whole batch.
	itemDeadline  = 5 * time.Second
	totalDeadline = 10 * time.Second
	// maxItemBody and maxTotalBody bound the answers, in bytes.
	maxItemBody  = 256 << 10
	maxTotalBody = 2 << 20
)

// outcome is the answer to a read. Items with equal requests share it.
type outcome struct {
	status      int
	contentType string
	body        []byte
}

// places returns how many places of the concurrency limiter a batch takes: one for each processor
// that it keeps busy.
func places(items int) int { return min(parallel, runtime.GOMAXPROCS(0), items) }

// readAll makes each of the reads once and fills in its outcome.
func (e *Endpoint) readAll(ctx context.Context, header http.Header, reads []*read) {
	ctx, cancel := context.WithTimeout(ctx, totalDeadline)
	defer cancel()
	if e.Preload != nil {
		ctx = e.Preload(ctx, profilesOf(reads))
	}
	queue := make(chan *read, len(reads))
	for _, r := range reads {
		queue <- r
	}
	close(queue)
	var group sync.WaitGroup
	for range min(parallel, len(reads)) {
		group.Go(func() {
			for r := range queue {
				r.outcome = e.readOne(ctx, header, r)
			}
		})
	}
	group.Wait()
}

// readOne answers a read with the route's handler.
func (e *Endpoint) readOne(ctx context.Context, header http.Header, r *read) *outcome {
	ctx, cancel := context.WithTimeout(ctx, itemDeadline)
	defer cancel()
	inner := (&http.Request{
		Method: http.MethodGet, URL: &url.URL{Path: r.path, RawQuery: r.query},
		Header: header, Body: http.NoBody, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, RequestURI: r.target(),
	}).WithContext(ctx)
	rec := &recorder{header: make(http.Header, 8)}
	if !e.serve(rec, inner, r) {
		return e.problem(inner, httpapi.Internal, "The error was logged under the id of this request.")
	}
	if ctx.Err() != nil && rec.status == 0 {
		return e.problem(inner, httpapi.Unavailable, "The read took too long.")
	}
	if rec.tooLarge {
		return e.problem(inner, httpapi.AnswerTooLarge, "The answer is too large for a batch: ask for it alone.")
	}
	return &outcome{status: rec.status, contentType: rec.header.Get("Content-Type"), body: rec.body}
}

// serve calls the handler. A panic fails that item only. It is recovered here because net/http does
// not recover panics of other goroutines.
func (e *Endpoint) serve(rec *recorder, inner *http.Request, r *read) (ok bool) {
	defer func() {
		if cause := recover(); cause != nil {
			e.Logger.LogAttrs(inner.Context(), slog.LevelError, "panic", slog.String("request_id", requestlog.RequestID(inner.Context())),
				slog.Any("panic", cause), slog.String("stack", string(debug.Stack())))
			ok = false
		}
	}()
	r.route.Handle(rec, inner, r.argument)
	return true
}

// problem returns the outcome of an item that the batch endpoint refuses.
func (e *Endpoint) problem(r *http.Request, code httpapi.Code, detail string) *outcome {
	rec := &recorder{header: http.Header{}}
	e.Problems.Write(rec, r, code, detail)
	return &outcome{status: rec.status, contentType: rec.header.Get("Content-Type"), body: rec.body}
}

// profilesOf returns the path parameters of the reads that have one, which are usernames.
func profilesOf(reads []*read) []string {
	var usernames []string
	for _, r := range reads {
		if r.argument != "" {
			usernames = append(usernames, r.argument)
		}
	}
	return usernames
}

// recorder is a response writer that stores the answer in memory, up to a size limit.
type recorder struct {
	header   http.Header
	status   int
	body     []byte
	tooLarge bool
}

func (r *recorder) Header() http.Header { return r.header }

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
}

func (r *recorder) Write(p []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	if len(r.body)+len(p) > maxItemBody {
		r.tooLarge = true
		return len(p), nil
	}
	r.body = append(r.body, p...)
	return len(p), nil
}
