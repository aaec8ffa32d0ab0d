package oauth

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/fault"
)

func TestIsDocumentURL(t *testing.T) {
	t.Parallel()
	for _, good := range []string{
		"https://claude.ai/oauth/mcp-oauth-client-metadata", "https://chatgpt.com/oauth/client.json", "https://vscode.dev/oauth/client-metadata.json",
		"https://agent.example:8443/c", "https://xn--bcher-kva.example/c", "https://agent.example/c?v=1", "https://agent.example/a/", "https://agent.example/...",
		"https://agent.example/%63", "https://agent.example/" + strings.Repeat("x", 478),
	} {
		if !IsDocumentURL(good) {
			t.Errorf("%s is refused", good)
		}
	}
	for name, bad := range map[string]string{
		"nothing": "", "ours": "cli_01J00000000000000000000000", "plain http": "http://agent.example/c", "another scheme": "ftp://agent.example/c",
		"capital scheme": "HTTPS://agent.example/c", "capital host": "https://Agent.example/c", "no path": "https://agent.example", "a root path": "https://agent.example/",
		"a query alone": "https://agent.example?c", "a fragment": "https://agent.example/c#x", "an empty fragment": "https://agent.example/c#",
		"a user": "https://u@agent.example/c", "a password": "https://u:p@agent.example/c", "an empty user": "https://@agent.example/c",
		"a dot": "https://agent.example/./c", "two dots": "https://agent.example/a/../c", "dots at the end": "https://agent.example/a/..", "encoded dots": "https://agent.example/%2e%2E/c",
		"IPv4": "https://93.184.216.34/c", "IPv4 as a number": "https://1572395042/c", "IPv4 in hex": "https://0x5db8d822/c", "IPv6": "https://[2606:4700::1]/c", "mapped": "https://[::ffff:127.0.0.1]/c",
		"localhost": "https://localhost/c", "one label": "https://intranet/c", "a trailing dot": "https://agent.example./c", "percent-encoded host": "https://agent%2eexample/c",
		"another alphabet": "https://bücher.example/c", "a space": "https://agent.example/c d", "a line break": "https://agent.example/c\n", "a NUL": "https://agent.example/\x00",
		"a backslash": `https://agent.example\@evil.example/c`, "a bad escape": "https://agent.example/%zz", "port 0": "https://agent.example:0/c", "no port": "https://agent.example:/c",
		"too long": "https://agent.example/" + strings.Repeat("x", 479),
	} {
		if IsDocumentURL(bad) {
			t.Errorf("%s: %q is accepted", name, bad)
		}
	}
}

const documentURL = "https://agent.example/client.json"

// described returns a document with the members that every document has, and more.
func described(members string) string {
	return fmt.Sprintf(`{"client_id":%q,"redirect_uris":["https://agent.example/cb"]%s}`, documentURL, members)
}

