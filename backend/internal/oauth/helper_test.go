package oauth_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// The example of RFC 7636, appendix B, and another verifier.
const (
	verifier      = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
	challenge     = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
	wrongVerifier = "wrong-wrong-wrong-wrong-wrong-wrong-wrong-wrong"
)

const (
	callback  = "https://agent.example/cb"
	allScopes = "connections timeline organize reminders insights imports directory account write"
)

// values returns a form from alternating names and values.
func values(pairs ...string) url.Values { return with(url.Values{}, pairs...) }

// with returns a copy of a form with some values set.
func with(form url.Values, pairs ...string) url.Values {
	form = maps.Clone(form)
	for i := 0; i+1 < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	return form
}

// without returns a copy of a form that lacks some values.
func without(form url.Values, names ...string) url.Values {
	form = maps.Clone(form)
	for _, name := range names {
		form.Del(name)
	}
	return form
}

// agent is an OAuth client that uses a site.
type agent struct {
	site            *webtest.Site
	id, redirectURI string
}

func newAgent(t testing.TB, s *webtest.Site) agent { return agentAt(t, s, callback) }

func agentAt(t testing.TB, s *webtest.Site, redirectURI string) agent {
	t.Helper()
	return agent{site: s, id: s.Client(t, "Agent Smith", redirectURI).ID, redirectURI: redirectURI}
}

// ask returns a complete authorization request.
func (a agent) ask() url.Values {
	return values("response_type", "code", "client_id", a.id, "redirect_uri", a.redirectURI, "state", "st-1",
		"code_challenge", challenge, "code_challenge_method", "S256")
}

// authorize sends a browser to the authorization endpoint.
func authorize(b *webtest.Browser, query url.Values) *webtest.Page {
	return b.Get(oauth.PathAuthorize + "?" + query.Encode())
}

// decide answers a consent page, with some values of the form changed.
func decide(b *webtest.Browser, page *webtest.Page, decision string, change url.Values) *webtest.Page {
	return b.Post(oauth.PathConsent, with(page.Fill(oauth.PathConsent, change), "decision", decision))
}

// code makes the member in a browser allow the agent's request.
func (a agent) code(t testing.TB, b *webtest.Browser, pairs ...string) string {
	t.Helper()
	query := with(a.ask(), pairs...)
	page := authorize(b, query)
	if page.Status != http.StatusOK {
		t.Fatalf("no consent page: %d %s", page.Status, page.Text())
	}
	return a.sentBack(t, decide(b, page, "allow", nil), query.Get("redirect_uri")).Get("code")
}

// sentBack returns the parameters of a redirect to the client. They always include the
// state of the request and the issuer.
func (a agent) sentBack(t testing.TB, p *webtest.Page, redirectURI string) url.Values {
	t.Helper()
	if p.Status != http.StatusSeeOther {
		t.Fatalf("not sent back: %d %s", p.Status, p.Text())
	}
	rest, ok := strings.CutPrefix(p.Header.Get("Location"), redirectURI)
	if !ok || rest == "" || rest[0] != '?' && rest[0] != '&' {
		t.Fatalf("sent to %q, not to %q", p.Header.Get("Location"), redirectURI)
	}
	got, err := url.ParseQuery(rest[1:])
	if err != nil {
		t.Fatal(err)
	}
	if got.Get("iss") != a.site.URL || got.Get("state") != "st-1" {
		t.Errorf("iss %q, state %q", got.Get("iss"), got.Get("state"))
	}
	return got
}

// answer is the response of an endpoint for programs.
type answer struct {
	Status int         `json:"-"`
	Header http.Header `json:"-"`
	Body   string      `json:"-"`

	AccessToken  string `json:"access_token"`
	RefreshToken string `json:"refresh_token"`
	TokenType    string `json:"token_type"`
	ExpiresIn    int    `json:"expires_in"`
	Scope        string `json:"scope"`
	Error        string `json:"error"`
	Description  string `json:"error_description"`
	ClientID     string `json:"client_id"`
}

// send sends a request as a program does: without cookies.
func send(r *http.Request) (answer, error) {
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	got := answer{Status: res.StatusCode, Header: res.Header, Body: string(body)}
	if strings.HasPrefix(res.Header.Get("Content-Type"), "application/json") && err == nil {
		err = json.Unmarshal(body, &got)
	}
	return got, err
}

// request returns a request with a body of a media type.
func (a agent) request(ctx context.Context, method, path, media, body string) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, a.site.URL+path, strings.NewReader(body))
	if err == nil && media != "" {
		r.Header.Set("Content-Type", media)
	}
	return r, err
}

const formMedia = "application/x-www-form-urlencoded"

// try posts a form; it is safe for concurrent use.
func (a agent) try(ctx context.Context, path string, form url.Values) (answer, error) {
	r, err := a.request(ctx, http.MethodPost, path, formMedia, form.Encode())
	if err != nil {
		return answer{}, err
	}
	return send(r)
}

