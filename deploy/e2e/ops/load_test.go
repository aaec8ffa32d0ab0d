package ops

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// load is the clients and their requests until stop is called.
type load struct {
	site   *site
	record *record
	end    context.CancelFunc
	wait   sync.WaitGroup

	writers []*writer
}

// writer is a member whose agent writes, and reads everything back at the end.
type writer struct {
	*client
	person  string // the connection that notes are about
	written []*idempotentWrite

	read, exported int // pages of the timeline and of the export that were read
}

// idempotentWrite is a write that must take effect once, however often it is sent.
type idempotentWrite struct {
	tool, mark string // the mark is a text that only this write stores
	attempts   int
	answered   bool
	replayed   bool // the answer was a replay of an earlier attempt
}

// The number of clients, and how often each sends a request.
const (
	writers, readers, visitors = 6, 6, 6

	pace    = 100 * time.Millisecond
	oddPace = 500 * time.Millisecond
	backOff = 50 * time.Millisecond
)

// newLoad starts the clients.
func newLoad(t *testing.T, s *site) *load {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	l := &load{site: s, record: &record{}, end: end}
	for range writers {
		w := newWriter(t, s)
		l.writers = append(l.writers, w)
		l.every(ctx, pace, func(n int) { l.write(t.Context(), w, n) })
	}
	l.read(ctx, t)
	odd := newOdd(t, s)
	l.every(ctx, oddPace, func(n int) { odd.do(ctx, n) })
	t.Cleanup(l.stop)
	return l
}

// stop stops the clients and waits for their current requests.
func (l *load) stop() {
	l.end()
	l.wait.Wait()
}

// every calls the function at a fixed interval.
func (l *load) every(ctx context.Context, pace time.Duration, do func(n int)) {
	l.wait.Go(func() {
		ticker := time.NewTicker(pace)
		defer ticker.Stop()
		for n := 0; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				do(n)
			}
		}
	})
}

// observe sends a request and records its outcome. Stopping the load does not cancel writes;
// other requests that it cancels are not recorded.
func (l *load) observe(ctx context.Context, what string, send func() (answer, error)) (answer, error) {
	began := time.Now()
	got, err := send()
	if ctx.Err() != nil {
		return got, err
	}
	s := sample{began: began, took: time.Since(began), what: what}
	if err != nil {
		s.failed = err.Error()
	}
	l.record.keep(s)
	return got, err
}

func newWriter(t *testing.T, s *site) *writer {
	t.Helper()
	_, _, token := s.member("pro")
	w := &writer{client: s.client(token)}
	created := w.result(t, "create_connection", arguments{"name": companion})
	connection, _ := created["connection"].(map[string]any)
	w.person, _ = connection["id"].(string)
	return w
}

// companion is the name of the connection that every writer starts with.
const companion = "Constant Companion"

// write sends one write until it is answered.
func (l *load) write(ctx context.Context, by *writer, n int) {
	w := &idempotentWrite{mark: rand.Text()}
	var args arguments
	switch n % 3 {
	case 0:
		w.tool, args = "create_connection", arguments{"name": w.mark, "on_duplicate": "create"}
	case 1:
		w.tool, args = "add_note", arguments{"connection_ids": []string{by.person}, "body": w.mark}
	default:
		w.tool, args = "log_interaction", arguments{"connection_ids": []string{by.person}, "kind": "call", "summary": w.mark}
	}
	by.written = append(by.written, w)
	key, body, began := "Idempotency-Key: "+rand.Text(), toolCall(w.tool, args), time.Now()
	for ctx.Err() == nil {
		w.attempts++
		got, err := l.observe(ctx, "write", func() (answer, error) { return by.call(ctx, body, key) })
		switch {
		case err == nil && got.done():
			w.answered, w.replayed = true, got.header.Get("Idempotency-Replayed") == "true"
			l.record.mu.Lock()
			l.record.waits = append(l.record.waits, wait{began, time.Now()})
			l.record.mu.Unlock()
			return
		case err == nil && got.status != http.StatusConflict: // 409: the first attempt is still running
			l.record.fault(fmt.Errorf("%s: got %d %s", w.tool, got.status, got.body))
			return
		}
		<-time.After(backOff)
	}
}

// read makes members search and look up connections, and visitors read public data.
func (l *load) read(ctx context.Context, t *testing.T) {
	t.Helper()
	_, _, token := l.site.member("pro")
	member := l.site.client(token)
	for i := range 40 {
		member.result(t, "create_connection", arguments{"name": fmt.Sprintf("Reader's Friend %c%c", 'A'+i/20, 'A'+i%20), "location": "Lisbon"})
	}
	for range readers {
		c := l.site.client(token)
		l.every(ctx, pace, func(n int) {
			body := toolCall("search_connections", arguments{"query": "friend"})
			if n%3 == 0 {
				body = toolCall("get_account", arguments{})
			}
			got, err := l.observe(ctx, "read", func() (answer, error) { return c.call(ctx, body) })
			if err == nil && !got.done() {
				l.record.fault(fmt.Errorf("a read: got %d %s", got.status, got.body))
			}
		})
	}
	for range visitors {
		c := l.site.client("")
		l.every(ctx, pace, func(n int) {
			path := "/api/human/demo"
			if n%3 == 0 {
				path = "/api/network/members?q=climate&per_page=5"
			}
			got, err := l.observe(ctx, "public", func() (answer, error) { return c.send(ctx, http.MethodGet, path, "") })
			if err == nil && got.status != http.StatusOK {
				l.record.fault(fmt.Errorf("%s: got %d %s", path, got.status, got.body))
			}
		})
	}
}