// The different forms of documents that clients publish in 2026: they are written for
// many authorization servers, not only for this one.
func TestDocumentsOfCurrentClients(t *testing.T) {
	t.Parallel()
	both := grantTypes()
	for name, c := range map[string]struct {
		body string
		want Client
	}{
		"the least": {described(""), Client{RedirectURIs: []string{"https://agent.example/cb"}, GrantTypes: both}},
		"Claude Code": {
			`{"client_id":"https://agent.example/client.json","client_name":"Claude Code","client_uri":"https://claude.ai","redirect_uris":["http://localhost/callback","http://127.0.0.1/callback"],"grant_types":["authorization_code","refresh_token"],"response_types":["code"],"token_endpoint_auth_method":"none"}`,
			Client{Name: "Claude Code", ClientURI: "https://claude.ai", RedirectURIs: []string{"http://localhost/callback", "http://127.0.0.1/callback"}, GrantTypes: both},
		},
		"ChatGPT, which prefers a key and can do without": {
			described(`,"client_name":"ChatGPT","token_endpoint_auth_method":"private_key_jwt","token_endpoint_auth_methods_supported":["none","private_key_jwt"],"token_endpoint_auth_signing_alg":"RS256","jwks_uri":"https://agent.example/jwks.json","logo_uri":"https://cdn.example/logo.png"`),
			Client{Name: "ChatGPT", RedirectURIs: []string{"https://agent.example/cb"}, GrantTypes: both},
		},
		"VS Code, which also knows the device grant": {
			`{"client_id":"https://agent.example/client.json","client_name":"Visual Studio Code","application_type":"native","grant_types":["authorization_code","refresh_token","urn:ietf:params:oauth:grant-type:device_code"],"response_types":["code"],"token_endpoint_auth_method":"none","redirect_uris":["http://127.0.0.1:33418/","https://vscode.dev/redirect"]}`,
			Client{Name: "Visual Studio Code", ApplicationType: "native", RedirectURIs: []string{"http://127.0.0.1:33418/", "https://vscode.dev/redirect"}, GrantTypes: both},
		},
		"an editor with a scheme of its own": {
			`{"client_id":"https://agent.example/client.json","redirect_uris":["cursor://anysphere/cb","http://localhost:8787/cb"],"grant_types":["authorization_code"]}`,
			Client{RedirectURIs: []string{"http://localhost:8787/cb"}, GrantTypes: both[:1]},
		},
		"features that we do not support": {
			described(`,"scope":"openid everything","response_types":["code","id_token"],"application_type":"desktop","client_uri":"http://agent.example","contacts":[null],"jwks":{"keys":[]}`),
			Client{RedirectURIs: []string{"https://agent.example/cb"}, GrantTypes: both},
		},
		"methods without a preferred one": {described(`,"token_endpoint_auth_methods_supported":["private_key_jwt","none"]`), Client{RedirectURIs: []string{"https://agent.example/cb"}, GrantTypes: both}},
		"null is nothing":                 {described(`,"client_name":null,"grant_types":null,"token_endpoint_auth_method":null,"application_type":null`), Client{RedirectURIs: []string{"https://agent.example/cb"}, GrantTypes: both}},
	} {
		c.want.ID = documentURL
		got, err := parseClientDocument(documentURL, []byte(c.body), false)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(&c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestDocumentsThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ body, words string }{
		"nothing":                      {"", "no JSON object"},
		"a page":                       {"<!doctype html>", "no JSON object"},
		"a list":                       {"[" + described("") + "]", "no JSON object"},
		"cut":                          {strings.TrimSuffix(described(""), "}"), "no JSON object"},
		"two":                          {described("") + described(""), "no JSON object"},
		"no id":                        {`{"redirect_uris":["https://agent.example/cb"]}`, "another address"},
		"another id":                   {strings.Replace(described(""), "/client.json", "/other.json", 1), "another address"},
		"an id in other letters":       {strings.Replace(described(""), "agent.example/client", "Agent.example/client", 1), "another address"},
		"an id that is encoded anew":   {strings.Replace(described(""), "/client.json", "/%63lient.json", 1), "another address"},
		"an id that is a list":         {strings.Replace(described(""), `"https://agent.example/client.json"`, `["https://agent.example/client.json"]`, 1), "another type"},
		"an id twice":                  {described(`,"client_id":"https://agent.example/client.json"`), "twice"},
		"redirect_uris twice":          {described(`,"redirect_uris":["https://evil.example/cb"]`), "twice"},
		"a member twice, once escaped": {described(`,"x":1,"\u0078":2`), "twice"},
		"a client_secret":              {described(`,"client_secret":"hunter2"`), "secret"},
		"a client_secret of null":      {described(`,"client_secret":null`), "secret"},
		"a secret that expires":        {described(`,"client_secret_expires_at":0`), "secret"},
		"client_secret_basic":          {described(`,"token_endpoint_auth_method":"client_secret_basic"`), "secret"},
		"a secret, or none":            {described(`,"token_endpoint_auth_method":"client_secret_post","token_endpoint_auth_methods_supported":["none"]`), "secret"},
		"a key only":                   {described(`,"token_endpoint_auth_method":"private_key_jwt","jwks_uri":"https://agent.example/jwks"`), "none"},
		"a key in both":                {described(`,"token_endpoint_auth_method":"private_key_jwt","token_endpoint_auth_methods_supported":["private_key_jwt"]`), "none"},
		"methods without none":         {described(`,"token_endpoint_auth_methods_supported":["private_key_jwt"]`), "none"},
		"no grant that works here":     {described(`,"grant_types":["client_credentials"]`), "authorization_code"},
		"no response that works here":  {described(`,"response_types":["token"]`), "code"},
		"no redirect_uris":             {fmt.Sprintf(`{"client_id":%q}`, documentURL), "return address"},
		"redirect_uris of null":        {fmt.Sprintf(`{"client_id":%q,"redirect_uris":null}`, documentURL), "return address"},
		"redirect_uris of no use": {
			fmt.Sprintf(`{"client_id":%q,"redirect_uris":["javascript:alert(1)","http://agent.example/cb","https://agent.example/cb#x","cursor://x/cb","https://u@agent.example/cb"]}`, documentURL), "return address",
		},
		"too many redirect_uris": {fmt.Sprintf(`{"client_id":%q,"redirect_uris":[%s"https://agent.example/cb"]}`, documentURL, strings.Repeat(`"https://agent.example/cb",`, 50)), "more than 50"},
		"a long name":            {described(`,"client_name":"` + strings.Repeat("é", 101) + `"`), "100 characters"},
		"a name turned around":   {described(`,"client_name":"Claude\u202e"`), "direction"},
		"a name that is a list":  {described(`,"client_name":["Claude"]`), "another type"},
	} {
		got, err := parseClientDocument(documentURL, []byte(c.body), false)
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), c.words) || got != nil {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}
