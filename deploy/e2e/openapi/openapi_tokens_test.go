package openapi

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// checkTokens goes from registration to revocation with only the description.
func (c *contract) checkTokens(t *testing.T) {
	const redirectURI = "http://127.0.0.1/callback"
	var client struct {
		ID string `json:"client_id"`
	}
	register := c.operations["registerClient"]
	registered := c.ask(t, register, c.asDocumented(t, register, ""))
	if err := json.Unmarshal([]byte(registered.Body), &client); err != nil {
		t.Fatal(err)
	}
	verifier := harness.Secrets.Keep("code verifier", rand.Text()+rand.Text())
	challenge := sha256.Sum256([]byte(verifier))
	query := url.Values{}
	for _, p := range c.operations["authorize"].Parameters {
		query.Set(p.Value.Name, plainText(t, p.Value.Example))
	}
	query.Set("client_id", client.ID)
	query.Set("redirect_uri", redirectURI)
	query.Set("code_challenge", base64.RawURLEncoding.EncodeToString(challenge[:]))
	code, member := c.consent(t, "/oauth/authorize?"+query.Encode(), redirectURI, query.Get("state"))

	tokens := c.operations["getTokens"]
	exchange := call{path: tokens.path, headers: []string{"Content-Type: " + harness.FormType}, body: url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {redirectURI}, "client_id": {client.ID}, "code_verifier": {verifier},
	}.Encode()}
	pair := c.pair(t, exchange)
	if pair.Scope != query.Get("scope") {
		t.Errorf("the scope is %q, not %q", pair.Scope, query.Get("scope"))
	}
	identify := c.operations["identifyAgent"]
	held := c.ask(t, identify, call{path: identify.path, body: `{"type":"service_auth"}`, headers: []string{harness.JSONType, "Authorization: Bearer " + pair.Access}})
	if held.Status != http.StatusOK || !strings.Contains(held.Body, `"kind":"oauth"`) {
		t.Errorf("got %d %s", held.Status, held.Body)
	}
	refresh := exchange
	refresh.body = url.Values{"grant_type": {"refresh_token"}, "refresh_token": {pair.Refresh}, "client_id": {client.ID}}.Encode()
	refresh.headers = append(slices.Clone(exchange.headers), harness.KeyLine(harness.NewWord()))
	pair = c.pair(t, refresh)
	if again := c.pair(t, refresh); again != pair {
		t.Error("a repeated refresh has another answer")
	}
	c.pause(t, member, client.ID, pair.Access)
	if got := c.ask(t, tokens, exchange); got.Status != http.StatusBadRequest || !strings.Contains(got.Body, "invalid_grant") {
		t.Errorf("the code again: got %d %s", got.Status, got.Body)
	}
	revoke := c.operations["revokeToken"]
	for _, token := range []string{pair.Access, "unknown"} {
		k := call{path: revoke.path, headers: exchange.headers, body: url.Values{"token": {token}, "client_id": {client.ID}}.Encode()}
		if got := c.ask(t, revoke, k); got.Status != http.StatusOK {
			t.Errorf("got %d %s", got.Status, got.Body)
		}
	}
}

// pause asks for a job with the token of an agent that the member has paused.
func (c *contract) pause(t *testing.T, member *harness.Session, clientID, bearer string) {
	t.Helper()
	form := harness.Form(member.Send(t, "/settings/agents", nil))
	if got := member.Send(t, "/settings/agents/pause", url.Values{"form_token": form["form_token"][:1], "id": {clientID}}); got.Status != http.StatusSeeOther {
		t.Fatalf("got %d %s", got.Status, harness.Excerpt(got.Body))
	}
	start := c.operations["startJob"]
	k := call{path: start.path, body: `{"kind":"embed_objects"}`, headers: []string{harness.JSONType, "Authorization: Bearer " + bearer}}
	if got := c.ask(t, start, k); got.Status != http.StatusForbidden || !strings.Contains(got.Body, "agent_paused") {
		t.Errorf("got %d %s", got.Status, got.Body)
	}
	read := call{path: "/api/jobs/1", headers: []string{"Authorization: Bearer " + bearer}}
	if got := c.ask(t, c.operations["getJob"], read); got.Status != http.StatusForbidden {
		t.Errorf("a job: got %d %s", got.Status, got.Body)
	}
}

func (c *contract) pair(t *testing.T, k call) harness.TokenPair {
	t.Helper()
	var pair harness.TokenPair
	got := c.ask(t, c.operations["getTokens"], k)
	if err := json.Unmarshal([]byte(got.Body), &pair); err != nil || got.Status != http.StatusOK {
		t.Fatalf("got %d %s", got.Status, got.Body)
	}
	harness.Secrets.Keep("access token", pair.Access)
	harness.Secrets.Keep("refresh token", pair.Refresh)
	return pair
}

// consent signs a member in, allows the request, and returns the code and the member's session.
func (c *contract) consent(t *testing.T, request, redirectURI, state string) (string, *harness.Session) {
	t.Helper()
	person, v := c.service.NewPerson(t), c.service.NewSession(t)
	signIn := v.Send(t, request, nil)
	c.checkPage(t, "authorize", signIn)
	where := signIn.Header.Get("Location")
	values := harness.Form(v.Send(t, where, nil))
	values.Set("login", person["MEMBER_USERNAME"])
	values.Set("password", person["MEMBER_PASSWORD"])
	signedIn := v.Send(t, "/sign-in", values)
	c.checkPage(t, "postSignIn", signedIn)
	scheme := c.document.Components.SecuritySchemes["session"].Value
	if scheme.In != openapi3.ParameterInCookie || !strings.HasPrefix(signedIn.Header.Get("Set-Cookie"), scheme.Name+"=") {
		t.Errorf("the session is in %q, not in %s", signedIn.Header.Get("Set-Cookie"), scheme.Name)
	}
	page := v.Send(t, signedIn.Header.Get("Location"), nil)
	c.checkPage(t, "authorize", page)
	values = harness.Form(page)
	for name, value := range map[string]string{"preset": "all", "days": "0", "decision": "allow"} {
		values.Set(name, value)
	}
	back := v.Send(t, "/oauth/consent", values)
	c.checkPage(t, "consent", back)
	to, err := url.Parse(back.Header.Get("Location"))
	if err != nil || !strings.HasPrefix(to.String(), redirectURI+"?") {
		t.Fatalf("got %d %v\n%s", back.Status, back.Header, harness.Excerpt(page.Body))
	}
	harness.CheckSame(t, "iss and state", []string{to.Query().Get("iss"), to.Query().Get("state")}, []string{c.service.Base, state})
	return harness.Secrets.Keep("authorization code", to.Query().Get("code")), v
}

// checkPage validates the answer of a page; a refused step ends the test.
func (c *contract) checkPage(t *testing.T, id string, got harness.Response) {
	t.Helper()
	c.check(t, c.operations[id], got)
	if got.Status >= http.StatusBadRequest {
		t.Fatalf("%s: got %d %s", id, got.Status, got.Body)
	}
}
