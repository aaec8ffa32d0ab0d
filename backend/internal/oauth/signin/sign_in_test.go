package signin_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/oauth/signin"
	"github.com/kith-crm/kith/backend/internal/oauth/signin/signintest"
)

const redirectURI = "https://kith.example/sign-in/provider/callback"

func maria() signintest.Person {
	return signintest.Person{Subject: "m-1", Email: "maria@people.example", Verified: true}
}

func newProvider(t *testing.T, c signin.Config) *signin.Provider {
	t.Helper()
	p, err := signin.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// start starts a provider at which maria is signed in, and a client of it.
func start(t *testing.T) (*signintest.Server, *signin.Provider) {
	t.Helper()
	s := signintest.Start(t)
	s.Be(maria())
	return s, newProvider(t, s.Config())
}

func begin(t *testing.T, p *signin.Provider) (string, *signin.Attempt) {
	t.Helper()
	address, a, err := p.Begin(t.Context(), redirectURI)
	if err != nil {
		t.Fatal(err)
	}
	return address, a
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	s, p := start(t)
	if s.Calls("/.well-known/openid-configuration") != 0 {
		t.Error("the provider was contacted before the first sign-in")
	}
	address, a := begin(t, p)
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	if q.Get("scope") != "openid email profile" || q.Get("client_id") != signintest.ClientID || q.Get("redirect_uri") != redirectURI ||
		q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || len(q.Get("state")) != 43 || len(q.Get("nonce")) != 43 {
		t.Errorf("the parameters are %v", q)
	}
	if strings.Contains(address, a.Verifier) || q.Get("state") == a.Hash || q.Get("nonce") != a.Nonce || len(a.Verifier) != 43 || a.RedirectURI != redirectURI || a.Issuer != s.URL {
		t.Errorf("the attempt: %+v", a)
	}
	who, err := p.Finish(t.Context(), a, s.SignIn(t, address).Query())
	want := &signin.Identity{Issuer: s.URL, Subject: "m-1", Email: "maria@people.example", EmailVerified: true}
	if diff := cmp.Diff(want, who); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	_, second := begin(t, p)
	if second.Hash == a.Hash || second.Nonce == a.Nonce || second.Verifier == a.Verifier {
		t.Error("two attempts share a secret")
	}
	if n := s.Calls("/.well-known/openid-configuration"); n != 2 { // ours, and rp's
		t.Errorf("discovered %d times", n)
	}
}

func claim(name string, value any) signintest.Lies {
	return signintest.Lies{Claims: func(claims map[string]any) {
		claims[name] = value
		if value == nil {
			delete(claims, name)
		}
	}}
}

func answer(name string, values ...string) signintest.Lies {
	return signintest.Lies{Answer: func(q url.Values) {
		q[name] = values
		if values == nil {
			delete(q, name)
		}
	}}
}

func respond(path string, status int, body string) signintest.Lies {
	return signintest.Lies{Respond: func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != path {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
		return true
	}}
}

// lies are invalid responses, and the expected result of each.
func lies() map[string]struct {
	lies signintest.Lies
	code fault.Code
} {
	hour := time.Hour
	type c = struct {
		lies signintest.Lies
		code fault.Code
	}
	return map[string]c{
		"another state":             {answer("state", "x"), fault.Unauthenticated},
		"no state":                  {answer("state"), fault.Unauthenticated},
		"two codes":                 {answer("code", "a", "b"), fault.Unauthenticated},
		"no code":                   {answer("code"), fault.Unauthenticated},
		"an unknown code":           {answer("code", "x"), fault.Unauthenticated},
		"another issuer":            {answer("iss", "https://evil.example"), fault.Unauthenticated},
		"no issuer, though it says": {answer("iss"), fault.Unauthenticated},
		"the member said no":        {answer("error", "access_denied"), fault.Unauthenticated},
		"it says that it fails":     {answer("error", "server_error"), fault.Unavailable},
		"it is busy":                {answer("error", "temporarily_unavailable"), fault.Unavailable},
		"another nonce":             {claim("nonce", strings.Repeat("x", 43)), fault.Unauthenticated},
		"no nonce":                  {claim("nonce", nil), fault.Unauthenticated},
		"a wrong audience":          {claim("aud", "another"), fault.Unauthenticated},
		"a wrong party":             {claim("azp", "another"), fault.Unauthenticated},
		"audiences without a party": {claim("aud", []string{"another", signintest.ClientID}), fault.Unauthenticated},
		"an expired token":          {claim("exp", time.Now().Add(-hour).Unix()), fault.Unauthenticated},
		"a token of tomorrow":       {claim("iat", time.Now().Add(hour).Unix()), fault.Unauthenticated},
		"a token without a time":    {claim("iat", nil), fault.Unauthenticated},
		"a token of another issuer": {claim("iss", "https://evil.example"), fault.Unauthenticated},
		"no subject":                {claim("sub", ""), fault.Unauthenticated},
		"a long subject":            {claim("sub", strings.Repeat("x", 256)), fault.Unauthenticated},
		"a NUL in the subject":      {claim("sub", "ada\x00"), fault.Unauthenticated},
		"a NUL in the address":      {claim("email", "ada\x00@people.example"), fault.Unauthenticated},
		"an unknown signature":      {signintest.Lies{Token: signintest.Resign}, fault.Unauthenticated},
		"a symmetric signature":     {signintest.Lies{Token: signintest.ResignSymmetric}, fault.Unauthenticated},
		"no signature":              {signintest.Lies{Token: unsigned}, fault.Unauthenticated},
		"no token":                  {signintest.Lies{Token: func(string) string { return "" }}, fault.Unauthenticated},
		"half a token":              {signintest.Lies{Token: func(s string) string { return s[:len(s)/2] }}, fault.Unauthenticated},
		"an answer that is no JSON": {respond("/token", http.StatusOK, "<html>"), fault.Unauthenticated},
		"a wrong client secret":     {respond("/token", http.StatusUnauthorized, `{"error":"invalid_client"}`), fault.Unauthenticated},
		"tokens fail":               {respond("/token", http.StatusBadGateway, ""), fault.Unavailable},
		"tokens are limited":        {respond("/token", http.StatusTooManyRequests, ""), fault.Unavailable},
		"keys fail":                 {respond("/keys", http.StatusServiceUnavailable, ""), fault.Unavailable},
		"no keys":                   {respond("/keys", http.StatusOK, `{"keys":[]}`), fault.Unauthenticated},
	}
}

// unsigned returns a token with the same claims and the algorithm "none".
func unsigned(token string) string {
	parts := strings.Split(token, ".")
	return "eyJhbGciOiJub25lIn0." + parts[1] + "."
}

func TestLiesAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range lies() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, p := start(t)
			address, a := begin(t, p)
			s.Lie(c.lies)
			who, err := p.Finish(t.Context(), a, s.SignIn(t, address).Query())
			if !fault.Is(err, c.code) || who != nil {
				t.Errorf("got %+v, %v", who, err)
			}
		})
	}
}

