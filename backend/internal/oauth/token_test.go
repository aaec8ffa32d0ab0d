package oauth_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

func challengeOf(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// The form of RFC 7636 §4.1 is enforced on the verifier even if its hash matches.
func TestVerifiers(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	a, b := newAgent(t, s), s.SignedIn(t, "maria")
	for name, c := range map[string]struct {
		verifier string
		ok       bool
	}{
		"42 characters":              {strings.Repeat("a", 42), false},
		"43 characters":              {strings.Repeat("a", 43), true},
		"128 characters":             {strings.Repeat("a", 128), true},
		"129 characters":             {strings.Repeat("a", 129), false},
		"every character of the set": {"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~", true},
		"a plus":                     {strings.Repeat("a", 43) + "+", false},
		"a slash":                    {strings.Repeat("a", 43) + "/", false},
		"padding":                    {strings.Repeat("a", 43) + "=", false},
		"a space":                    {strings.Repeat("a", 43) + " ", false},
		"a letter of another set":    {strings.Repeat("é", 43), false},
		"a NUL":                      {strings.Repeat("a", 43) + "\x00", false},
		"nothing":                    {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code := a.code(t, b, "code_challenge", challengeOf(c.verifier))
			got := a.exchange(t, code, "code_verifier", c.verifier)
			if c.ok {
				wantTokens(t, got)
				return
			}
			wantError(t, got, "invalid_grant")
		})
	}
}

func TestTokenAnswer(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	a, b := newAgent(t, s), s.SignedIn(t, "maria")
	first := a.tokens(t, b)
	for name, got := range map[string]answer{"of a code": first, "of a refresh": a.refresh(t, first.RefreshToken)} {
		var members map[string]any
		if err := json.Unmarshal([]byte(got.Body), &members); err != nil {
			t.Fatal(err)
		}
		// Nothing more, and no id_token.
		want := map[string]any{
			"access_token": got.AccessToken, "refresh_token": got.RefreshToken, "token_type": "Bearer", "expires_in": 3600.0, "scope": allScopes,
		}
		if diff := cmp.Diff(want, members); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if got.Header.Get("Cache-Control") != "no-store" || got.Header.Get("Pragma") != "no-cache" || got.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %v", name, got.Header)
		}
		for kind, c := range map[string]struct{ prefix, token string }{"access": {"kith_at_", got.AccessToken}, "refresh": {"kith_rt_", got.RefreshToken}} {
			if !regexp.MustCompile("^" + c.prefix + "[A-Za-z0-9_-]{43}$").MatchString(c.token) {
				t.Errorf("%s: the %s token is %q", name, kind, c.token)
			}
		}
	}
}

