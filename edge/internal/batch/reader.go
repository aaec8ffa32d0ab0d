package batch

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/kith-crm/kith/edge/internal/exchange"
	"github.com/kith-crm/kith/edge/internal/problem"
)

// Bounds of the work for one batch.
const (
	// parallel is how many reads of one batch run at a time.
	parallel = 4
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

// places is for how many requests a batch counts: as many as the processors that it
// keeps busy.
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

// readOne has the row's own handler answer.
func (e *Endpoint) readOne(ctx context.Context, header http.Header, r *read) *outcome {
	ctx, cancel := context.WithTimeout(ctx, itemDeadline)
	defer cancel()
	inner := (&http.Request{
		Method: http.MethodGet, URL: &url.URL{Path: r.path, RawQuery: r.query},
		Header: header, Body: http.NoBody, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, RequestURI: r.target(),
	}).WithContext(ctx)
	rec := &recorder{header: make(http.Header, 8)}
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

// problem is an outcome of the batch's own making.
func (e *Endpoint) problem(r *http.Request, code problem.Code, detail string) *outcome {
	rec := &recorder{header: http.Header{}}
	e.Problems.Write(rec, r, code, detail)
	return &outcome{status: rec.status, contentType: rec.header.Get("Content-Type"), body: rec.body}
}

// profilesOf returns the parameters of the reads that go by one: usernames.
func profilesOf(reads []*read) []string {
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
