package oauth_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

func (a agent) register(t testing.TB, media, body string) answer {
	t.Helper()
	r, err := a.request(t.Context(), http.MethodPost, oauth.PathRegister, media, body)
	if err != nil {
		t.Fatal(err)
	}
	got, err := send(r)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// The response contains what was stored and the values that apply to every client.
func TestRegistration(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		both, code := []any{"authorization_code", "refresh_token"}, []any{"code"}
		for name, c := range map[string]struct {
			body string
			want map[string]any
		}{
			"the least": {`{"redirect_uris":["https://a.example/cb"]}`, map[string]any{"redirect_uris": []any{"https://a.example/cb"}}},
			"the example of the specification": {
				`{"client_name":"My Agent","redirect_uris":["https://a.example/cb","http://localhost:8765/cb"],"grant_types":["authorization_code","refresh_token"],"response_types":["code"],"token_endpoint_auth_method":"none"}`,
				map[string]any{"client_name": "My Agent", "redirect_uris": []any{"https://a.example/cb", "http://localhost:8765/cb"}},
			},
			"every loopback address": {
				`{"redirect_uris":["http://localhost/cb","http://127.0.0.1:1/cb","http://[::1]:65535/cb?x=y"]}`,
				map[string]any{"redirect_uris": []any{"http://localhost/cb", "http://127.0.0.1:1/cb", "http://[::1]:65535/cb?x=y"}},
			},
			"metadata that we ignore": {
				`{"redirect_uris":["https://a.example/cb"],"logo_uri":"javascript:alert(1)","jwks":{"keys":[]},"software_version":3,"REDIRECT_URIS":["https://evil.example"],"contacts":[null]}`,
				map[string]any{"redirect_uris": []any{"https://a.example/cb"}},
			},
			"metadata that we override": {
				`{"redirect_uris":["https://a.example/cb"],"token_endpoint_auth_method":"client_secret_basic","scope":"timeline","grant_types":["authorization_code"],"response_types":[]}`,
				map[string]any{"redirect_uris": []any{"https://a.example/cb"}, "scope": "timeline", "grant_types": []any{"authorization_code"}},
			},
			"a native application": {
				`{"application_type":"native","redirect_uris":["https://a.example/cb"]}`,
				map[string]any{"redirect_uris": []any{"https://a.example/cb"}, "application_type": "native"},
			},
			"a web application": {
				`{"application_type":"web","redirect_uris":["http://localhost/cb"]}`,
				map[string]any{"redirect_uris": []any{"http://localhost/cb"}, "application_type": "web"},
			},
			"a name to be cleaned": {
				`{"client_name":"  My\u0000 \n\tAgent\u0007 ","client_uri":"https://a.example/?q=1","redirect_uris":["https://a.example/cb"]}`,
				map[string]any{"client_name": "My Agent", "client_uri": "https://a.example/?q=1", "redirect_uris": []any{"https://a.example/cb"}},
			},
			"an invisible name": {
				`{"client_name":"\u0301","redirect_uris":["https://a.example/cb"]}`,
				map[string]any{"redirect_uris": []any{"https://a.example/cb"}},
			},
			"null means omitted": {
				`{"client_name":null,"grant_types":null,"response_types":null,"scope":null,"redirect_uris":["https://a.example/cb"]}`,
				map[string]any{"redirect_uris": []any{"https://a.example/cb"}},
			},
			"an editor that also works in a browser (Cursor)": {
				`{"client_name":"Cursor","redirect_uris":["cursor://anysphere.cursor-mcp/oauth/callback","https://www.cursor.com/agents/mcp/oauth/callback","http://localhost:8787/callback"],"grant_types":["authorization_code","refresh_token"],"scope":"connections offline_access"}`,
				map[string]any{"client_name": "Cursor", "redirect_uris": []any{"https://www.cursor.com/agents/mcp/oauth/callback", "http://localhost:8787/callback"}, "scope": "connections"},
			},
			"grants and responses of other servers": {
				`{"redirect_uris":["https://a.example/cb"],"grant_types":["implicit","authorization_code","client_credentials"],"response_types":["token","code"],"scope":"openid offline_access"}`,
				map[string]any{"redirect_uris": []any{"https://a.example/cb"}, "grant_types": []any{"authorization_code"}},
			},
			"only grants and responses of other servers": {
				`{"redirect_uris":["https://a.example/cb"],"grant_types":["urn:ietf:params:oauth:grant-type:device_code"],"response_types":["token"]}`,
				map[string]any{"redirect_uris": []any{"https://a.example/cb"}},
			},
			"no grant types":               {`{"redirect_uris":["https://a.example/cb"],"grant_types":[]}`, map[string]any{"redirect_uris": []any{"https://a.example/cb"}}},
			"a client_uri of http":         {`{"redirect_uris":["https://a.example/cb"],"client_uri":"HTTP://a.example"}`, map[string]any{"redirect_uris": []any{"https://a.example/cb"}}},
			"a client_uri of this machine": {`{"redirect_uris":["https://a.example/cb"],"client_uri":"http://localhost:3000/"}`, map[string]any{"redirect_uris": []any{"https://a.example/cb"}}},
			"the maximum of everything": {
				fmt.Sprintf(`{"client_name":%q,"redirect_uris":[%s"https://a.example/%s"]}`, strings.Repeat("é", 100), strings.Repeat(`"https://a.example/cb",`, 9), strings.Repeat("x", 1982)),
				map[string]any{"client_name": strings.Repeat("é", 100), "redirect_uris": append(repeat("https://a.example/cb", 9), "https://a.example/"+strings.Repeat("x", 1982))},
			},
		} {
			got := agent{site: s}.register(t, "application/json; charset=utf-8", c.body)
			var members map[string]any
			if err := json.Unmarshal([]byte(got.Body), &members); err != nil || got.Status != http.StatusCreated || got.Header.Get("Cache-Control") != "no-store" {
				t.Fatalf("%s: %d %s, %v", name, got.Status, got.Body, err)
			}
			c.want["client_id"], c.want["client_id_issued_at"] = got.ClientID, float64(s.Clock.Now().Unix())
			c.want["token_endpoint_auth_method"], c.want["response_types"] = "none", code
			if c.want["grant_types"] == nil {
				c.want["grant_types"] = both
			}
			if diff := cmp.Diff(c.want, members); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
			kept, err := oauth.GetClient(t.Context(), s.Store, got.ClientID)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if diff := cmp.Diff(c.want["redirect_uris"], repeatAny(kept.RedirectURIs)); diff != "" || fmt.Sprint(c.want["client_name"]) != shown(kept.Name) || fmt.Sprint(c.want["client_uri"]) != shown(kept.ClientURI) {
				t.Errorf("%s: kept %+v", name, kept)
			}
			if diff := cmp.Diff(c.want["grant_types"], repeatAny(kept.GrantTypes)); diff != "" || fmt.Sprint(c.want["scope"]) != shown(kept.Scope) || fmt.Sprint(c.want["application_type"]) != shown(kept.ApplicationType) {
				t.Errorf("%s: kept %+v", name, kept)
			}
		}
	})
}