// RFC 6749 §3.2: POST form only, each parameter once, nothing in the address.
func TestTokenRequestHygiene(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	a, b := newAgent(t, s), s.SignedIn(t, "maria")
	code, pair := a.code(t, b), a.tokens(t, b)
	exchange, revoke := a.exchangeForm(code), values("token", pair.AccessToken, "client_id", a.id)
	asJSON, err := json.Marshal(map[string]string{"grant_type": "authorization_code", "code": code, "client_id": a.id})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		path, query, media, body string
		error                    string
	}{
		"the whole in the address":     {oauth.PathToken, exchange.Encode(), formMedia, "", "invalid_request"},
		"one in the address":           {oauth.PathToken, "code=" + code, formMedia, without(exchange, "code").Encode(), "invalid_request"},
		"a token in the address":       {oauth.PathRevoke, revoke.Encode(), formMedia, "", "invalid_request"},
		"both":                         {oauth.PathRevoke, "token=x", formMedia, revoke.Encode(), "invalid_request"},
		"JSON":                         {oauth.PathToken, "", "application/json", string(asJSON), "invalid_request"},
		"no media type":                {oauth.PathToken, "", "", exchange.Encode(), "invalid_request"},
		"a form of files":              {oauth.PathToken, "", "multipart/form-data; boundary=x", exchange.Encode(), "invalid_request"},
		"the code twice":               {oauth.PathToken, "", formMedia, twice(exchange, "code", code, code).Encode(), "invalid_request"},
		"the client twice":             {oauth.PathToken, "", formMedia, twice(exchange, "client_id", a.id, a.id).Encode(), "invalid_request"},
		"the grant type twice":         {oauth.PathToken, "", formMedia, twice(exchange, "grant_type", "refresh_token", "authorization_code").Encode(), "invalid_request"},
		"the token twice":              {oauth.PathRevoke, "", formMedia, twice(revoke, "token", pair.AccessToken, "x").Encode(), "invalid_request"},
		"a broken escape":              {oauth.PathToken, "", formMedia, exchange.Encode() + "&x=%zz", "invalid_request"},
		"a semicolon":                  {oauth.PathToken, "", formMedia, exchange.Encode() + ";x=y", "invalid_request"},
		"too much":                     {oauth.PathToken, "", formMedia, with(exchange, "x", strings.Repeat("x", 64<<10)).Encode(), "invalid_request"},
		"nothing":                      {oauth.PathToken, "", formMedia, "", "invalid_request"},
		"no grant type":                {oauth.PathToken, "", formMedia, without(exchange, "grant_type").Encode(), "invalid_request"},
		"no client":                    {oauth.PathToken, "", formMedia, without(exchange, "client_id").Encode(), "invalid_request"},
		"no code":                      {oauth.PathToken, "", formMedia, without(exchange, "code").Encode(), "invalid_request"},
		"no redirect_uri":              {oauth.PathToken, "", formMedia, without(exchange, "redirect_uri").Encode(), "invalid_request"},
		"no verifier":                  {oauth.PathToken, "", formMedia, without(exchange, "code_verifier").Encode(), "invalid_grant"},
		"no refresh token":             {oauth.PathToken, "", formMedia, without(a.refreshForm(""), "refresh_token").Encode(), "invalid_request"},
		"no token to revoke":           {oauth.PathRevoke, "", formMedia, without(revoke, "token").Encode(), "invalid_request"},
		"no client that revokes":       {oauth.PathRevoke, "", formMedia, without(revoke, "client_id").Encode(), "invalid_request"},
		"client credentials":           {oauth.PathToken, "", formMedia, with(exchange, "grant_type", "client_credentials").Encode(), "unsupported_grant_type"},
		"a password":                   {oauth.PathToken, "", formMedia, with(exchange, "grant_type", "password").Encode(), "unsupported_grant_type"},
		"a JWT":                        {oauth.PathToken, "", formMedia, with(exchange, "grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer").Encode(), "unsupported_grant_type"},
		"a token to exchange":          {oauth.PathToken, "", formMedia, with(exchange, "grant_type", "urn:ietf:params:oauth:grant-type:token-exchange").Encode(), "unsupported_grant_type"},
		"a device code":                {oauth.PathToken, "", formMedia, with(exchange, "grant_type", "urn:ietf:params:oauth:grant-type:device_code").Encode(), "unsupported_grant_type"},
		"a secret":                     {oauth.PathToken, "", formMedia, with(exchange, "client_secret", "s").Encode(), "invalid_client"},
		"a secret that revokes":        {oauth.PathRevoke, "", formMedia, with(revoke, "client_secret", "s").Encode(), "invalid_client"},
		"an assertion":                 {oauth.PathToken, "", formMedia, with(exchange, "client_assertion", "x", "client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer").Encode(), "invalid_client"},
		"another redirect_uri":         {oauth.PathToken, "", formMedia, with(exchange, "redirect_uri", "https://other.example/cb").Encode(), "invalid_grant"},
		"an escaped redirect_uri":      {oauth.PathToken, "", formMedia, with(exchange, "redirect_uri", "https://agent.example/%63b").Encode(), "invalid_grant"},
		"a redirect_uri in capitals":   {oauth.PathToken, "", formMedia, with(exchange, "redirect_uri", "https://Agent.example/cb").Encode(), "invalid_grant"},
		"a refresh token in its place": {oauth.PathToken, "", formMedia, with(exchange, "code", pair.RefreshToken).Encode(), "invalid_grant"},
		"an access token to refresh":   {oauth.PathToken, "", formMedia, a.refreshForm(pair.AccessToken).Encode(), "invalid_grant"},
		"a code to refresh":            {oauth.PathToken, "", formMedia, a.refreshForm(code).Encode(), "invalid_grant"},
	} {
		path := c.path
		if c.query != "" {
			path += "?" + c.query
		}
		r, err := a.request(t.Context(), http.MethodPost, path, c.media, c.body)
		if err != nil {
			t.Fatal(err)
		}
		got, err := send(r)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got.Status != http.StatusBadRequest || got.Error != c.error || got.Description == "" || got.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %s %v", name, got.Status, got.Body, got.Header)
		}
		if name == "too much" && !strings.Contains(got.Description, "65536 bytes") {
			t.Errorf("the error does not name the limit: %s", got.Body)
		}
	}
	// None of these requests has used up the code or the token.
	wantTokens(t, a.exchange(t, code))
	a.wantAlive(t, pair)
}

