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

// Restart starts the process that was killed: the only one, or the backend.
func (s *Service) Restart() {
	s.T.Helper()
	if s.Topology.Split {
		s.StartBackend() // the edge keeps running and reconnects to the new backend
	} else {
		s.Start()
	}
}

// LimitAll sets every rate policy to the limit.
func (s *Service) LimitAll(to string) {
	for name := range s.Settings {
		if strings.HasPrefix(name, "KITH_RATE_") {
			s.Settings[name] = to
		}
	}
}

// Service is a Kith with its own database. All fields except Edge and Backend stay the same
// when it is stopped and started again.
type Service struct {
	T            testing.TB
	Topology     Topology
	Addr         string // where the edge listens
	Base         string // the public address derived from Addr
	BackendAddr  string // the backend's internal listener, or ""
	DatabaseURL  string
	ServiceToken string
	Binary       string            // which build of kith to run
	Commands     string            // and which for command lines
	Settings     map[string]string // of all processes; each has more of its own

	Edge    *Program // answers agents
	Backend *Program // the backend's process; the same as Edge unless split
}

// NewService prepares a service; Start starts it.
func NewService(t testing.TB, way Topology) *Service {
	t.Helper()
	s := &Service{
		T: t, Topology: way, Binary: serviceBinary, Commands: PlainBinary, Addr: FreeAddress(t), DatabaseURL: SeededDatabase(t, way),
		ServiceToken: Secrets.Keep("service token", rand.Text()),
		Settings: map[string]string{
			"KITH_LOG_LEVEL":     "debug", // the most verbose level
			"KITH_MAX_IN_FLIGHT": "-1",    // no limit: a busy machine must not refuse requests of tests
			// Main checks the spans of all tests at the end.
			"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_ENDPOINT": everyTrace.URL,
		},
	}
	s.Base = "http://localhost" + s.Addr[len("127.0.0.1"):]
	if way.Split {
		s.BackendAddr = FreeAddress(t)
		s.Settings["KITH_LOG_FORMAT"] = "json"
	}
	// Most tests are not about rate limits.
	for _, policy := range []string{
		"PROFILE", "DIRECTORY", "BATCH", "MCP", "MCP_SANDBOX", "OAUTH_REGISTER", "OAUTH_AUTHORIZE", "OAUTH_TOKEN", "LOGIN", "IDENTITY", "JOBS", "SETTINGS", "FORMS",
	} {
		s.Settings["KITH_RATE_"+policy] = "off"
	}
	return s
}

// Start starts all processes of the service and waits until they are ready.
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

// StartEdge starts the edge, without access to the database.
func (s *Service) StartEdge() {
	s.T.Helper()
	s.Edge = s.Run("edge", map[string]string{
		"KITH_BACKEND_URL": "http://" + s.BackendAddr, "KITH_SERVICE_TOKEN": s.ServiceToken,
	})
}

// Programs returns the processes of the service, in the order in which to stop them.
func (s *Service) Programs() []*Program {
	if s.Topology.Split {
		return []*Program{s.Edge, s.Backend}
	}
	return []*Program{s.Edge}
}

func (s *Service) Database() map[string]string {
	return map[string]string{"KITH_DATABASE_URL": s.DatabaseURL}
}

// internalListener returns the settings that open the backend to internal callers if the
// service has an address for them.
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
		s.T.Fatalf("%s does not report that it is ready", p.Name)
	}
	return p
}

// Environment renders settings as environment variables; later ones win.
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
