package e2e

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"html"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// visitor is a browser as far as forms go: it keeps cookies.
type visitor struct {
	service *service
	client  *http.Client
}

func (s *service) newVisitor(t *testing.T) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := *browser
	client.Jar = jar
	return &visitor{s, &client}
}

// send gets a page, or sends a form from one.
func (v *visitor) send(t *testing.T, path string, form url.Values) answer {
	t.Helper()
	method := http.MethodGet
	if form != nil {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(t.Context(), method, v.service.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	if form != nil {
		req.Header.Set("Content-Type", formType)
		req.Header.Set("Origin", v.service.base)
	}
	res, err := v.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return readAnswer(t, res)
}

// signIn signs a person in.
func (v *visitor) signIn(t *testing.T, person map[string]string) {
	t.Helper()
	values := form(v.send(t, "/sign-in", nil))
	values.Set("login", person["MEMBER_USERNAME"])
	values.Set("password", person["MEMBER_PASSWORD"])
	if got := v.send(t, "/sign-in", values); got.status != http.StatusSeeOther {
		t.Fatalf("got %d %s", got.status, got.body)
	}
}

var inputPattern = regexp.MustCompile(`<input[^>]* name="([^"]+)"[^>]* value="([^"]*)"`)

// form returns the values that a page's inputs have.
func form(page answer) url.Values {
	values := url.Values{}
	for _, input := range inputPattern.FindAllStringSubmatch(page.body, -1) {
		values.Add(input[1], html.UnescapeString(input[2]))
	}
	return values
}

// checkTokens walks from registration to revocation by the description alone.
func (c *contract) checkTokens(t *testing.T) {
	const redirectURI = "http://127.0.0.1/callback"
	var client struct {
		ID string `json:"client_id"`
	}
	register := c.operations["registerClient"]
	registered := c.ask(t, register, c.asDocumented(t, register, ""))
	if err := json.Unmarshal([]byte(registered.body), &client); err != nil {
		t.Fatal(err)
	}
	verifier := secrets.keep("code verifier", rand.Text()+rand.Text())
	challenge := sha256.Sum256([]byte(verifier))
	query := url.Values{}
	for _, p := range c.operations["authorize"].Parameters {
		query.Set(p.Value.Name, plainText(t, p.Value.Example))
	}
	query.Set("client_id", client.ID)
	query.Set("redirect_uri", redirectURI)
	query.Set("code_challenge", base64.RawURLEncoding.EncodeToString(challenge[:]))
	code := c.consent(t, "/oauth/authorize?"+query.Encode(), redirectURI, query.Get("state"))

	tokens := c.operations["getTokens"]
	exchange := call{path: tokens.path, headers: []string{"Content-Type: " + formType}, body: url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {redirectURI}, "client_id": {client.ID}, "code_verifier": {verifier},
	}.Encode()}
	pair := c.pair(t, exchange)
	if pair.Scope != query.Get("scope") {
		t.Errorf("the scope is %q, not %q", pair.Scope, query.Get("scope"))
	}
	identify := c.operations["identifyAgent"]
	held := c.ask(t, identify, call{path: identify.path, body: `{"type":"service_auth"}`, headers: []string{jsonType, "Authorization: Bearer " + pair.Access}})
	if held.status != http.StatusOK || !strings.Contains(held.body, `"kind":"oauth"`) {
		t.Errorf("got %d %s", held.status, held.body)
	}
	refresh := exchange
	refresh.body = url.Values{"grant_type": {"refresh_token"}, "refresh_token": {pair.Refresh}, "client_id": {client.ID}}.Encode()
	pair = c.pair(t, refresh)
	if got := c.ask(t, tokens, exchange); got.status != http.StatusBadRequest || !strings.Contains(got.body, "invalid_grant") {
		t.Errorf("the code again: got %d %s", got.status, got.body)
	}
	revoke := c.operations["revokeToken"]
	for _, token := range []string{pair.Access, "unknown"} {
		k := call{path: revoke.path, headers: exchange.headers, body: url.Values{"token": {token}, "client_id": {client.ID}}.Encode()}
		if got := c.ask(t, revoke, k); got.status != http.StatusOK {
			t.Errorf("got %d %s", got.status, got.body)
		}
	}
}

type tokenPair struct {
	Access  string `json:"access_token"`
	Refresh string `json:"refresh_token"`
	Scope   string
}

func (c *contract) pair(t *testing.T, k call) tokenPair {
	t.Helper()
	var pair tokenPair
	got := c.ask(t, c.operations["getTokens"], k)
	if err := json.Unmarshal([]byte(got.body), &pair); err != nil || got.status != http.StatusOK {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	secrets.keep("access token", pair.Access)
	secrets.keep("refresh token", pair.Refresh)
	return pair
}

// consent signs a person in, who allows what is asked for, and returns the code.
func (c *contract) consent(t *testing.T, request, redirectURI, state string) string {
	t.Helper()
	person, v := c.service.person(t), c.service.newVisitor(t)
	signIn := v.send(t, request, nil)
	c.checkPage(t, "authorize", signIn)
	where := signIn.header.Get("Location")
	values := form(v.send(t, where, nil))
	values.Set("login", person["MEMBER_USERNAME"])
	values.Set("password", person["MEMBER_PASSWORD"])
	signedIn := v.send(t, "/sign-in", values)
	c.checkPage(t, "signIn", signedIn)
	scheme := c.document.Components.SecuritySchemes["session"].Value
	if scheme.In != openapi3.ParameterInCookie || !strings.HasPrefix(signedIn.header.Get("Set-Cookie"), scheme.Name+"=") {
		t.Errorf("the session is in %q, not in %s", signedIn.header.Get("Set-Cookie"), scheme.Name)
	}
	page := v.send(t, signedIn.header.Get("Location"), nil)
	c.checkPage(t, "authorize", page)
	values = form(page)
	values.Set("decision", "allow")
	back := v.send(t, "/oauth/consent", values)
	c.checkPage(t, "consent", back)
	to, err := url.Parse(back.header.Get("Location"))
	if err != nil || !strings.HasPrefix(to.String(), redirectURI+"?") || to.Query().Get("iss") != c.service.base || to.Query().Get("state") != state {
		t.Fatalf("got %d %v\n%s", back.status, back.header, excerpt(page.body))
	}
	return secrets.keep("authorization code", to.Query().Get("code"))
}

// checkPage validates what a page answered; a step that was refused ends the walk.
func (c *contract) checkPage(t *testing.T, id string, got answer) {
	t.Helper()
	c.check(t, c.operations[id], got)
	if got.status >= http.StatusBadRequest {
		t.Fatalf("%s: got %d %s", id, got.status, got.body)
	}
}