func TestOtherMethods(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	a, b := newAgent(t, s), s.SignedIn(t, "maria")
	code := a.code(t, b)
	for _, path := range []string{oauth.PathToken, oauth.PathRevoke, oauth.PathRegister} {
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete, http.MethodOptions, "QUERY"} {
			r, err := a.request(t.Context(), method, path+"?"+a.exchangeForm(code).Encode(), formMedia, a.exchangeForm(code).Encode())
			if err != nil {
				t.Fatal(err)
			}
			if got, err := send(r); err != nil || got.Status != http.StatusMethodNotAllowed || got.Header.Get("Allow") != "POST" {
				t.Errorf("%s %s: %d %v, %v", method, path, got.Status, got.Header, err)
			}
		}
	}
	wantTokens(t, a.exchange(t, code))
}

// A secret in the header is refused; a media type may name its charset.
func TestHeadersOfTokenRequests(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	a, b := newAgent(t, s), s.SignedIn(t, "maria")
	code := a.code(t, b)
	ask := func(change func(h http.Header), form url.Values) answer {
		r, err := a.request(t.Context(), http.MethodPost, oauth.PathToken, formMedia, form.Encode())
		if err != nil {
			t.Fatal(err)
		}
		change(r.Header)
		got, err := send(r)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	basic := func(user, password string) func(http.Header) {
		return func(h http.Header) {
			h.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user+":"+password)))
		}
	}
	for name, got := range map[string]answer{
		"a secret":                     ask(basic(a.id, "s"), without(a.exchangeForm(code), "client_id")),
		"an empty secret":              ask(basic(a.id, ""), without(a.exchangeForm(code), "client_id")),
		"a secret beside the form":     ask(basic(a.id, "s"), a.exchangeForm(code)),
		"the secret of another client": ask(basic(newAgent(t, s).id, "s"), a.exchangeForm(code)),
	} {
		t.Run(name, func(t *testing.T) { wantError(t, got, "invalid_client") })
	}
	wantTokens(t, ask(func(h http.Header) { h.Set("Content-Type", formMedia+"; charset=UTF-8") }, a.exchangeForm(code)))
}

func TestNoCrossOriginAnswers(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	a := newAgent(t, s)
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodOptions} {
		for _, path := range []string{oauth.PathToken, oauth.PathRevoke, oauth.PathRegister, oauth.PathMetadata, oauth.PathAuthorize} {
			r, err := a.request(t.Context(), method, path, formMedia, a.exchangeForm("x").Encode())
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Origin", "https://evil.example")
			r.Header.Set("Access-Control-Request-Method", http.MethodPost)
			got, err := send(r)
			if err != nil {
				t.Fatal(err)
			}
			for name := range got.Header {
				if strings.HasPrefix(name, "Access-Control-") {
					t.Errorf("%s %s: %s is %q", method, path, name, got.Header.Get(name))
				}
			}
		}
	}
}