func repeat(s string, n int) (out []any) {
	for range n {
		out = append(out, s)
	}
	return out
}

func repeatAny(in []string) (out []any) {
	for _, s := range in {
		out = append(out, s)
	}
	return out
}

// shown returns a value as fmt.Sprint does; an omitted member is empty.
func shown(s string) string {
	if s == "" {
		return "<nil>"
	}
	return s
}

// A client that registered itself can start an authorization at once.
func TestRegisteredClientIsServed(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	got := agent{site: s}.register(t, "application/json", `{"client_name":"Agent","redirect_uris":["http://127.0.0.1/cb"]}`)
	a := agent{site: s, id: got.ClientID, redirectURI: "http://127.0.0.1:4711/cb"}
	pair := a.tokens(t, s.SignedIn(t, "maria"))
	if p := a.principal(t, pair.AccessToken); p == nil || p.Credential.ClientID != got.ClientID || p.Credential.ID == got.ClientID {
		t.Errorf("the access token belongs to %+v", p)
	}
	a.wantAlive(t, pair)
}

func TestRefusedRegistrations(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, databaseURL string) {
		a := agent{site: webtest.Start(t, databaseURL, webtest.Options{})}
		uri := func(uri string) string {
			encoded, err := json.Marshal(uri)
			if err != nil {
				t.Fatal(err)
			}
			return `{"redirect_uris":[` + string(encoded) + `]}`
		}
		const good = `"redirect_uris":["https://a.example/cb"]`
		redirect := map[string]string{
			"no URIs": `{}`, "an empty list": `{"redirect_uris":[]}`, "null": `{"redirect_uris":null}`, "an empty URI": uri(""), "a null URI": `{"redirect_uris":[null]}`,
			"11 URIs":  fmt.Sprintf(`{"redirect_uris":[%s"https://a.example/cb"]}`, strings.Repeat(`"https://a.example/cb",`, 10)),
			"100 URIs": fmt.Sprintf(`{"redirect_uris":[%s"https://a.example/cb"]}`, strings.Repeat(`"https://a.example/cb",`, 99)),
			"one bad":  `{"redirect_uris":["https://a.example/cb","http://a.example/cb"]}`,
			"a script": uri("javascript:alert(1)"), "a script with a host": uri("javascript://a.example/%0aalert(1)"), "data": uri("data:text/html,x"),
			"plain http": uri("http://a.example/cb"), "an app's scheme": uri("cursor://a.example/cb"), "only apps' schemes": `{"redirect_uris":["cursor://a.example/cb","com.example.app:/cb"]}`,
			"a script beside a good one": `{"redirect_uris":["https://a.example/cb","javascript:alert(1)"]}`, "an app's scheme with a fragment": `{"redirect_uris":["https://a.example/cb","cursor://a.example/cb#x"]}`, "a fragment": uri("https://a.example/cb#x"), "an empty fragment": uri("https://a.example/cb#"),
			"a user": uri("https://u@a.example/cb"), "a user and password": uri("https://u:p@a.example/cb"), "a host in disguise": uri("https://a.example\\@evil.example/cb"),
			"no host": uri("https:///cb"), "no scheme": uri("//a.example/cb"), "a path": uri("/cb"), "a space": uri("https://a.example/c b"), "a line break": uri("https://a.example/cb\r\nX: y"),
			"a NUL": uri("https://a.example/\x00"), "another alphabet": uri("https://ä.example/cb"), "too long": uri("https://a.example/" + strings.Repeat("x", 1983)),
			"a host like localhost": uri("http://localhost.evil.example/cb"), "another loopback address": uri("http://127.0.0.2/cb"), "every address": uri("http://0.0.0.0/cb"),
		}
		metadata := map[string]string{
			"nothing": "", "garbage": "garbage", "a string": `"x"`, "a list": `[{` + good + `}]`, "a null": `null`, "cut": `{` + good, "more behind it": `{` + good + `}{}`,
			"a bad escape": `{` + good + `,"client_name":"\x"}`, "URIs that are no list": `{"redirect_uris":"https://a.example/cb"}`, "URIs that are numbers": `{"redirect_uris":[1]}`,
			"URIs that are lists": `{"redirect_uris":[["https://a.example/cb"]]}`, "a name that is a number": `{` + good + `,"client_name":1}`, "a name that is an object": `{` + good + `,"client_name":{}}`,
			"grant types that are a string": `{` + good + `,"grant_types":"authorization_code"}`, "a scope that is a list": `{` + good + `,"scope":["timeline"]}`,
			"URIs twice": `{` + good + `,"redirect_uris":["https://evil.example/cb"]}`, "a name twice": `{"client_name":"Bank",` + good + `,"client_name":"Evil"}`,
			"a strange member twice": `{` + good + `,"x":1,"x":2}`, "a name twice, once escaped": `{"client_name":"Bank",` + good + `,"client\u005fname":"Evil"}`,
			"1 MB": `{` + good + `,"client_name":"` + strings.Repeat("x", 1<<20) + `"}`, "a long name": `{` + good + `,"client_name":"` + strings.Repeat("é", 101) + `"}`,
			"a scope that is not": `{` + good + `,"scope":"everything"}`, "a client_uri of script": `{` + good + `,"client_uri":"javascript:alert(1)"}`,
			"a client_uri with a NUL": `{` + good + `,"client_uri":"https://a.example/\u0000"}`, "a client_uri without host": `{` + good + `,"client_uri":"https://"}`,
			"a client_uri with a user": `{` + good + `,"client_uri":"https://bank.example@evil.example"}`, "a long client_uri": `{` + good + `,"client_uri":"https://a.example/` + strings.Repeat("x", 500) + `"}`,
			"an application_type that is not": `{` + good + `,"application_type":"desktop"}`, "an application_type that is a list": `{` + good + `,"application_type":["web"]}`,
			"deep": `{` + good + `,"x":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`,
		}
		for code, bodies := range map[string]map[string]string{"invalid_redirect_uri": redirect, "invalid_client_metadata": metadata} {
			for name, body := range bodies {
				got := a.register(t, "application/json", body)
				if got.Status != http.StatusBadRequest || got.Error != code || got.Description == "" || got.ClientID != "" || got.Header.Get("Cache-Control") != "no-store" {
					t.Errorf("%s: %d %s", name, got.Status, got.Body)
				}
			}
		}
		for _, media := range []string{"", "text/plain", formMedia, "multipart/form-data; boundary=x", "application/json-patch+json"} {
			if got := a.register(t, media, `{`+good+`}`); got.Status != http.StatusBadRequest || got.Error != "invalid_client_metadata" {
				t.Errorf("%q: %d %s", media, got.Status, got.Body)
			}
		}
		if kept := column(t, dbtest.OpenSQL(t, databaseURL), "SELECT id FROM clients"); len(kept) > 0 {
			t.Errorf("%d clients were kept", len(kept))
		}
	})
}

