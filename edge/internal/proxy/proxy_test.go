package proxy_test

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/edge/internal/httpapi"
	"github.com/kith-crm/kith/edge/internal/page"
	"github.com/kith-crm/kith/edge/internal/proxy"
	"github.com/kith-crm/kith/edge/internal/ratelimit"
	"github.com/kith-crm/kith/edge/internal/requestlog"
	"github.com/kith-crm/kith/edge/internal/route"
)

// transport answers in place of the backend.
type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

func serve(t *testing.T, protocol route.Protocol, backend transport, r *http.Request) *httptest.ResponseRecorder {
	t.Helper()
	pages, err := page.New("https://kith.example", "/assets/docs.css")
	if err != nil {
		t.Fatal(err)
	}
	p, err := proxy.New(proxy.Options{
		BackendURL: "http://backend:1", Transport: backend, ServiceToken: "the-edge's-own", Logger: slog.New(slog.DiscardHandler),
		ClientAddress: func(*http.Request) string { return "192.0.2.7" },
		ErrorWriters:  map[route.Protocol]httpapi.ErrorWriter{route.OAuth: proxy.OAuthErrors{}, route.Page: pages},
	})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	r = r.WithContext(requestlog.NewContext(r.Context(), &requestlog.Event{RequestID: "req_1"}))
	handler(p, protocol)(w, r, "")
	return w
}

// handler returns the handler of a route with the protocol.
func handler(p *proxy.Proxy, protocol route.Protocol) route.Handler {
	for _, r := range p.Routes() {
		if r.Protocol == protocol && slices.Contains(r.Methods, http.MethodPost) && r.Name != "oauth-register" {
			return r.Handle
		}
	}
	return nil
}

func answer(status int, header http.Header) *http.Response {
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader("body"))}
}

// Headers that only the edge may send are dropped from the caller's request. The edge sends its
// credential, the request id and the client address.
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

// A form can be sent again, if the connection to a backend was refused.
func TestFormsCanBeSentAgain(t *testing.T) {
	t.Parallel()
	var sent [2]string
	serve(t, route.Page, func(r *http.Request) (*http.Response, error) {
		for i := range sent {
			body, err := r.GetBody()
			if err != nil {
				return nil, err
			}
			text, err := io.ReadAll(body)
			if err != nil {
				return nil, err
			}
			sent[i] = string(text)
		}
		return answer(http.StatusOK, http.Header{}), nil
	}, httptest.NewRequest(http.MethodPost, "https://kith.example/sign-in", strings.NewReader("login=a")))
	if sent != [2]string{"login=a", "login=a"} {
		t.Errorf("sent %q", sent)
	}
}

// The backend's security headers are passed on unchanged. Its headers for the edge are removed.
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

// When edge and backend both count a request, the answer lists both limits. The headers with one
// figure have the backend's, which are stricter.
func TestLimitsOfEdgeAndBackend(t *testing.T) {
	t.Parallel()
	p, err := proxy.New(proxy.Options{
		BackendURL: "http://backend:1", Logger: slog.New(slog.DiscardHandler), ClientAddress: func(*http.Request) string { return "192.0.2.7" },
		Transport: transport(func(r *http.Request) (*http.Response, error) {
			header := http.Header{}
			if r.URL.Path == "/settings/security/password" {
				header = http.Header{
					"Ratelimit": {`"login";r=0;t=200`}, "Ratelimit-Policy": {`"login";q=10;w=300`}, "Ratelimit-Limit": {"10"},
					"Ratelimit-Remaining": {"0"}, "Ratelimit-Reset": {"200"}, "Retry-After": {"200"},
				}
			}
			return answer(http.StatusOK, header), nil
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string][5]string{
		"/settings/profile":           {`"settings";r=299;t=60`, `"settings";q=300;w=60`, "300", "299", "60"},
		"/settings/security/password": {`"settings";r=299;t=60, "login";r=0;t=200`, `"settings";q=300;w=60, "login";q=10;w=300`, "10", "0", "200"},
	} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, path, strings.NewReader(""))
		ratelimit.WriteHeaders(w.Header(), ratelimit.Decision{
			Policy: ratelimit.Policy{Name: "settings", Quota: 300, Window: time.Minute}, Allowed: true, Remaining: 299, Reset: 60,
		})
		handler(p, route.Page)(w, r.WithContext(requestlog.NewContext(r.Context(), &requestlog.Event{})), "")
		for i, name := range []string{"RateLimit", "RateLimit-Policy", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"} {
			var got []string
			for key, values := range w.Header() {
				if strings.EqualFold(key, name) {
					got = append(got, values...)
				}
			}
			if len(got) != 1 || got[0] != want[i] {
				t.Errorf("%s: %s: %q, not %q", path, name, got, want[i])
			}
		}
	}
}

// An outage is answered in the error format of the protocol, never with a 4xx.
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

// Each form's address takes GET, too: it leads to the page with the form.
func TestFormAddressesTakeGET(t *testing.T) {
	t.Parallel()
	for _, r := range new(proxy.Proxy).Routes() {
		if r.Protocol == route.Page && !slices.Contains(r.Methods, http.MethodGet) {
			t.Errorf("%s takes only %v", r.Pattern, r.Methods)
		}
	}
}
