package clientdoc_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/oauth/clientdoc"
	"github.com/kith-crm/kith/backend/internal/outbound/outboundtest"
)

// json answers with a JSON body.
func json(body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Add(header[i], header[i+1])
		}
		_, _ = io.WriteString(w, body)
	}
}

// The request contains only what it needs.
func TestFetch(t *testing.T) {
	t.Parallel()
	host := outboundtest.Start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.RequestURI() != "/client.json?v=1" || r.Header.Get("Accept") != "application/json" ||
			r.Header.Get("Cookie")+r.Header.Get("Authorization")+r.Header.Get("Referer") != "" {
			t.Errorf("%s %s %v", r.Method, r.URL, r.Header)
		}
		json(`{"a":1}`)(w, r)
	}))
	body, age, err := clientdoc.New(clientdoc.Options{Options: host.Options()}).Fetch(t.Context(), host.URL+"/client.json?v=1")
	if err != nil || string(body) != `{"a":1}` || age != time.Hour {
		t.Errorf("%s, %s, %v", body, age, err)
	}
}

// A name that resolves to an address that is not public is refused when the connection
// is made, even if it resolved to a public one before.
func TestNotPublicAtDialTime(t *testing.T) {
	t.Parallel()
	host := outboundtest.Start(t, json("{}"))
	fetcher := clientdoc.New(clientdoc.Options{Options: host.Production()})
	for _, address := range []string{"127.0.0.1", "::1", "::ffff:127.0.0.1", "10.0.0.1", "169.254.169.254", "64:ff9b::7f00:1", "fd00::1"} {
		host.Resolve(address)
		_, _, err := fetcher.Fetch(t.Context(), host.URL+"/client.json")
		if !fault.Is(err, fault.Invalid) || !strings.Contains(errors.Unwrap(err).Error(), "not public") {
			t.Errorf("%s: %v, %v", address, err, errors.Unwrap(err))
		}
	}
	for _, literal := range []string{"127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "localhost", "2130706433", "127.1"} {
		host.Resolve("127.0.0.1") // names like 127.1 resolve to this
		if _, _, err := fetcher.Fetch(t.Context(), "https://"+literal+":"+host.Port()+"/client.json"); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", literal, err)
		}
	}
	if host.Requests() != 0 {
		t.Errorf("%d requests arrived", host.Requests())
	}
}

func TestAnswersThatAreNoDocument(t *testing.T) {
	t.Parallel()
	elsewhere := outboundtest.Start(t, json("{}"))
	huge := strings.Repeat(" ", clientdoc.MaxBytes+1)
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		words   string
	}{
		"huge":           {json(huge), "larger than 10 KB"},
		"huge in chunks": {chunks(huge), "larger than 10 KB"},
		"a redirect":     {http.RedirectHandler(elsewhere.URL, http.StatusFound).ServeHTTP, "redirect"},
		"not found":      {http.NotFound, "status 404"},
		"no content":     {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, "status 204"},
		"a page":         {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<!doctype html>") }, "not JSON"},
		"broken off":     {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "reached"},
		"a long header":  {json("{}", "X", strings.Repeat("x", 20<<10)), "reached"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host := outboundtest.Start(t, c.handler)
			body, _, err := clientdoc.New(clientdoc.Options{Options: host.Options()}).Fetch(t.Context(), host.URL+"/client.json")
			if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), c.words) || body != nil {
				t.Errorf("%q, %v", body, err)
			}
		})
	}
	if elsewhere.Requests() != 0 {
		t.Error("the redirect was followed")
	}
}

// chunks responds without the length of the body.
func chunks(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for part := range strings.SplitAfterSeq(body, "          ") {
			_, _ = io.WriteString(w, part)
			_ = http.NewResponseController(w).Flush()
		}
	}
}

// A certificate from an unknown root, or for another name, ends the request.
func TestCertificateIsVerified(t *testing.T) {
	t.Parallel()
	host := outboundtest.Start(t, json("{}"))
	untrusted := clientdoc.Options{Options: host.Options()}
	untrusted.Roots = nil
	if _, _, err := clientdoc.New(untrusted).Fetch(t.Context(), host.URL+"/client.json"); !fault.Is(err, fault.Invalid) {
		t.Errorf("an unknown root: %v", err)
	}
	if _, _, err := clientdoc.New(clientdoc.Options{Options: host.Options()}).Fetch(t.Context(), "https://other.example:"+host.Port()+"/client.json"); !fault.Is(err, fault.Invalid) {
		t.Errorf("another name: %v", err)
	}
	if host.Requests() != 0 {
		t.Errorf("%d requests arrived", host.Requests())
	}
}

// A request to a server that responds too slowly ends at the timeout. The test does not wait for
// the 5 seconds of a service.
func TestSlowAnswer(t *testing.T) {
	t.Parallel()
	over := make(chan struct{})
	host := outboundtest.Start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(over)
	}))
	if clientdoc.Timeout != 5*time.Second {
		t.Errorf("the timeout is %s", clientdoc.Timeout)
	}
	options := clientdoc.Options{Options: host.Options()}
	options.Timeout = 100 * time.Millisecond
	if _, _, err := clientdoc.New(options).Fetch(t.Context(), host.URL+"/client.json"); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "5 seconds") {
		t.Errorf("got %v", err)
	}
	<-over
}

// A document may have 10 KB, and not a byte more.
func TestLargestDocument(t *testing.T) {
	t.Parallel()
	for size, fits := range map[int]bool{10 << 10: true, 10<<10 + 1: false} {
		host := outboundtest.Start(t, chunks(strings.Repeat(" ", size)))
		body, _, err := clientdoc.New(clientdoc.Options{Options: host.Options()}).Fetch(t.Context(), host.URL+"/client.json")
		if (err == nil) != fits || fits && len(body) != size {
			t.Errorf("%d bytes: %d, %v", size, len(body), err)
		}
	}
}

// Requests beyond the concurrency limit wait, and fail if they wait too long.
func TestFewRequestsAtOnce(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}, 8), make(chan struct{})
	host := outboundtest.Start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-release
		json("{}")(w, r)
	}))
	fetcher := clientdoc.New(clientdoc.Options{Options: host.Options()})
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() {
			if _, _, err := fetcher.Fetch(t.Context(), host.URL+"/client.json"); err != nil {
				t.Error(err)
			}
		})
		<-arrived
	}
	late, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := fetcher.Fetch(late, host.URL+"/client.json"); !fault.Is(err, fault.Unavailable) {
		t.Errorf("the ninth: %v", err)
	}
	close(release)
	calls.Wait()
	if host.Requests() != 8 {
		t.Errorf("%d requests", host.Requests())
	}
}

func TestAge(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]time.Duration{
		"":                            time.Hour,
		"public":                      time.Hour,
		"public, max-age=600":         10 * time.Minute,
		"Max-Age=\"600\"":             10 * time.Minute,
		"max-age=0":                   clientdoc.MinAge,
		"max-age=31536000, immutable": clientdoc.MaxAge,
		"max-age=99999999999999":      clientdoc.MinAge,
		"max-age=x":                   clientdoc.MinAge,
		"no-store":                    clientdoc.MinAge,
		"max-age=600, no-cache":       clientdoc.MinAge,
	} {
		host := outboundtest.Start(t, json("{}", "Cache-Control", value))
		if _, age, err := clientdoc.New(clientdoc.Options{Options: host.Options()}).Fetch(t.Context(), host.URL+"/client.json"); err != nil || age != want {
			t.Errorf("%q: %s, %v", value, age, err)
		}
	}
}