// The response to one attempt is not accepted for another.
func TestAnswersBelongToTheirAttempt(t *testing.T) {
	t.Parallel()
	s, p := start(t)
	first, a := begin(t, p)
	second, b := begin(t, p)
	mixed := s.SignIn(t, second).Query()
	mixed.Set("code", s.SignIn(t, first).Query().Get("code")) // PKCE fails before the nonce would
	if _, err := p.Finish(t.Context(), b, mixed); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("a code of another attempt: %v", err)
	}
	if _, err := p.Finish(t.Context(), a, s.SignIn(t, second).Query()); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("an answer to another attempt: %v", err)
	}
	good := s.SignIn(t, first).Query()
	waiting := *a
	waiting.Nonce, waiting.Verifier = "", ""
	if _, err := p.Finish(t.Context(), &waiting, good); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("an attempt that was answered: %v", err)
	}
	elsewhere := *a
	elsewhere.Issuer = "https://former.example"
	if _, err := p.Finish(t.Context(), &elsewhere, good); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("an attempt of another provider: %v", err)
	}
	if _, err := p.Finish(t.Context(), a, good); err != nil {
		t.Errorf("the attempt's own: %v", err)
	}
	if _, err := p.Finish(t.Context(), a, good); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("a code for the second time: %v", err)
	}
}

