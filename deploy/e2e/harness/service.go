package harness

import (
	"crypto/rand"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// StartBeside starts another service on the same database.
func (s *Service) StartBeside(t *testing.T) *Service {
	t.Helper()
	other := NewService(t, s.Topology)
	other.DatabaseURL = s.DatabaseURL
	other.Start()
	return other
}

// Restart starts what was killed: the one process, or the backend.
func (s *Service) Restart() {
	s.T.Helper()
	if s.Topology.Split {
		s.StartBackend() // the edge goes on, and finds the new backend by itself
	} else {
		s.Start()
	}
}

// LimitAll sets every policy.
func (s *Service) LimitAll(to string) {
	for name := range s.Settings {
		if strings.HasPrefix(name, "KITH_RATE_") {
			s.Settings[name] = to
		}
	}
}

// Service is a Kith with a database of its own. Its fields but front and core
// stay the same when it is stopped and started again.
type Service struct {
	T            testing.TB
	Topology     Topology
	Addr         string // where the edge listens
	Base         string // the public address that follows from it
	BackendAddr  string // where internal callers reach the backend, if they do
	DatabaseURL  string
	ServiceToken string
	Binary       string            // which build of kith to run
	Settings     map[string]string // for each process, besides its own

	Edge    *Program // answers agents
	Backend *Program // the backend's process; front itself unless split
}

// NewService prepares a service; start starts it.
func NewService(t testing.TB, way Topology) *Service {
	t.Helper()
	s := &Service{
		T: t, Topology: way, Binary: serviceBinary, Addr: FreeAddress(t), DatabaseURL: SeededDatabase(t, way),
		ServiceToken: Secrets.Keep("service token", rand.Text()),
		Settings: map[string]string{
			"KITH_LOG_LEVEL":     "debug", // where the most could leak
			"KITH_MAX_IN_FLIGHT": "-1",    // a busy machine must turn no test away
			// What all tests cause to be traced is looked at in the end.
			"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_ENDPOINT": everyTrace.URL,
		},
	}
	s.Base = "http://localhost" + s.Addr[len("127.0.0.1"):]
	if way.Split {
		s.BackendAddr = FreeAddress(t)
		s.Settings["KITH_LOG_FORMAT"] = "json"
	}
	// Rate limits are not the subject of these tests.
	for _, policy := range []string{
		"PROFILE", "DIRECTORY", "BATCH", "MCP", "MCP_SANDBOX", "OAUTH_REGISTER", "OAUTH_AUTHORIZE", "OAUTH_TOKEN", "LOGIN", "IDENTITY", "JOBS", "SETTINGS",
	} {
		s.Settings["KITH_RATE_"+policy] = "off"
	}
	return s
}

// Start starts all processes of the service and waits until they can serve.
func (s *Service) Start() {
	s.T.Helper()
	if !s.Topology.Split {
		s.Edge = s.Run("serve", s.Database(), s.internalListener())
		s.Backend = s.Edge
		return
	}
	s.StartBackend()
	s.StartEdge()
}

func (s *Service) StartBackend() {
	s.T.Helper()
	s.Backend = s.Run("backend", s.Database(), s.internalListener())
}

// StartEdge starts the edge, which gets no database.
func (s *Service) StartEdge() {
	s.T.Helper()
	s.Edge = s.Run("edge", map[string]string{
		"KITH_BACKEND_URL": "http://" + s.BackendAddr, "KITH_SERVICE_TOKEN": s.ServiceToken,
	})
}

// Programs are the processes of the service, the first to stop first.
func (s *Service) Programs() []*Program {
	if s.Topology.Split {
		return []*Program{s.Edge, s.Backend}
	}
	return []*Program{s.Edge}
}

func (s *Service) Database() map[string]string {
	return map[string]string{"KITH_DATABASE_URL": s.DatabaseURL}
}

// internalListener opens the backend to internal callers where the service has
// an address for them.
func (s *Service) internalListener() map[string]string {
	if s.BackendAddr == "" {
		return nil
	}
	return map[string]string{"KITH_BACKEND_ADDR": s.BackendAddr, "KITH_SERVICE_TOKEN": s.ServiceToken}
}

func (s *Service) Run(command string, settings ...map[string]string) *Program {
	s.T.Helper()
	admin := FreeAddress(s.T)
	p := startBinary(s.T, s.Binary, Environment(append(settings, s.Settings, map[string]string{
		"KITH_ADDR": s.Addr, "KITH_ADMIN_ADDR": admin,
	})...), command)
	p.Admin = "http://" + admin
	p.AwaitReady()
	if !awaitStatus(p.Admin+"/readyz", http.StatusOK) {
		s.T.Fatalf("%s does not say that it can serve", p.Name)
	}
	return p
}

// Environment renders settings as a process takes them; later ones win.
func Environment(settings ...map[string]string) []string {
	merged := map[string]string{}
	for _, s := range settings {
		maps.Copy(merged, s)
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(merged)) {
		lines = append(lines, name+"="+merged[name])
	}
	return lines
}