func TestPrivateSchemesWhereTheyAreAllowed(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{Auth: func(c *oauth.Config) { c.AllowPrivateSchemes = true }})
	a := agent{site: s}
	got := a.register(t, "application/json", `{"redirect_uris":["cursor://anysphere.cursor-mcp/oauth/callback","com.example.app:/cb"]}`)
	if got.Status != http.StatusCreated {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	app := agent{site: s, id: got.ClientID, redirectURI: "com.example.app:/cb"}
	app.wantAlive(t, app.tokens(t, s.SignedIn(t, "maria")))
	for _, uri := range []string{"javascript://a.example/%0aalert(1)", "data://a.example/x", "file://a.example/x", "http://a.example/cb", "ws://a.example/cb"} {
		if got := a.register(t, "application/json", `{"redirect_uris":["`+uri+`"]}`); got.Error != "invalid_redirect_uri" {
			t.Errorf("%s: %d %s", uri, got.Status, got.Body)
		}
	}
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	r, err := agent{site: s}.request(t.Context(), http.MethodGet, oauth.PathMetadata, "", "")
	if err != nil {
		t.Fatal(err)
	}
	got, err := send(r)
	if err != nil || got.Status != http.StatusOK || got.Header.Get("Content-Type") != "application/json" || got.Header.Get("Cache-Control") != "public, max-age=300" {
		t.Fatalf("%d %v, %v", got.Status, got.Header, err)
	}
	var members map[string]any
	if err := json.Unmarshal([]byte(got.Body), &members); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"issuer": s.URL, "authorization_endpoint": s.URL + "/oauth/authorize", "token_endpoint": s.URL + "/oauth/token",
		"registration_endpoint": s.URL + "/oauth/register", "revocation_endpoint": s.URL + "/oauth/revoke",
		"scopes_supported": repeatAny(strings.Fields(allScopes)), "response_types_supported": []any{"code"}, "response_modes_supported": []any{"query"},
		"grant_types_supported": []any{"authorization_code", "refresh_token"}, "token_endpoint_auth_methods_supported": []any{"none"},
		"revocation_endpoint_auth_methods_supported": []any{"none"}, "code_challenge_methods_supported": []any{"S256"},
		"authorization_response_iss_parameter_supported": true, "client_id_metadata_document_supported": false, "service_documentation": s.URL + "/mcp/docs",
	}
	if diff := cmp.Diff(want, members); diff != "" {
		t.Error(diff)
	}
}
