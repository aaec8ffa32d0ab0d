package harness

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"testing"
)

// Grant is a client that a member gave access to, with its newest tokens.
type Grant struct {
	service  *Service
	ClientID string
	Tokens   TokenPair
}

// NewGrant registers a client, signs the person in and consents to the scopes.
func (s *Service) NewGrant(t *testing.T, person map[string]string, scope string) *Grant {
	t.Helper()
	const redirectURI = "http://127.0.0.1/callback"
	var client struct {
		ID string `json:"client_id"`
	}
	registered := s.Send(t, http.MethodPost, PathRegister, Encode(t, Arguments{"redirect_uris": []string{redirectURI}}), JSONType)
	if err := json.Unmarshal([]byte(registered.Body), &client); err != nil || registered.Status != http.StatusCreated {
		t.Fatalf("got %d %s", registered.Status, registered.Body)
	}
	verifier := Secrets.Keep("code verifier", rand.Text()+rand.Text())
	challenge := sha256.Sum256([]byte(verifier))
	to := s.Consent(t, person, "/oauth/authorize?"+url.Values{
		"response_type": {"code"}, "client_id": {client.ID}, "redirect_uri": {redirectURI}, "scope": {scope}, "state": {rand.Text()},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(challenge[:])}, "code_challenge_method": {"S256"},
	}.Encode())
	g := &Grant{service: s, ClientID: client.ID}
	g.exchange(t, url.Values{
		"grant_type": {"authorization_code"}, "code": {Secrets.Keep("authorization code", to.Query().Get("code"))},
		"redirect_uri": {redirectURI}, "client_id": {client.ID}, "code_verifier": {verifier},
	})
	return g
}

// Consent opens an authorization request as the person, who signs in and allows everything that is asked
// for. It returns the address that the client is called back at.
func (s *Service) Consent(t *testing.T, person map[string]string, path string) *url.URL {
	t.Helper()
	v := s.NewSession(t)
	signIn := v.Send(t, path, nil)
	values := Form(v.Send(t, signIn.Header.Get("Location"), nil))
	values.Set("login", person["MEMBER_USERNAME"])
	values.Set("password", person["MEMBER_PASSWORD"])
	values = Form(v.Send(t, v.Send(t, "/sign-in", values).Header.Get("Location"), nil))
	values.Del("ask") // Form ticks "ask me first", too; this agent writes without asking
	presets := values["preset"]
	for name, value := range map[string]string{"preset": presets[len(presets)-1], "days": "0", "decision": "allow"} { // all requested scopes
		values.Set(name, value)
	}
	to, err := url.Parse(v.Send(t, "/oauth/consent", values).Header.Get("Location"))
	if err != nil || to.Query().Get("code") == "" {
		t.Fatalf("no code in %v: %v", to, err)
	}
	return to
}

// exchange requests tokens at the token endpoint.
func (g *Grant) exchange(t *testing.T, form url.Values) {
	t.Helper()
	got := g.service.Send(t, http.MethodPost, "/oauth/token", form.Encode(), "Content-Type: "+FormType)
	if err := json.Unmarshal([]byte(got.Body), &g.Tokens); err != nil || got.Status != http.StatusOK {
		t.Fatalf("got %d %s", got.Status, got.Body)
	}
	Secrets.Keep("access token", g.Tokens.Access)
	Secrets.Keep("refresh token", g.Tokens.Refresh)
}

// Refresh exchanges the refresh token; with scopes, the access token has only those.
func (g *Grant) Refresh(t *testing.T, scope string) {
	t.Helper()
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {g.Tokens.Refresh}, "client_id": {g.ClientID}}
	if scope != "" {
		form.Set("scope", scope)
	}
	g.exchange(t, form)
}

// Revoke ends the grant.
func (g *Grant) Revoke(t *testing.T) {
	t.Helper()
	form := url.Values{"token": {g.Tokens.Refresh}, "client_id": {g.ClientID}}
	if got := g.service.Send(t, http.MethodPost, "/oauth/revoke", form.Encode(), "Content-Type: "+FormType); got.Status != http.StatusOK {
		t.Fatalf("got %d %s", got.Status, got.Body)
	}
}

func (g *Grant) Agent() Agent { return Agent{g.service, PathCurrent, g.Tokens.Access} }
