package e2e

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"testing"
)

// grantee is a client that a person lets work for them, and its newest tokens.
type grantee struct {
	service  *service
	clientID string
	tokens   tokenPair
}

// grant has a new client ask a person for the scopes, who signs in and allows it.
func (s *service) grant(t *testing.T, person map[string]string, scope string) *grantee {
	t.Helper()
	const redirectURI = "http://127.0.0.1/callback"
	var client struct {
		ID string `json:"client_id"`
	}
	registered := s.send(t, http.MethodPost, pathRegister, encode(t, arguments{"redirect_uris": []string{redirectURI}}), jsonType)
	if err := json.Unmarshal([]byte(registered.body), &client); err != nil || registered.status != http.StatusCreated {
		t.Fatalf("got %d %s", registered.status, registered.body)
	}
	verifier := secrets.keep("code verifier", rand.Text()+rand.Text())
	challenge := sha256.Sum256([]byte(verifier))
	v := s.newVisitor(t)
	signIn := v.send(t, "/oauth/authorize?"+url.Values{
		"response_type": {"code"}, "client_id": {client.ID}, "redirect_uri": {redirectURI}, "scope": {scope}, "state": {rand.Text()},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(challenge[:])}, "code_challenge_method": {"S256"},
	}.Encode(), nil)
	values := form(v.send(t, signIn.header.Get("Location"), nil))
	values.Set("login", person["MEMBER_USERNAME"])
	values.Set("password", person["MEMBER_PASSWORD"])
	values = form(v.send(t, v.send(t, "/sign-in", values).header.Get("Location"), nil))
	values.Set("decision", "allow")
	to, err := url.Parse(v.send(t, "/oauth/consent", values).header.Get("Location"))
	if err != nil || to.Query().Get("code") == "" {
		t.Fatalf("there is no code in %v: %v", to, err)
	}
	g := &grantee{service: s, clientID: client.ID}
	g.exchange(t, url.Values{
		"grant_type": {"authorization_code"}, "code": {secrets.keep("authorization code", to.Query().Get("code"))},
		"redirect_uri": {redirectURI}, "client_id": {client.ID}, "code_verifier": {verifier},
	})
	return g
}

// exchange gets new tokens.
func (g *grantee) exchange(t *testing.T, form url.Values) {
	t.Helper()
	got := g.service.send(t, http.MethodPost, "/oauth/token", form.Encode(), "Content-Type: "+formType)
	if err := json.Unmarshal([]byte(got.body), &g.tokens); err != nil || got.status != http.StatusOK {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	secrets.keep("access token", g.tokens.Access)
	secrets.keep("refresh token", g.tokens.Refresh)
}

// refresh gets new tokens for the old ones; with scopes, an access token of those.
func (g *grantee) refresh(t *testing.T, scope string) {
	t.Helper()
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {g.tokens.Refresh}, "client_id": {g.clientID}}
	if scope != "" {
		form.Set("scope", scope)
	}
	g.exchange(t, form)
}

// revoke ends the grant.
func (g *grantee) revoke(t *testing.T) {
	t.Helper()
	form := url.Values{"token": {g.tokens.Refresh}, "client_id": {g.clientID}}
	if got := g.service.send(t, http.MethodPost, "/oauth/revoke", form.Encode(), "Content-Type: "+formType); got.status != http.StatusOK {
		t.Fatalf("got %d %s", got.status, got.body)
	}
}

func (g *grantee) agent() agent { return agent{g.service, pathCurrent, g.tokens.Access} }

// TestKeysOfAGrant: a key is its grant's. It outlives the access token that it was
// sent with; what that token's successor may not do, it is not told of either.
func TestKeysOfAGrant(t *testing.T) {
	eachTopology(t, func(t *testing.T, s *service) {
		person := s.person(t)
		g := s.grant(t, person, "connections account write")
		key, body := newWord(), toolCall(t, "create_connection", arguments{"name": newWord()})
		first := g.agent().keyed(t, key, body)
		isReplay(t, "the first", first, false)
		old := g.agent()
		g.refresh(t, "")
		checkChallenge(t, old, body, invalidToken, keyLine(key))
		again := g.agent().keyed(t, key, body)
		isReplay(t, "with the next access token", again, true)
		if again.body != first.body {
			t.Errorf("it was answered %s and is now %s", first.body, again.body)
		}
		another := s.grant(t, person, "connections account write")
		isReplay(t, "by another client of the same person", another.agent().keyed(t, key, body), false)

		g.refresh(t, "connections account")
		refused := g.agent().keyed(t, key, body)
		if r := refused.reply(t); r.Error == nil || r.Error.Code != codeRefused || refused.header.Get("Idempotency-Replayed") != "" {
			t.Errorf("with a token that may not write: got %d %v %s", refused.status, refused.header, refused.body)
		}
		g.refresh(t, "")
		isReplay(t, "with all scopes again", g.agent().keyed(t, key, body), true)
		g.revoke(t)
		checkChallenge(t, g.agent(), body, invalidToken, keyLine(key))
	})
}
