// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/access -run 'TestInternalCallers|TestReflectionNeedsTheServiceToken|TestBackendIsClosed'

package access

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

const searchProcedure = "/kith.connections.v1.ConnectionService/SearchConnections"

// bufCurl calls a procedure as an internal caller that has only the address: it gets
// the schema by server reflection.
func bufCurl(t *testing.T, s *harness.Service, protocol, procedure, data string, headers ...string) harness.Outcome {
	t.Helper()
	buf := harness.Repository(".tmp", "bin", "buf")
	if _, err := os.Stat(buf); err != nil {
		t.Fatalf("%s is missing: `make gen` builds it", buf)
	}
	args := []string{"curl", "--protocol", protocol, "--http2-prior-knowledge", "--reflect-header", "Kith-Service-Token: " + s.ServiceToken, "--data", data}
	for _, line := range headers {
		args = append(args, "--header", line)
	}
	command := exec.CommandContext(t.Context(), buf, append(args, "http://"+s.BackendAddr+procedure)...)
	command.Env = append(harness.BareEnvironment(), "BUF_CACHE_DIR="+t.TempDir())
	return harness.RunToEnd(t, command, "")
}

// TestInternalCallers: gRPC, gRPC-Web and Connect callers need both the service token
// and a member's credential; either one alone is refused.
func TestInternalCallers(t *testing.T) {
	if testing.Short() {
		t.Skip("buf is built by `make gen`")
	}
	t.Parallel()
	for _, way := range harness.Topologies() {
		t.Run(way.Name, func(t *testing.T) {
			t.Parallel()
			s := harness.NewService(t, way)
			if s.BackendAddr == "" { // kith serve accepts internal callers too if KITH_BACKEND_ADDR is set
				s.BackendAddr = harness.FreeAddress(t)
			}
			s.Start()
			for _, protocol := range []string{"grpc", "grpcweb", "connect"} {
				t.Run(protocol, func(t *testing.T) { checkInternalCaller(t, s, protocol) })
			}
		})
	}
}

func checkInternalCaller(t *testing.T, s *harness.Service, protocol string) {
	t.Helper()
	ada := s.NewMember(t)
	id := ada.Agent(t).Create(t, harness.Arguments{"name": "Grace Hopper"})
	reader := "Authorization: Bearer " + ada.Token(t, "connections").Bearer
	service := "Kith-Service-Token: " + s.ServiceToken

	done := bufCurl(t, s, protocol, searchProcedure, `{"query":"grace"}`, reader, service)
	var found map[string]any
	if err := json.Unmarshal([]byte(done.Stdout), &found); err != nil || done.Code != 0 {
		t.Fatalf("got %d %s %s", done.Code, done.Stdout, done.Stderr)
	}
	if hits := harness.At[[]any](t, found, "hits"); len(hits) != 1 || harness.At[string](t, hits[0], "id") != id {
		t.Errorf("found %s", done.Stdout)
	}
	for name, test := range map[string]struct {
		procedure, data string
		headers         []string
		words           string
	}{
		"no credential":                {searchProcedure, `{"query":"grace"}`, nil, "unavailable"},
		"a member's only":              {searchProcedure, `{"query":"grace"}`, []string{reader}, "unavailable"},
		"a wrong service token":        {searchProcedure, `{"query":"grace"}`, []string{reader, "Kith-Service-Token: " + s.ServiceToken[1:]}, "unavailable"},
		"the service token only":       {searchProcedure, `{"query":"grace"}`, []string{service}, "unauthenticated"},
		"the service token as bearer":  {searchProcedure, `{"query":"grace"}`, []string{service, "Authorization: Bearer " + s.ServiceToken}, "unauthenticated"},
		"an invalid bearer":            {searchProcedure, `{"query":"grace"}`, []string{service, reader + "x"}, "unauthenticated"},
		"a scope is missing":           {"/kith.connections.v1.ConnectionService/CreateConnection", `{"name":"X"}`, []string{service, reader}, "permission_denied"},
		"a rule is broken":             {searchProcedure, `{"query":""}`, []string{service, reader}, "invalid_argument"},
		"a principal without a bearer": {"/kith.access.v1.AccessService/GetPrincipal", `{}`, []string{service}, "unauthenticated"},
		"the directory, no credential": {"/kith.directory.v1.PublicDirectoryService/ListMembers", `{}`, nil, "unavailable"},
	} {
		done := bufCurl(t, s, protocol, test.procedure, test.data, test.headers...)
		if done.Code == 0 || !strings.Contains(done.Stderr, `"`+test.words+`"`) || done.Stdout != "" {
			t.Errorf("%s: got %d %s %s, want %s", name, done.Code, done.Stdout, done.Stderr, test.words)
		}
	}
}

// TestReflectionNeedsTheServiceToken: server reflection answers only internal callers.
func TestReflectionNeedsTheServiceToken(t *testing.T) {
	if testing.Short() {
		t.Skip("buf is built by `make gen`")
	}
	t.Parallel()
	s := harness.NewService(t, harness.Split)
	s.Start()
	token := s.ServiceToken
	s.ServiceToken = "another one, of more than 16 characters"
	done := bufCurl(t, s, "grpc", searchProcedure, `{"query":"x"}`, "Kith-Service-Token: "+token)
	s.ServiceToken = token
	if done.Code == 0 || strings.Contains(done.Stderr, "unauthenticated") {
		t.Errorf("got %d %s %s", done.Code, done.Stdout, done.Stderr)
	}
}

// TestBackendIsClosed: without an address for internal callers there is no such
// listener, and the edge does not forward backend procedures.
func TestBackendIsClosed(t *testing.T) {
	harness.EachTopology(t, func(t *testing.T, s *harness.Service) {
		for _, headers := range [][]string{nil, {"Kith-Service-Token: " + s.ServiceToken}} {
			got := s.Send(t, "POST", searchProcedure, `{"query":"x"}`, append(headers, harness.JSONType)...)
			if got.Status != 404 {
				t.Errorf("got %d %s", got.Status, got.Body)
			}
		}
		// The edge ignores a service token that a caller sends.
		bearer := s.NewMember(t).Token(t).Bearer
		got := s.Agent(harness.PathCurrent, bearer).Post(t, harness.ToolCall(t, "get_account", harness.Arguments{}), "Kith-Service-Token: wrong", "Kith-Credential-Id: x", "Kith-Request-Id: y")
		if got.Status != 200 || got.Header.Get("Kith-Credential-Id") != "" {
			t.Errorf("got %d %v %s", got.Status, got.Header, got.Body)
		}
	})
}
