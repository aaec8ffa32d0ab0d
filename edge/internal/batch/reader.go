package batch

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"sync"
	"time"

	"github.com/kith-crm/kith/edge/internal/exchange"
	"github.com/kith-crm/kith/edge/internal/problem"
)

// Bounds of the work for one batch.
const (
	// parallel is how many reads of one batch run at a time.
	parallel = 8
	// itemDeadline and totalDeadline bound one read and all of them.
	itemDeadline  = 5 * time.Second
	totalDeadline = 10 * time.Second
	// maxItemBody and maxTotalBody bound the answers, in bytes.
	maxItemBody  = 256 << 10
	maxTotalBody = 2 << 20
)

// outcome is the answer to a read. It is shared by the items that asked for it.
type outcome struct {
	status      int
	contentType string
	body        []byte
}

// readAll makes each read of the map once and fills in its outcome.
func (e *Endpoint) readAll(ctx context.Context, header http.Header, reads map[string]*read) map[string]*outcome {
	ctx, cancel := context.WithTimeout(ctx, totalDeadline)
	defer cancel()
	if e.Preload != nil {
		ctx = e.Preload(ctx, profilesOf(reads))
	}
	outcomes := make(map[string]*outcome, len(reads))
	var mu sync.Mutex
	var group sync.WaitGroup
	places := make(chan struct{}, parallel)
	for key, r := range reads {
		places <- struct{}{}
		group.Go(func() {
			defer func() { <-places }()
			o := e.readOne(ctx, header, r)
			mu.Lock()
			defer mu.Unlock()
			outcomes[key] = o
		})
	}
	group.Wait()
	return outcomes
}

// readOne has the row's own handler answer.
func (e *Endpoint) readOne(ctx context.Context, header http.Header, r *read) *outcome {
	ctx, cancel := context.WithTimeout(ctx, itemDeadline)
	defer cancel()
	inner := (&http.Request{
		Method: http.MethodGet, URL: &url.URL{Path: r.target[:len(r.target)-lengthOfQuery(r)], RawQuery: r.query},
		Header: header, Body: http.NoBody, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, RequestURI: r.target,
	}).WithContext(ctx)
	rec := &recorder{header: http.Header{}}
	if !e.serve(rec, inner, r) {
		return e.problem(inner, problem.Internal, "The error was logged under the id of this request.")
	}
	if ctx.Err() != nil && rec.status == 0 {
		return e.problem(inner, problem.Unavailable, "The read took too long.")
	}
	if rec.tooLarge {
		return e.problem(inner, problem.AnswerTooLarge, "The answer is too large for a batch: ask for it alone.")
	}
	return &outcome{status: rec.status, contentType: rec.header.Get("Content-Type"), body: rec.body}
}

// serve calls the handler. A panic is that item's own: nobody above this
// goroutine would catch it.
func (e *Endpoint) serve(rec *recorder, inner *http.Request, r *read) (ok bool) {
	defer func() {
		if cause := recover(); cause != nil {
			e.Logger.LogAttrs(inner.Context(), slog.LevelError, "panic", slog.String("request_id", exchange.RequestID(inner.Context())),
				slog.Any("panic", cause), slog.String("stack", string(debug.Stack())))
			ok = false
		}
	}()
	e.Handlers[r.row.HandlerName()](rec, inner, r.argument)
	return true
}

func lengthOfQuery(r *read) int {
	if r.query == "" {
		return 0
	}
	return len(r.query) + 1
}

// problem is an outcome of the batch's own making.
func (e *Endpoint) problem(r *http.Request, code problem.Code, detail string) *outcome {
	rec := &recorder{header: http.Header{}}
	e.Problems.Write(rec, r, code, detail)
	return &outcome{status: rec.status, contentType: rec.header.Get("Content-Type"), body: rec.body}
}

// profilesOf returns the parameters of the reads that go by one: usernames.
func profilesOf(reads map[string]*read) []string {
	var usernames []string
	for _, r := range reads {
		if r.argument != "" {
			usernames = append(usernames, r.argument)
		}
	}
	return usernames
}

// recorder takes an answer into memory, up to a bound.
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