func TestScopesOfARefresh(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		a, b := newAgent(t, s), s.SignedIn(t, "maria")
		const granted = "connections timeline write"
		pair := a.tokens(t, b, "scope", granted)
		for _, c := range []struct{ name, scope, kept string }{
			{"narrower", "timeline", "timeline"},
			{"the next one is not narrowed", "", granted},
			{"the same in another order", "write timeline connections", "write timeline connections"},
			{"wider", "timeline account", ""},
			{"another", "account", ""},
			{"one that does not exist", "everything", ""},
			{"two spaces", "timeline  write", ""},
			{"the refused ones spent nothing", "connections", "connections"},
			{"with one of OpenID Connect", "timeline offline_access", "timeline"},
			{"those of OpenID Connect alone", "openid offline_access", granted},
		} {
			var change []string
			if c.scope != "" {
				change = []string{"scope", c.scope}
			}
			got := a.refresh(t, pair.RefreshToken, change...)
			if c.kept == "" {
				wantError(t, got, "invalid_scope")
				continue
			}
			p := a.principal(t, got.AccessToken)
			if got.Scope != c.kept || p == nil || !slices.Equal(slices.Sorted(slices.Values(p.Credential.Scopes)), slices.Sorted(strings.FieldsSeq(c.kept))) {
				t.Fatalf("%s: %s, %+v", c.name, got.Body, p)
			}
			pair = got
		}
		pair = a.refresh(t, pair.RefreshToken, "scope", "", "client_secret", "") // both count as omitted
		if pair.Scope != granted {
			t.Errorf("without a value: %s", pair.Body)
		}
		a.wantAlive(t, pair)
	})
}

func TestRevocationOfWhateverIsGiven(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	a, b := newAgent(t, s), s.SignedIn(t, "maria")
	pair, other := a.tokens(t, b), a.tokens(t, b)
	personal := dbtest.Token(t, s.Store, b.Owner, "timeline")
	code := a.code(t, b)
	for _, token := range []string{"x", "kith_at_x", "kith_rt_" + strings.Repeat("A", 43), personal, code, "\x00\xff", strings.Repeat("x", 10000)} {
		wantRevoked(t, a.revoke(t, token))
	}
	if a.principal(t, personal) != nil {
		t.Error("a personal token is not revoked by whoever has it")
	}
	wantTokens(t, a.exchange(t, code))
	wantRevoked(t, a.revoke(t, pair.AccessToken, "token_type_hint", "refresh_token"))
	a.wantDead(t, pair)
	wantRevoked(t, a.revoke(t, pair.AccessToken))
	next := a.refresh(t, other.RefreshToken)
	wantRevoked(t, a.revoke(t, other.RefreshToken, "token_type_hint", "nonsense")) // spent, but its grant is live
	a.wantDead(t, next)
}

// No secret that gives access is stored in plain text.
func TestSecretsAtRest(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *webtest.Site, databaseURL string) {
		a, b := newAgent(t, s), s.SignedIn(t, "maria")
		request := authorize(b, a.ask()).Form(oauth.PathConsent).Get("request")
		open, used := a.code(t, b), a.code(t, b)
		pair := a.exchange(t, used)
		next := a.refresh(t, pair.RefreshToken)
		wantTokens(t, next)
		kept := dump(t, databaseURL)
		for name, secret := range map[string]string{
			"the request": request, "the open code": open, "the used code": used, "the spent refresh token": pair.RefreshToken,
			"the access token": next.AccessToken, "the refresh token": next.RefreshToken, "the session": b.Cookie("kith_session"),
		} {
			bare := strings.TrimPrefix(strings.TrimPrefix(secret, oauth.PrefixAccessToken), oauth.PrefixRefreshToken)
			if len(bare) != 43 || strings.Contains(kept, bare) {
				t.Errorf("%s %q is kept", name, secret)
			}
			if !strings.Contains(kept, oauth.Hash(secret)) {
				t.Errorf("the hash of %s is not kept", name)
			}
		}
		if strings.Contains(kept, oauth.Hash(pair.AccessToken)) {
			t.Error("the previous access token is still stored")
		}
		for _, encoded := range []string{verifier, fmt.Sprintf("%x", next.AccessToken)} {
			if strings.Contains(kept, encoded) {
				t.Errorf("%q is kept", encoded)
			}
		}
	})
}

// dump returns every row of every table as text.
func dump(t *testing.T, databaseURL string) string {
	t.Helper()
	q := dbtest.OpenSQL(t, databaseURL)
	tables, text := "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'", "SELECT * FROM %s"
	if db.IsPostgres(databaseURL) {
		tables, text = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'", "SELECT x::text FROM %s x"
	}
	var out strings.Builder
	for _, table := range column(t, q, tables) {
		for _, row := range column(t, q, fmt.Sprintf(text, table)) {
			out.WriteString(table + " " + row + "\n")
		}
	}
	return out.String()
}