// A provider that does not name itself in its responses is accepted.
func TestIssuerIsOptionalInAnswers(t *testing.T) {
	t.Parallel()
	s, p := start(t)
	silent := answer("iss")
	silent.Metadata = func(about map[string]any) { delete(about, "authorization_response_iss_parameter_supported") }
	s.Lie(silent)
	address, a := begin(t, p)
	if _, err := p.Finish(t.Context(), a, s.SignIn(t, address).Query()); err != nil {
		t.Error(err)
	}
	silent.Answer = answer("iss", "https://evil.example").Answer
	s.Lie(silent)
	address, a = begin(t, p)
	if _, err := p.Finish(t.Context(), a, s.SignIn(t, address).Query()); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("another issuer: %v", err)
	}
}

func TestAddressFromUserinfo(t *testing.T) {
	t.Parallel()
	noAddress := func(claims map[string]any) {
		delete(claims, "email")
		delete(claims, "email_verified")
	}
	for name, c := range map[string]struct {
		lies     signintest.Lies
		verified bool
		code     fault.Code
	}{
		"the token has none":         {signintest.Lies{Claims: noAddress}, true, ""},
		"the token's is unverified":  {claim("email_verified", false), true, ""},
		"a text instead of a truth":  {claim("email_verified", "true"), true, ""},
		"there is none":              {signintest.Lies{Claims: noAddress, Metadata: func(about map[string]any) { delete(about, "userinfo_endpoint") }}, false, ""},
		"of another person":          {signintest.Lies{Claims: noAddress, Respond: respond("/userinfo", http.StatusOK, `{"sub":"x","email":"a@b.example","email_verified":true}`).Respond}, false, fault.Unauthenticated},
		"it is refused":              {signintest.Lies{Claims: noAddress, Respond: respond("/userinfo", http.StatusForbidden, "").Respond}, false, fault.Unauthenticated},
		"it fails":                   {signintest.Lies{Claims: noAddress, Respond: respond("/userinfo", http.StatusInternalServerError, "").Respond}, false, fault.Unavailable},
		"it has an unverified other": {signintest.Lies{Claims: noAddress, Respond: respond("/userinfo", http.StatusOK, `{"sub":"m-1","email":"a@b.example"}`).Respond}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, p := start(t)
			s.Lie(c.lies)
			address, a := begin(t, p)
			who, err := p.Finish(t.Context(), a, s.SignIn(t, address).Query())
			if c.code != "" {
				if !fault.Is(err, c.code) {
					t.Errorf("got %+v, %v", who, err)
				}
				return
			}
			if err != nil || who.EmailVerified != c.verified || c.verified && who.Email != "maria@people.example" {
				t.Errorf("got %+v, %v", who, err)
			}
		})
	}
}

// Code, verifier and secret are sent to the token endpoint only, even if it redirects.
func TestSecretsStayWithTheProvider(t *testing.T) {
	t.Parallel()
	s, p := start(t)
	reached := false
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	t.Cleanup(elsewhere.Close)
	address, a := begin(t, p)
	s.Lie(signintest.Lies{Respond: func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/token" {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		}
		return r.URL.Path == "/token"
	}})
	if _, err := p.Finish(t.Context(), a, s.SignIn(t, address).Query()); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("got %v", err)
	}
	if reached {
		t.Error("the code and the secret were sent to the target of a redirect")
	}
}
