package signin_test

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/oauth/signin"
	"github.com/kith-crm/kith/backend/internal/oauth/signin/signintest"
)

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	good := signin.Config{Issuer: "https://login.example/tenant/", ClientID: "kith"}
	p, err := signin.New(good)
	if err != nil || p.Name() != "login.example" || p.Issuer() != good.Issuer {
		t.Errorf("the minimal configuration: %+v, %v", p, err)
	}
	for _, issuer := range []string{"http://localhost:8080", "http://127.0.0.1:8080/realm", "http://[::1]:8080"} {
		if _, err := signin.New(signin.Config{Issuer: issuer, ClientID: "kith"}); err != nil {
			t.Errorf("%s: %v", issuer, err)
		}
	}
	for name, change := range map[string]func(c *signin.Config){
		"no issuer":                   func(c *signin.Config) { c.Issuer = "" },
		"no scheme":                   func(c *signin.Config) { c.Issuer = "login.example" },
		"plain http":                  func(c *signin.Config) { c.Issuer = "http://login.example" },
		"no website":                  func(c *signin.Config) { c.Issuer = "ftp://login.example" },
		"a query":                     func(c *signin.Config) { c.Issuer += "?x=y" },
		"a name and password":         func(c *signin.Config) { c.Issuer = "https://me:secret@login.example" },
		"a host like a loopback host": func(c *signin.Config) { c.Issuer = "http://127.0.0.1.evil.example" },
		"no client":                   func(c *signin.Config) { c.ClientID = "" },
		"a long name":                 func(c *signin.Config) { c.Name = strings.Repeat("x", 41) },
		"no OpenID":                   func(c *signin.Config) { c.Scopes = []string{"email"} },
	} {
		c := good
		change(&c)
		if p, err := signin.New(c); err == nil {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// A provider that is down or has invalid metadata is an outage; the next request asks
// it again.
func TestDiscoveryIsTriedAgain(t *testing.T) {
	t.Parallel()
	const discovery = "/.well-known/openid-configuration"
	about := func(name string, value any) signintest.Lies {
		return signintest.Lies{Metadata: func(about map[string]any) {
			about[name] = value
			if value == nil {
				delete(about, name)
			}
		}}
	}
	for name, lie := range map[string]signintest.Lies{
		"it fails":                     respond(discovery, http.StatusBadGateway, ""),
		"it is not there":              respond(discovery, http.StatusNotFound, ""),
		"nothing":                      respond(discovery, http.StatusOK, "null"),
		"a page":                       respond(discovery, http.StatusOK, "<html>"),
		"a response that is too large": respond(discovery, http.StatusOK, `{"x":"`+strings.Repeat("x", 2<<20)+`"}`),
		"another issuer":               about("issuer", "https://evil.example"),
		"a slash more":                 about("issuer", "http://127.0.0.1/"),
		"no authorization endpoint":    about("authorization_endpoint", nil),
		"a script":                     about("authorization_endpoint", "javascript:alert(1)"),
		"a token endpoint over http":   about("token_endpoint", "http://login.example/token"),
		"keys over http":               about("jwks_uri", "http://login.example/keys"),
		"userinfo over http":           about("userinfo_endpoint", "http://login.example/me"),
		"no keys":                      about("jwks_uri", nil),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, p := start(t)
			s.Lie(lie)
			for range 2 {
				if _, _, err := p.Begin(t.Context(), redirectURI); !fault.Is(err, fault.Unavailable) {
					t.Fatalf("got %v", err)
				}
			}
			s.Lie(signintest.Lies{})
			address, a := begin(t, p)
			if _, err := p.Finish(t.Context(), a, s.SignIn(t, address).Query()); err != nil {
				t.Errorf("when it is back: %v", err)
			}
		})
	}
}

func TestProviderIsDown(t *testing.T) {
	t.Parallel()
	s, p := start(t)
	address, a := begin(t, p)
	query := s.SignIn(t, address).Query()
	s.Stop()
	if _, err := p.Finish(t.Context(), a, query); !fault.Is(err, fault.Unavailable) {
		t.Errorf("while it is known: %v", err)
	}
	if _, _, err := newProvider(t, s.Config()).Begin(t.Context(), redirectURI); !fault.Is(err, fault.Unavailable) {
		t.Errorf("before: %v", err)
	}
}

// silence accepts requests and never responds.
type silence struct{}

func (silence) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// A provider that does not respond costs all waiting callers 5 seconds, together.
func TestWaitsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newProvider(t, signin.Config{Issuer: "https://login.example", ClientID: "kith", HTTPClient: &http.Client{Transport: silence{}}})
		begun := time.Now()
		var waiting sync.WaitGroup
		for range 10 {
			waiting.Go(func() {
				if _, _, err := p.Begin(t.Context(), redirectURI); !fault.Is(err, fault.Unavailable) {
					t.Errorf("got %v", err)
				}
			})
		}
		waiting.Wait()
		if took := time.Since(begun); took != 5*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

// A browser that disconnects does not cancel a request that others wait for.
func TestLeavingEndsNothingForOthers(t *testing.T) {
	t.Parallel()
	s, p := start(t)
	gone, leave := context.WithCancel(t.Context())
	leave()
	address, a, err := p.Begin(gone, redirectURI)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Finish(gone, a, s.SignIn(t, address).Query()); err != nil {
		t.Error(err)
	}
}

// The secret is sent in the way that the provider accepts.
func TestClientAuthentication(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		methods       []string
		secret        string
		header, param bool
	}{
		"not specified":  {nil, signintest.ClientSecret, true, false},
		"both":           {[]string{"client_secret_post", "client_secret_basic"}, signintest.ClientSecret, true, false},
		"in the form":    {[]string{"client_secret_post", "private_key_jwt"}, signintest.ClientSecret, false, true},
		"without secret": {[]string{"none"}, "", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := start(t)
			var header, param bool
			var client string
			s.Lie(signintest.Lies{
				Metadata: func(about map[string]any) { about["token_endpoint_auth_methods_supported"] = c.methods },
				Respond: func(_ http.ResponseWriter, r *http.Request) bool {
					if r.URL.Path == "/token" {
						_, _, header = r.BasicAuth()
						param, client = r.PostFormValue("client_secret") != "", r.PostFormValue("client_id")
					}
					return false
				},
			})
			config := s.Config()
			config.ClientSecret = c.secret
			p := newProvider(t, config)
			address, a := begin(t, p)
			_, err := p.Finish(t.Context(), a, s.SignIn(t, address).Query())
			if (err == nil) != c.header || header != c.header || param != c.param || !c.header && client != signintest.ClientID {
				t.Errorf("in the header: %t, in the form: %t, %q, %v", header, param, client, err)
			}
		})
	}
}

// stuck responds to discovery and to nothing else.
type stuck struct{ silence }

func (s stuck) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path != "/.well-known/openid-configuration" {
		return s.silence.RoundTrip(r)
	}
	const about = `{"issuer":"https://login.example","authorization_endpoint":"https://login.example/a","token_endpoint":"https://login.example/t",` +
		`"jwks_uri":"https://login.example/k"}`
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(about)), Request: r}, nil
}

func TestExchangeIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newProvider(t, signin.Config{Issuer: "https://login.example", ClientID: "kith", HTTPClient: &http.Client{Transport: stuck{}}})
		address, a := begin(t, p)
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		_, err = p.Finish(t.Context(), a, url.Values{"state": u.Query()["state"], "code": {"x"}})
		if took := time.Since(begun); !fault.Is(err, fault.Unavailable) || took != 5*time.Second {
			t.Errorf("%v, after %s", err, took)
		}
	})
}