// odd sends the rarer kinds of requests, so that the dashboards show data. Their answers are
// not checked.
type odd struct {
	site               *site
	member, poor, no   *client
	username, password string
}

func newOdd(t *testing.T, s *site) *odd {
	t.Helper()
	o := &odd{site: s, no: s.client("kith_pat_unknown")}
	var token string
	o.username, o.password, token = s.member("pro")
	o.member = s.client(token)
	_, _, token = s.member("free")
	o.poor = s.client(token)
	o.member.result(t, "create_connection", arguments{"name": "Maria Silva", "location": "Lisbon"})
	return o
}

func (o *odd) do(ctx context.Context, n int) {
	things := []func(context.Context){
		func(ctx context.Context) { o.batch(ctx) },
		func(ctx context.Context) {
			file := fmt.Sprintf("First Name,Last Name,Email Address\nGiven,%s,%s@mail.example\n", rand.Text(), rand.Text())
			_, _ = o.member.call(ctx, toolCall("import_file", arguments{"filename": "people.csv", "content": file}))
		},
		func(ctx context.Context) { _, _ = o.member.call(ctx, toolCall("embed_objects", arguments{})) },
		func(ctx context.Context) {
			_, _ = o.member.call(ctx, toolCall("search_connections", arguments{"query": "Mario", "mode": "semantic"}))
		},
		func(ctx context.Context) { // a repeated request, and another body with the same key
			body, key := toolCall("create_connection", arguments{"name": rand.Text()}), "Idempotency-Key: "+rand.Text()
			_, _ = o.member.call(ctx, body, key)
			_, _ = o.member.call(ctx, body, key)
			_, _ = o.member.call(ctx, toolCall("create_connection", arguments{"name": rand.Text()}), key)
		},
		func(ctx context.Context) {
			_, _ = o.member.call(ctx, toolCall("create_connection", arguments{"nobody": true}))
		},
		func(ctx context.Context) { _, _ = o.no.call(ctx, toolCall("get_account", arguments{})) },
		func(ctx context.Context) { // until and after the credits are spent
			for range 4 {
				_, _ = o.poor.call(ctx, toolCall("create_connection", arguments{"name": rand.Text()}))
			}
		},
		func(ctx context.Context) { // callers that disconnect are not errors of Kith
			for range 20 {
				_, _ = o.member.send(ctx, http.MethodGet, "/api/human/demo", "") // opens a connection
				hurry, leave := context.WithTimeout(ctx, 2*time.Millisecond)
				_, _ = o.member.call(hurry, toolCall("create_connection", arguments{"name": rand.Text()}))
				leave()
			}
		},
		func(ctx context.Context) { o.signIn(ctx, o.password) },
		func(ctx context.Context) { o.signIn(ctx, "not the password") },
		func(ctx context.Context) {
			_, _ = o.no.send(ctx, http.MethodPost, "/oauth/register", `{"redirect_uris":["https://a.example/cb"]}`, jsonType)
			_, _ = o.no.send(ctx, http.MethodPost, "/oauth/token", "grant_type=refresh_token&refresh_token=x&client_id=y", formType)
		},
	}
	things[n%len(things)](ctx)
}

func (o *odd) batch(ctx context.Context) {
	const items = `{"requests":[{"id":"1","path":"/api/network/members"},{"id":"2","path":"/api/human/demo"},{"id":"3","path":"/nothing"}]}`
	for range 3 {
		_, _ = o.no.send(ctx, http.MethodPost, "/api/batch", items, jsonType)
	}
}

var inputPattern = regexp.MustCompile(`<input[^>]* name="([^"]*)"[^>]* value="([^"]*)"`)

// signIn requests the sign-in page and submits its form, like a browser.
func (o *odd) signIn(ctx context.Context, password string) {
	browser := o.site.client("")
	defer browser.http.CloseIdleConnections()
	browser.http.Jar, _ = cookiejar.New(nil) // without options it cannot fail
	page, err := browser.send(ctx, http.MethodGet, "/sign-in", "")
	if err != nil {
		return
	}
	values := url.Values{"login": {o.username}, "password": {password}}
	for _, input := range inputPattern.FindAllStringSubmatch(page.body, -1) {
		if !values.Has(input[1]) {
			values.Add(input[1], strings.ReplaceAll(input[2], "&#43;", "+"))
		}
	}
	_, _ = browser.send(ctx, http.MethodPost, "/sign-in", values.Encode(), formType, "Origin: "+o.site.base)
}
