package agentidentity_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"github.com/kith-crm/kith/proto/catalog"

	"github.com/kith-crm/kith/edge/internal/agentidentity"
	"github.com/kith-crm/kith/edge/internal/backendtest"
	"github.com/kith-crm/kith/edge/internal/httpapi"
	"github.com/kith-crm/kith/edge/internal/route"
	"github.com/kith-crm/kith/edge/internal/upstream"
	"github.com/kith-crm/kith/edge/server"
)

const base = "https://kith.example"

func ask(t *testing.T, backend *backendtest.Backend, body string, headers ...string) (*httptest.ResponseRecorder, map[string]any) {
	t.Helper()
	client, err := upstream.New(upstream.Options{
		BaseURL: "http://backend", Transport: backend.Transport(), ServiceToken: backendtest.ServiceToken,
	})
	if err != nil {
		t.Fatal(err)
	}
	tools, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	endpoint := agentidentity.New(agentidentity.Options{
		Catalog: tools, Backend: client, Problems: httpapi.NewProblems(base), Logger: slog.New(slog.DiscardHandler), BaseURL: base,
		Routes: route.Mounted(server.Routes(), true),
	})
	r := httptest.NewRequest(http.MethodPost, "/agent/identity", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	endpoint.Serve(w, r, "")
	var answer map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		t.Fatalf("%s: %v", w.Body, err)
	}
	if w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("Cache-Control: %q", w.Header().Get("Cache-Control"))
	}
	return w, answer
}

func TestAnonymous(t *testing.T) {
	t.Parallel()
	w, answer := ask(t, backendtest.New(), `{"type":"anonymous"}`)
	if w.Code != http.StatusOK || answer["type"] != "anonymous" || answer["registration_type"] != "anonymous" {
		t.Errorf("got %d %v", w.Code, answer)
	}
	if claim, there := answer["claim"]; !there || claim != nil {
		t.Errorf("claim: %v", claim)
	}
	scopes, _ := answer["scopes"].(map[string]any)
	for _, phase := range []string{"pre_claim", "post_claim"} {
		if list, ok := scopes[phase].([]any); !ok || len(list) != 0 {
			t.Errorf("%s: %v", phase, scopes[phase])
		}
	}
	if answer["authorization_server"] != base || answer["resource_metadata"] != base+"/.well-known/oauth-protected-resource" {
		t.Errorf("addresses: %v", answer)
	}
	capabilities, _ := json.Marshal(answer["capabilities"])
	for _, path := range []string{"/api/human/{username}", "/api/network/members", "/api/batch", "/mcp/sandbox"} {
		if !strings.Contains(string(capabilities), `"`+path+`"`) {
			t.Errorf("capabilities lack %s: %s", path, capabilities)
		}
	}
	if strings.Contains(string(capabilities), `"/mcp/v1"`) {
		t.Errorf("capabilities of a member: %s", capabilities)
	}
}

func TestServiceAuth(t *testing.T) {
	t.Parallel()
	w, answer := ask(t, backendtest.New(), `{"type":"service_auth"}`, "Authorization", "Bearer "+backendtest.TokenReader)
	member, _ := answer["member"].(map[string]any)
	credential, _ := answer["credential"].(map[string]any)
	if w.Code != http.StatusOK || answer["type"] != "service_auth" || credential["kind"] != "token" {
		t.Fatalf("got %d %v", w.Code, answer)
	}
	if name, _ := member["username"].(string); name == "" || member["url"] != base+"/api/human/"+name {
		t.Errorf("member: %v", member)
	}
	if scopes, _ := answer["scopes"].([]any); len(scopes) == 0 {
		t.Errorf("scopes: %v", answer["scopes"])
	}
}

