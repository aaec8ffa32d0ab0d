package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"
)

// The limits of an overload, and its measurements.
const (
	overloadTimes = 4   // the load, as a multiple of the capacity
	maxSlowdown   = 5.0 // times the unloaded p99
	recoverIn     = 5 * time.Second
	loadWorkers   = 2048 // maximum requests in flight; the client does not send more
	slowClients   = 1000
	// ending is how long before the end of the load a request may still be queued when the
	// load ends. It is then answered after up to a second, which says nothing about a
	// service under load.
	ending = 1500 * time.Millisecond
)

// overload sends four times the requests that the service can answer, and measures the admitted ones; then it measures
// a normal client among slow ones. It fails if a limit is exceeded.
func overload(ctx context.Context, s *stage) ([]comparison, error) {
	// The bounds that other sections leave out are the defaults here.
	k, err := s.empty(ctx, "kith", variant{env: []string{"KITH_MAX_IN_FLIGHT=128", "KITH_CONNECTIONS_PER_ADDRESS=-1", "KITH_SANDBOX=true", "GOMEMLIMIT=512MiB"}})
	if err != nil {
		return nil, err
	}
	err = errors.Join(k.overload(s), k.amongSlowClients(ctx, s))
	_, largest, _, memoryErr := k.memory()
	s.figure("largest resident memory", largest, "MiB", 0)
	log, logErr := os.ReadFile(k.log.Name())
	if bytes.Contains(bytes.ToLower(log), []byte("panic")) {
		err = errors.Join(err, errors.New("the service panicked"))
	}
	return nil, errors.Join(err, memoryErr, logErr)
}

// answers are the outcomes of one load. Latencies are in milliseconds.
type answers struct {
	admitted, ended, refused []float64 // ended: admitted, sent at the end of the load
	other                    int
	retryAfter               bool // on all refusals
}

// attack sends batches of 20 directory searches, which cost far more to answer than to send: as many a second as the rate,
// whether or not responses arrive, or with rate 0 one after the other from each worker.
func (k *service) attack(rate float64, workers uint64, length time.Duration) answers {
	var items []string
	for i := range 20 {
		items = append(items, fmt.Sprintf(`{"id":"%d","path":"/api/network/members","query":{"q":"%c","per_page":50}}`, i, 'a'+i))
	}
	target := vegeta.NewStaticTargeter(vegeta.Target{
		Method: http.MethodPost, URL: "http://" + k.addr + "/api/batch", Header: http.Header{"Content-Type": {"application/json"}},
		Body: []byte(`{"requests":[` + strings.Join(items, ",") + `]}`),
	})
	attacker := vegeta.NewAttacker(vegeta.Workers(min(workers, 64)), vegeta.MaxWorkers(workers), vegeta.Connections(int(workers)), vegeta.Timeout(30*time.Second))
	defer attacker.Stop()
	end := time.Now().Add(length)
	r := answers{retryAfter: true}
	for result := range attacker.Attack(target, vegeta.Rate{Freq: int(rate), Per: time.Second}, length, "") {
		took := micros(result.Latency) / 1e3
		switch {
		case result.Code == http.StatusServiceUnavailable:
			r.refused = append(r.refused, took)
			r.retryAfter = r.retryAfter && result.Headers.Get("Retry-After") != ""
		case result.Code != http.StatusOK || !bytes.Contains(result.Body, []byte(`"count":20`)):
			r.other++
		case rate > 0 && end.Sub(result.Timestamp) < ending:
			r.ended = append(r.ended, took)
		default:
			r.admitted = append(r.admitted, took)
		}
	}
	return r
}

