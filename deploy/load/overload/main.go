// Command overload sends a running Kith more requests than it can handle, and measures the
// admitted ones.
//
//	overload -url http://127.0.0.1:PORT -for 60s [-times 4] [-slow 1000]
//
// It measures in this order: requests one at a time (unloaded), requests per second
// (capacity), an open-loop load of -times the capacity, and whether latency is normal
// again within five seconds. With -slow, it measures a normal client among that many
// clients that never finish a request. The exit code is 1 if a limit is exceeded.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// The limits.
const (
	maxSlowdown = 5.0 // times the unloaded p99
	recoverIn   = 5 * time.Second
	loadWorkers = 2048 // maximum requests in flight; the client does not send more
	// ending is how long before the end of the load a request may still be queued when the
	// load ends. It is then answered after up to a second, which says nothing about a
	// service under load.
	ending = 1500 * time.Millisecond
)

func main() {
	url := flag.String("url", "http://127.0.0.1:8080", "address of the service")
	duration := flag.Duration("for", time.Minute, "duration of the overload")
	times := flag.Float64("times", 4, "load as a multiple of the capacity")
	slow := flag.Int("slow", 0, "number of slow clients")
	flag.Parse()
	if err := run(context.Background(), *url, *duration, *times, *slow); err != nil {
		fmt.Fprintln(os.Stderr, "overload:", err)
		os.Exit(1)
	}
}

func say(format string, args ...any) { _, _ = fmt.Fprintf(os.Stdout, format, args...) }

func run(ctx context.Context, url string, duration time.Duration, times float64, slow int) error {
	c := newClient(url)
	if slow > 0 {
		return c.amongSlowClients(ctx, duration, slow)
	}
	unloaded := c.sequential(ctx, 200)
	say("one at a time: p50 %s, p99 %s\n", percentile(unloaded, 50), percentile(unloaded, 99))
	capacity := c.capacity(ctx, 5*time.Second)
	say("capacity: %.0f answers/s\n", capacity)
	r := c.open(ctx, duration, capacity*times)
	say("load of %.0f/s for %s: %d sent, %d admitted (%.0f/s), %d refused with 503, %d other, %d not sent by this client\n",
		capacity*times, duration, r.sent, len(r.admitted)+len(r.ended), float64(len(r.admitted)+len(r.ended))/duration.Seconds(), r.refused, r.other, r.unsent)
	p99 := percentile(r.admitted, 99)
	ratio := float64(p99) / float64(percentile(unloaded, 99))
	say("admitted: p50 %s, p99 %s, %.1f times the unloaded p99 (at most %.0f)\n", percentile(r.admitted, 50), p99, ratio, maxSlowdown)
	say("admitted after the end of the load: %d, p50 %s, p99 %s\n",
		len(r.ended), percentile(r.ended, 50), percentile(r.ended, 99))
	say("refused: p50 %s, p99 %s, Retry-After on all: %v\n", percentile(r.refusals, 50), percentile(r.refusals, 99), r.retryAfter)
	start := time.Now()
	for time.Since(start) < recoverIn {
		if after := c.sequential(ctx, 50); percentile(after, 90) <= 2*percentile(unloaded, 90) {
			say("normal again after %s\n", time.Since(start).Round(time.Millisecond))
			start = time.Time{}
			break
		}
	}
	switch {
	case !start.IsZero():
		return fmt.Errorf("latency was not normal within %s", recoverIn)
	case r.other > 0:
		return fmt.Errorf("%d requests ended neither in a response nor in a 503", r.other)
	case ratio > maxSlowdown:
		return fmt.Errorf("the admitted requests were %.1f times slower", ratio)
	case !r.retryAfter:
		return fmt.Errorf("a 503 had no Retry-After")
	}
	return nil
}

// client sends one kind of request: a batch of 20 directory searches, which costs far
// more to answer than to send.
type client struct {
	http *http.Client
	url  string
	body string
}

func newClient(url string) *client {
	var items []string
	for i := range 20 {
		items = append(items, fmt.Sprintf(`{"id":"%d","path":"/api/network/members","query":{"q":"%c","per_page":50}}`, i, 'a'+i))
	}
	return &client{
		http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: loadWorkers, MaxConnsPerHost: loadWorkers}, Timeout: 30 * time.Second},
		url:  url + "/api/batch", body: `{"requests":[` + strings.Join(items, ",") + `]}`,
	}
}

// answer is the result of one request.
type answer struct {
	status     int
	took       time.Duration
	retryAfter bool
}

func (c *client) send(ctx context.Context) answer {
	start := time.Now()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, strings.NewReader(c.body))
	if err != nil {
		return answer{}
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := c.http.Do(req)
	if err != nil {
		return answer{took: time.Since(start)}
	}
	body, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err != nil || res.StatusCode == http.StatusOK && !bytes.Contains(body, []byte(`"count":20`)) {
		return answer{took: time.Since(start)}
	}
	return answer{status: res.StatusCode, took: time.Since(start), retryAfter: res.Header.Get("Retry-After") != ""}
}

func (c *client) sequential(ctx context.Context, n int) []time.Duration {
	var took []time.Duration
	for range n {
		if a := c.send(ctx); a.status == http.StatusOK {
			took = append(took, a.took)
		}
	}
	return took
}

// capacity returns the requests per second of four concurrent clients.
func (c *client) capacity(ctx context.Context, d time.Duration) float64 {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	var mu sync.Mutex
	n := 0
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for ctx.Err() == nil {
				if a := c.send(ctx); a.status == http.StatusOK {
					mu.Lock()
					n++
					mu.Unlock()
				}
			}
		})
	}
	group.Wait()
	return float64(n) / d.Seconds()
}

// result is the outcome of an open-loop load.
type result struct {
	sent, refused, other, unsent int
	admitted, refusals           []time.Duration
	ended                        []time.Duration // admitted, sent at the end of the load
	retryAfter                   bool
}

// open sends requests at a constant rate, whether or not responses arrive.
func (c *client) open(ctx context.Context, d time.Duration, perSecond float64) result {
	r := result{retryAfter: true}
	var mu sync.Mutex
	var group sync.WaitGroup
	places := make(chan struct{}, loadWorkers)
	start := time.Now()
	for due := 0; time.Since(start) < d; {
		target := int(time.Since(start).Seconds() * perSecond)
		for ; due < target; due++ {
			select {
			case places <- struct{}{}:
			default:
				r.unsent++
				continue
			}
			r.sent++
			ends := d-time.Since(start) < ending
			group.Go(func() {
				defer func() { <-places }()
				a := c.send(ctx)
				mu.Lock()
				defer mu.Unlock()
				r.count(a, ends)
			})
		}
		time.Sleep(time.Millisecond)
	}
	group.Wait()
	return r
}

func (r *result) count(a answer, ends bool) {
	switch a.status {
	case http.StatusOK:
		if ends {
			r.ended = append(r.ended, a.took)
			return
		}
		r.admitted = append(r.admitted, a.took)
	case http.StatusServiceUnavailable:
		r.refused++
		r.refusals = append(r.refusals, a.took)
		r.retryAfter = r.retryAfter && a.retryAfter
	default:
		r.other++
	}
}

// percentile returns the p-th percentile; 0 of nothing.
func percentile(list []time.Duration, p int) time.Duration {
	if len(list) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(list))
	return sorted[min(len(sorted)-1, len(sorted)*p/100)].Round(10 * time.Microsecond)
}
