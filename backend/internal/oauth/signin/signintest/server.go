package signintest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/oauth/signin"
)

// The credentials of the provider's only client.
const (
	ClientID     = "kith"
	ClientSecret = "a secret / with: signs"
)

// Person is the person who is signed in at the provider.
type Person struct {
	Subject, Email string
	// Verified is set if the provider has verified the address.
	Verified bool
}

// Lies change the provider's responses; nil fields change nothing.
type Lies struct {
	// Metadata, Answer and Claims change data before it is sent.
	Metadata func(about map[string]any)
	Answer   func(query url.Values)
	Claims   func(claims map[string]any)
	// Token changes an ID token after it is signed.
	Token func(token string) string
	// Respond responds instead of an endpoint, if it returns true.
	Respond func(w http.ResponseWriter, r *http.Request) bool
}

// Server is a running provider.
type Server struct {
	URL string

	server *httptest.Server

	mu     sync.Mutex
	person Person
	lies   Lies
	codes  map[string]request
	tokens map[string]Person
	calls  map[string]int
}

// request is the authorization request of a code.
type request struct {
	person                        Person
	redirectURI, nonce, challenge string
}

// Start starts a provider for the duration of the test. It is served over http on a
// loopback address.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{codes: map[string]request{}, tokens: map[string]Person{}, calls: map[string]int{}}
	mux := http.NewServeMux()
	for path, handle := range map[string]http.HandlerFunc{
		"/.well-known/openid-configuration": s.metadata, "/authorize": s.authorize, "/token": s.token, "/keys": s.keys, "/userinfo": s.userinfo,
	} {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			s.mu.Lock()
			s.calls[path]++
			respond := s.lies.Respond
			s.mu.Unlock()
			if respond == nil || !respond(w, r) {
				handle(w, r)
			}
		})
	}
	s.server = httptest.NewServer(mux)
	s.URL = s.server.URL
	t.Cleanup(s.server.Close)
	return s
}

// Config returns a client's configuration for this provider, called Example.
func (s *Server) Config() signin.Config {
	return signin.Config{Issuer: s.URL, ClientID: ClientID, ClientSecret: ClientSecret, Name: "Example", HTTPClient: s.server.Client()}
}

// Stop stops the provider.
func (s *Server) Stop() { s.server.Close() }

// Be signs a person in, in every browser.
func (s *Server) Be(p Person) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.person = p
}

// Lie makes the provider send invalid responses from now on.
func (s *Server) Lie(l Lies) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lies = l
}

// Calls returns how often an endpoint was called.
func (s *Server) Calls(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[path]
}

// SignIn acts as a browser that is sent to the provider, and returns where the provider
// redirects it to.
func (s *Server) SignIn(t testing.TB, address string) *url.URL {
	t.Helper()
	client := *s.server.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	back, err := res.Location()
	if err != nil {
		t.Fatalf("the provider answers %s at %s", res.Status, address)
	}
	return back
}

func (s *Server) metadata(w http.ResponseWriter, _ *http.Request) {
	about := map[string]any{
		"issuer": s.URL, "authorization_endpoint": s.URL + "/authorize", "token_endpoint": s.URL + "/token", "jwks_uri": s.URL + "/keys",
		"userinfo_endpoint": s.URL + "/userinfo", "response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"},
		"id_token_signing_alg_values_supported": []string{"RS256"}, "code_challenge_methods_supported": []string{"S256"},
		"authorization_response_iss_parameter_supported": true,
	}
	if lie := s.lying().Metadata; lie != nil {
		lie(about)
	}
	write(w, http.StatusOK, about)
}

func (s *Server) lying() Lies {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lies
}

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func (s *Server) keys(w http.ResponseWriter, _ *http.Request) {
	write(w, http.StatusOK, map[string]any{"keys": []any{publicKey()}})
}

func (s *Server) userinfo(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	p, ok := s.tokens[r.Header.Get("Authorization")]
	s.mu.Unlock()
	if !ok {
		write(w, http.StatusUnauthorized, map[string]any{"error": "invalid_token"})
		return
	}
	write(w, http.StatusOK, map[string]any{"sub": p.Subject, "email": p.Email, "email_verified": p.Verified})
}

// lifetime is the lifetime of ID tokens.
const lifetime = 5 * time.Minute
