package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const searchProcedure = "/kith.connections.v1.ConnectionService/SearchConnections"

// bufCurl calls a procedure as an internal caller does who has nothing of ours
// but the address: the contract comes by reflection.
func (s *service) bufCurl(t *testing.T, protocol, procedure, data string, headers ...string) outcome {
	t.Helper()
	buf, err := filepath.Abs("../../.tmp/bin/buf")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(buf); err != nil {
		t.Fatalf("%s is missing: `make gen` builds it", buf)
	}
	args := []string{"curl", "--protocol", protocol, "--http2-prior-knowledge", "--reflect-header", "Kith-Service-Token: " + s.serviceToken, "--data", data}
	for _, line := range headers {
		args = append(args, "--header", line)
	}
	command := exec.CommandContext(t.Context(), buf, append(args, "http://"+s.backendAddr+procedure)...)
	command.Env = append(bareEnvironment(), "BUF_CACHE_DIR="+t.TempDir())
	return runToEnd(t, command, "")
}

// TestInternalCallers: gRPC, gRPC-Web and Connect callers need the service's
// credential and a member's; neither alone opens anything.
func TestInternalCallers(t *testing.T) {
	if testing.Short() {
		t.Skip("buf is built by `make gen`")
	}
	t.Parallel()
	for _, way := range topologies() {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, way)
			if s.backendAddr == "" { // kith serve can be called as well, if asked to
				s.backendAddr = freeAddress(t)
			}
			s.start()
			for _, protocol := range []string{"grpc", "grpcweb", "connect"} {
				t.Run(protocol, func(t *testing.T) { checkInternalCaller(t, s, protocol) })
			}
		})
	}
}

func checkInternalCaller(t *testing.T, s *service, protocol string) {
	t.Helper()
	ada := s.newMember(t)
	id := ada.agent(t).create(t, arguments{"name": "Grace Hopper"})
	reader := "Authorization: Bearer " + ada.token(t, "connections").bearer
	service := "Kith-Service-Token: " + s.serviceToken

	done := s.bufCurl(t, protocol, searchProcedure, `{"query":"grace"}`, reader, service)
	var found map[string]any
	if err := json.Unmarshal([]byte(done.stdout), &found); err != nil || done.code != 0 {
		t.Fatalf("got %d %s %s", done.code, done.stdout, done.stderr)
	}
	if hits := at[[]any](t, found, "hits"); len(hits) != 1 || at[string](t, hits[0], "id") != id {
		t.Errorf("found %s", done.stdout)
	}
	for name, test := range map[string]struct {
		procedure, data string
		headers         []string
		words           string
	}{
		"no credential":                {searchProcedure, `{"query":"grace"}`, nil, "unavailable"},
		"a member's alone":             {searchProcedure, `{"query":"grace"}`, []string{reader}, "unavailable"},
		"a wrong service's":            {searchProcedure, `{"query":"grace"}`, []string{reader, "Kith-Service-Token: " + s.serviceToken[1:]}, "unavailable"},
		"the service's alone":          {searchProcedure, `{"query":"grace"}`, []string{service}, "unauthenticated"},
		"the service's as the bearer":  {searchProcedure, `{"query":"grace"}`, []string{service, "Authorization: Bearer " + s.serviceToken}, "unauthenticated"},
		"a dead member's":              {searchProcedure, `{"query":"grace"}`, []string{service, reader + "x"}, "unauthenticated"},
		"a scope is missing":           {"/kith.connections.v1.ConnectionService/CreateConnection", `{"name":"X"}`, []string{service, reader}, "permission_denied"},
		"a rule is broken":             {searchProcedure, `{"query":""}`, []string{service, reader}, "invalid_argument"},
		"the principal of nobody":      {"/kith.access.v1.AccessService/GetPrincipal", `{}`, []string{service}, "unauthenticated"},
		"the directory, no credential": {"/kith.directory.v1.PublicDirectoryService/ListMembers", `{}`, nil, "unavailable"},
	} {
		done := s.bufCurl(t, protocol, test.procedure, test.data, test.headers...)
		if done.code == 0 || !strings.Contains(done.stderr, `"`+test.words+`"`) || done.stdout != "" {
			t.Errorf("%s: got %d %s %s, want %s", name, done.code, done.stdout, done.stderr, test.words)
		}
	}
}

// TestReflectionNeedsTheServiceToken: the contract is shown to internal callers only.
func TestReflectionNeedsTheServiceToken(t *testing.T) {
	if testing.Short() {
		t.Skip("buf is built by `make gen`")
	}
	t.Parallel()
	s := newService(t, inTwo)
	s.start()
	token := s.serviceToken
	s.serviceToken = "another one, of more than 16 characters"
	done := s.bufCurl(t, "grpc", searchProcedure, `{"query":"x"}`, "Kith-Service-Token: "+token)
	s.serviceToken = token
	if done.code == 0 || strings.Contains(done.stderr, "unauthenticated") {
		t.Errorf("got %d %s %s", done.code, done.stdout, done.stderr)
	}
}

// TestBackendIsClosed: without an address for internal callers there is none, and
// the edge passes nothing through.
func TestBackendIsClosed(t *testing.T) {
	eachTopology(t, func(t *testing.T, s *service) {
		for _, headers := range [][]string{nil, {"Kith-Service-Token: " + s.serviceToken}} {
			got := s.send(t, "POST", searchProcedure, `{"query":"x"}`, append(headers, jsonType)...)
			if got.status != 404 {
				t.Errorf("got %d %s", got.status, got.body)
			}
		}
		// A caller's own service token changes nothing at the edge either.
		bearer := s.newMember(t).token(t).bearer
		got := agent{s, pathCurrent, bearer}.post(t, toolCall(t, "get_account", arguments{}), "Kith-Service-Token: wrong", "Kith-Credential-Id: x", "Kith-Request-Id: y")
		if got.status != 200 || got.header.Get("Kith-Credential-Id") != "" {
			t.Errorf("got %d %v %s", got.status, got.header, got.body)
		}
	})
}
