package proxy_test

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kith-crm/kith/edge/internal/exchange"
	"github.com/kith-crm/kith/edge/internal/proxy"
	"github.com/kith-crm/kith/edge/internal/route"
)

// transport answers in place of the backend.
type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

func serve(t *testing.T, protocol route.Protocol, backend transport, r *http.Request) *httptest.ResponseRecorder {
	t.Helper()
	page, err := proxy.NewPageRefuser()
	if err != nil {
		t.Fatal(err)
	}
	p, err := proxy.New(proxy.Options{
		BackendURL: "http://backend:1", Transport: backend, ServiceToken: "the-edge's-own", Logger: slog.New(slog.DiscardHandler),
		ClientAddress: func(*http.Request) string { return "192.0.2.7" },
		Refusers:      map[route.Protocol]route.Refuser{route.OAuth: proxy.OAuthRefuser{}, route.Page: page},
	})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	r = r.WithContext(exchange.NewContext(r.Context(), &exchange.Exchange{RequestID: "req_1"}))
	p.Handler(protocol)(w, r, "")
	return w
}

func answer(status int, header http.Header) *http.Response {
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader("body"))}
}

// What a caller sends under the edge's names is dropped; the edge vouches for
// itself, the request's id and the address.
func TestIdentity(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequest(http.MethodPost, "https://kith.example/oauth/token?x=1", strings.NewReader("a=b"))
	for _, name := range []string{"Kith-Service-Token", "Kith-Request-Id", "Kith-Client-Address", "X-Forwarded-For", "X-Forwarded-Host", "Forwarded", "Traceparent", "Tracestate", "Baggage"} {
		r.Header.Set(name, "spoofed")
	}
	r.Header.Set("Cookie", "kith_session=s")
	var seen *http.Request
	serve(t, route.OAuth, func(r *http.Request) (*http.Response, error) {
		seen = r
		return answer(http.StatusOK, http.Header{}), nil
	}, r)
	for name, want := range map[string]string{
		"Kith-Service-Token": "the-edge's-own", "Kith-Request-Id": "req_1", "Kith-Client-Address": "192.0.2.7",
		"X-Forwarded-For": "", "X-Forwarded-Host": "", "Forwarded": "", "Traceparent": "", "Tracestate": "", "Baggage": "", "Cookie": "kith_session=s",
	} {
		if got := seen.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if seen.Host != "kith.example" || seen.URL.String() != "http://backend:1/oauth/token?x=1" {
		t.Errorf("host %q, address %q", seen.Host, seen.URL)
	}
}

// The backend's own policies are handed on as they are; what it says to the edge
// stays here.
func TestSecurityHeaders(t *testing.T) {
	t.Parallel()
	const policy = "default-src 'none'; style-src 'self'"
	w := serve(t, route.Page, func(*http.Request) (*http.Response, error) {
		return answer(http.StatusOK, http.Header{"Kith-Credential-Id": {"pat_1"}, "Content-Security-Policy": {policy}}), nil
	}, httptest.NewRequest(http.MethodGet, "/sign-in", nil))
	if got := w.Header().Values("Content-Security-Policy"); len(got) != 1 || got[0] != policy || w.Header().Get("Kith-Credential-Id") != "" {
		t.Errorf("got %v", w.Header())
	}
}

// An outage is told in the shape of the protocol, and never as a 4xx.
func TestOutage(t *testing.T) {
	t.Parallel()
	for protocol, want := range map[route.Protocol]string{
		route.OAuth: `"error":"temporarily_unavailable"`, route.Page: `<a href="/">`,
	} {
		w := serve(t, protocol, func(*http.Request) (*http.Response, error) { return nil, errors.New("down") },
			httptest.NewRequest(http.MethodPost, "/oauth/token", strings.NewReader("")))
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %v %s", protocol, w.Code, w.Header(), w.Body)
		}
	}
}