func (a agent) post(t testing.TB, path string, form url.Values) answer {
	t.Helper()
	got, err := a.try(t.Context(), path, form)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func (a agent) exchangeForm(code string) url.Values {
	return values("grant_type", "authorization_code", "code", code, "redirect_uri", a.redirectURI, "client_id", a.id, "code_verifier", verifier)
}

func (a agent) exchange(t testing.TB, code string, pairs ...string) answer {
	t.Helper()
	return a.post(t, oauth.PathToken, with(a.exchangeForm(code), pairs...))
}

func (a agent) refreshForm(token string) url.Values {
	return values("grant_type", "refresh_token", "refresh_token", token, "client_id", a.id)
}

func (a agent) refresh(t testing.TB, token string, pairs ...string) answer {
	t.Helper()
	return a.post(t, oauth.PathToken, with(a.refreshForm(token), pairs...))
}

func (a agent) revoke(t testing.TB, token string, pairs ...string) answer {
	t.Helper()
	return a.post(t, oauth.PathRevoke, with(values("token", token, "client_id", a.id), pairs...))
}

// tokens runs the complete flow up to a first pair of tokens.
func (a agent) tokens(t testing.TB, b *webtest.Browser, pairs ...string) answer {
	t.Helper()
	got := a.exchange(t, a.code(t, b, pairs...))
	wantTokens(t, got)
	return got
}

func wantTokens(t testing.TB, got answer) {
	t.Helper()
	if got.Status != http.StatusOK || got.AccessToken == "" || got.RefreshToken == "" {
		t.Fatalf("no tokens: %d %s", got.Status, got.Body)
	}
}

// wantError fails unless the answer is a 400 with an error code, and no tokens.
func wantError(t testing.TB, got answer, code string) {
	t.Helper()
	if got.Status != http.StatusBadRequest || got.Error != code || got.Description == "" || got.AccessToken != "" {
		t.Errorf("%d %s, not 400 %s", got.Status, strings.TrimSpace(got.Body), code)
	}
}

// wantPage fails unless the response is a page that does not redirect.
func wantPage(t testing.TB, p *webtest.Page, status int, words string) {
	t.Helper()
	if p.Status != status || p.Header.Get("Location") != "" || !strings.Contains(p.Text(), words) {
		t.Errorf("%d to %q, not %d with %q: %s", p.Status, p.Header.Get("Location"), status, words, p.Text())
	}
}

// principal returns the principal of a bearer; nil if it is invalid.
func (a agent) principal(t testing.TB, bearer string) *tenant.Principal {
	t.Helper()
	p, err := oauth.Authenticate(t.Context(), a.site.Store, bearer)
	if err != nil && !fault.Is(err, fault.Unauthenticated) {
		t.Fatal(err)
	}
	return p
}

// wantAlive fails unless a pair of tokens works. It spends the refresh token.
func (a agent) wantAlive(t testing.TB, pair answer) {
	t.Helper()
	if a.principal(t, pair.AccessToken) == nil {
		t.Error("the access token does not work")
	}
	wantTokens(t, a.refresh(t, pair.RefreshToken))
}

// wantDead fails if a pair of tokens works.
func (a agent) wantDead(t testing.TB, pair answer) {
	t.Helper()
	if a.principal(t, pair.AccessToken) != nil {
		t.Error("the access token works")
	}
	wantError(t, a.refresh(t, pair.RefreshToken), "invalid_grant")
}

// together makes n calls at once.
func together(n int, do func(n int) (answer, error)) ([]answer, error) {
	answers, errs := make([]answer, n), make([]error, n)
	start := make(chan struct{})
	var calls sync.WaitGroup
	for i := range n {
		calls.Go(func() {
			<-start
			answers[i], errs[i] = do(i)
		})
	}
	close(start)
	calls.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// each calls test with a site on each kind of database, and the database's address.
func each(t *testing.T, test func(t *testing.T, s *webtest.Site, databaseURL string)) {
	t.Helper()
	dbtest.Databases(t, func(t *testing.T, url string) { test(t, webtest.Start(t, url, webtest.Options{}), url) })
}

// statement runs SQL directly on the database.
func statement(t testing.TB, databaseURL, sql string) {
	t.Helper()
	if _, err := dbtest.OpenSQL(t, databaseURL).ExecContext(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

// column returns the rows of a query, each as text.
func column(t testing.TB, db *sql.DB, query string) []string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for rows.Next() {
		cells, targets := make([]sql.NullString, len(names)), make([]any, len(names))
		for i := range cells {
			targets[i] = &cells[i]
		}
		if err := rows.Scan(targets...); err != nil {
			t.Fatal(err)
		}
		var row []string
		for _, c := range cells {
			row = append(row, c.String)
		}
		out = append(out, strings.Join(row, " "))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}