// overload measures one request at a time, the capacity, and the load, and then how soon latency is normal again.
func (k *service) overload(s *stage) error {
	length := s.bench.overloaded
	unloaded := k.attack(0, 1, 2*time.Second).admitted
	capacity := float64(len(k.attack(0, 4, 5*time.Second).admitted)) / 5
	r := k.attack(capacity*overloadTimes, loadWorkers, length)
	start, recovered := time.Now(), time.Duration(0)
	for time.Since(start) < recoverIn && recovered == 0 {
		if after := k.attack(0, 1, 250*time.Millisecond).admitted; len(after) > 0 && quantile(0.9, after) <= 2*quantile(0.9, unloaded) {
			recovered = time.Since(start)
		}
	}
	report := func(what string, took []float64) {
		s.figure(what+": p50", quantile(0.5, took), "ms", 0)
		s.figure(what+": p99", quantile(0.99, took), "ms", 0)
	}
	report("one at a time", unloaded)
	s.figure("capacity", capacity, "answers/s", 0)
	what := fmt.Sprintf("load of %.0f/s for %s: ", capacity*overloadTimes, length)
	s.figure(what+"admitted", float64(len(r.admitted)+len(r.ended))/length.Seconds(), "answers/s", 0)
	s.figure(what+"refused with 503", float64(len(r.refused))/length.Seconds(), "answers/s", 0)
	report(what+"admitted", r.admitted)
	report(what+"refused", r.refused)
	report(fmt.Sprint(what, len(r.ended), " admitted after the end of the load"), r.ended)
	slowdown := quantile(0.99, r.admitted) / quantile(0.99, unloaded)
	s.figure(what+"p99 of admitted requests, in unloaded ones", slowdown, "×", maxSlowdown)
	s.figure(what+"normal again after", micros(recovered)/1e3, "ms", 0)
	switch {
	case recovered == 0:
		return fmt.Errorf("latency was not normal within %s", recoverIn)
	case r.other > 0:
		return fmt.Errorf("%d requests ended neither in a response nor in a 503", r.other)
	case len(r.admitted) == 0:
		return errors.New("no request was admitted under load")
	case slowdown > maxSlowdown:
		return fmt.Errorf("the admitted requests were %.1f times slower", slowdown)
	case !r.retryAfter:
		return errors.New("a 503 had no Retry-After")
	}
	return nil
}

// amongSlowClients sends requests one at a time, beside clients that send headers or
// bodies a byte at a time, or half-close their connection.
func (k *service) amongSlowClients(ctx context.Context, s *stage) error {
	slow, cancel := context.WithCancel(ctx)
	defer cancel()
	for i := range slowClients {
		go hang(slow, k.addr, i)
	}
	r := k.attack(0, 1, s.bench.overloaded)
	failed := r.other + len(r.refused)
	what := fmt.Sprintf("among %d slow clients: ", slowClients)
	s.figure(what+"p50", quantile(0.5, r.admitted), "ms", 0)
	s.figure(what+"p99", quantile(0.99, r.admitted), "ms", 0)
	if failed > 0 {
		return fmt.Errorf("%d requests of a normal client failed", failed)
	}
	return nil
}

// hang is a slow client of one of three kinds. It reconnects when it is disconnected.
func hang(ctx context.Context, addr string, i int) {
	head := "POST /api/batch HTTP/1.1\r\nHost: " + addr + "\r\nContent-Type: application/json\r\n"
	for ; ctx.Err() == nil; pause(ctx, 100*time.Millisecond) {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			continue
		}
		switch i % 3 {
		case 0: // headers that never end
			drip(ctx, conn, head+"X-Slow: "+fmt.Sprintf("%01000d", i))
		case 1: // a body that never ends
			_, _ = conn.Write([]byte(head + "Content-Length: 1000\r\n\r\n"))
			drip(ctx, conn, fmt.Sprintf("%01000d", i))
		default: // half-closed, and never read
			_, _ = conn.Write([]byte(head))
			if tcp, ok := conn.(*net.TCPConn); ok {
				_ = tcp.CloseWrite()
			}
			pause(ctx, 2*time.Second)
		}
		_ = conn.Close()
	}
}

// drip writes a byte a second until the server closes the connection.
func drip(ctx context.Context, conn net.Conn, text string) {
	for i := range len(text) {
		if _, err := conn.Write([]byte{text[i]}); err != nil || ctx.Err() != nil {
			return
		}
		pause(ctx, time.Second)
	}
}