// The client has its registered name; a personal token is its own client.
func TestClientOfServiceAuth(t *testing.T) {
	t.Parallel()
	for bearer, want := range map[string]string{backendtest.TokenGrant: "cli_1", backendtest.TokenReader: "tok_reader"} {
		_, answer := ask(t, backendtest.New(), `{"type":"service_auth"}`, "Authorization", "Bearer "+bearer)
		if client, _ := answer["client"].(map[string]any); client["id"] != want {
			t.Errorf("client: %v, not %s", client, want)
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		body, authorization string
		status              int
		code, challenge     string
	}{
		"no bearer":                 {`{"type":"service_auth"}`, "", 401, "unauthenticated", `Bearer resource_metadata="` + base + `/.well-known/oauth-protected-resource/mcp/v1", scope="connections timeline organize reminders insights imports directory account write"`},
		"dead bearer":               {`{"type":"service_auth"}`, "Bearer kith_pat_dead", 401, "unauthenticated", "invalid_token"},
		"other scheme":              {`{"type":"service_auth"}`, "Basic YTpi", 401, "unauthenticated", "invalid_token"},
		"unknown type":              {`{"type":"root"}`, "", 400, "unsupported_identity_type", ""},
		"no type":                   {`{}`, "", 400, "malformed_request", ""},
		"type is a list":            {`{"type":["anonymous"]}`, "", 400, "malformed_request", ""},
		"not JSON":                  {`anonymous`, "", 400, "malformed_request", ""},
		"duplicate keys":            {`{"type":"anonymous","type":"service_auth"}`, "", 400, "malformed_request", ""},
		"trailing data":             {`{"type":"anonymous"}{}`, "", 400, "malformed_request", ""},
		"too large":                 {`{"type":"` + strings.Repeat("a", 5000) + `"}`, "", 413, "content_too_large", ""},
		"empty":                     {``, "", 400, "malformed_request", ""},
		"unknown member":            {`{"type":"anonymous","scope":"all"}`, "", 400, "malformed_request", ""},
		"same name in another case": {`{"type":"anonymous","TYPE":"service_auth"}`, "", 400, "malformed_request", ""},
		"lone surrogate":            {`{"type":"\ud800"}`, "", 400, "malformed_request", ""},
		"TYPE instead of type":      {`{"TYPE":"anonymous"}`, "", 400, "malformed_request", ""},
	} {
		var headers []string
		if test.authorization != "" {
			headers = []string{"Authorization", test.authorization}
		}
		w, answer := ask(t, backendtest.New(), test.body, headers...)
		if w.Code != test.status || answer["code"] != test.code {
			t.Errorf("%s: got %d %v", name, w.Code, answer)
		}
		if challenge := strings.Join(w.Header().Values("WWW-Authenticate"), "|"); !strings.Contains(challenge, test.challenge) || (test.challenge == "") != (challenge == "") {
			t.Errorf("%s: challenge %q", name, challenge)
		}
	}
}

// An outage must not look like an invalid credential.
func TestOutage(t *testing.T) {
	t.Parallel()
	backend := backendtest.New()
	backend.Fail(connect.NewError(connect.CodeUnavailable, errors.New("down")))
	w, answer := ask(t, backend, `{"type":"service_auth"}`, "Authorization", "Bearer "+backendtest.TokenAll)
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || answer["code"] != "unavailable" {
		t.Errorf("got %d %v", w.Code, answer)
	}
}

// The answer lists the tools of a limited token; without a limit the member is absent.
func TestLimitedTokenListsItsTools(t *testing.T) {
	t.Parallel()
	_, answer := ask(t, backendtest.New(), `{"type":"service_auth"}`, "Authorization", "Bearer "+backendtest.TokenLimited)
	if tools, _ := answer["tools"].([]any); len(tools) != 1 || tools[0] != "search_connections" {
		t.Errorf("got %v", answer)
	}
	_, answer = ask(t, backendtest.New(), `{"type":"service_auth"}`, "Authorization", "Bearer "+backendtest.TokenAll)
	credential, _ := answer["credential"].(map[string]any)
	_, tools := answer["tools"]
	_, paused := credential["paused"]
	if _, ends := credential["grant_expires_at"]; tools || paused || ends || len(credential) == 0 {
		t.Errorf("the answer has members that do not apply: %v", answer)
	}
}
