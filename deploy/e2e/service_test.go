package e2e

import (
	"crypto/rand"
	"maps"
	"net/http"
	"slices"
	"testing"
)

// service is a Kith with a database of its own. Its fields but front and core
// stay the same when it is stopped and started again.
type service struct {
	t            *testing.T
	topology     topology
	addr         string // where the edge listens
	base         string // the public address that follows from it
	backendAddr  string // where internal callers reach the backend, if they do
	databaseURL  string
	serviceToken string
	binary       string            // which build of kith to run
	settings     map[string]string // for each process, besides its own

	front *program // answers agents
	core  *program // the backend's process; front itself unless split
}

// newService prepares a service; start starts it.
func newService(t *testing.T, way topology) *service {
	t.Helper()
	s := &service{
		t: t, topology: way, binary: serviceBinary, addr: freeAddress(t), databaseURL: seededDatabase(t, way),
		serviceToken: secrets.keep("service token", rand.Text()),
		settings: map[string]string{
			"KITH_LOG_LEVEL":     "debug", // where the most could leak
			"KITH_MAX_IN_FLIGHT": "-1",    // a busy machine must turn no test away
			// What all tests cause to be traced is looked at in the end.
			"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_ENDPOINT": everyTrace.url,
		},
	}
	s.base = "http://localhost" + s.addr[len("127.0.0.1"):]
	if way.split {
		s.backendAddr = freeAddress(t)
		s.settings["KITH_LOG_FORMAT"] = "json"
	}
	// Rate limits are not the subject of these tests.
	for _, policy := range []string{
		"PROFILE", "DIRECTORY", "BATCH", "MCP", "MCP_SANDBOX", "OAUTH_REGISTER", "OAUTH_AUTHORIZE", "OAUTH_TOKEN", "LOGIN", "IDENTITY", "JOBS", "SETTINGS",
	} {
		s.settings["KITH_RATE_"+policy] = "off"
	}
	return s
}

// start starts all processes of the service and waits until they can serve.
func (s *service) start() {
	s.t.Helper()
	if !s.topology.split {
		s.front = s.run("serve", s.database(), s.internalListener())
		s.core = s.front
		return
	}
	s.startCore()
	s.startFront()
}

func (s *service) startCore() {
	s.t.Helper()
	s.core = s.run("backend", s.database(), s.internalListener())
}

// startFront starts the edge, which gets no database.
func (s *service) startFront() {
	s.t.Helper()
	s.front = s.run("edge", map[string]string{
		"KITH_BACKEND_URL": "http://" + s.backendAddr, "KITH_SERVICE_TOKEN": s.serviceToken,
	})
}

// programs are the processes of the service, the first to stop first.
func (s *service) programs() []*program {
	if s.topology.split {
		return []*program{s.front, s.core}
	}
	return []*program{s.front}
}

func (s *service) database() map[string]string {
	return map[string]string{"KITH_DATABASE_URL": s.databaseURL}
}

// internalListener opens the backend to internal callers where the service has
// an address for them.
func (s *service) internalListener() map[string]string {
	if s.backendAddr == "" {
		return nil
	}
	return map[string]string{"KITH_BACKEND_ADDR": s.backendAddr, "KITH_SERVICE_TOKEN": s.serviceToken}
}

func (s *service) run(command string, settings ...map[string]string) *program {
	s.t.Helper()
	admin := freeAddress(s.t)
	p := startBinary(s.t, s.binary, environment(append(settings, s.settings, map[string]string{
		"KITH_ADDR": s.addr, "KITH_ADMIN_ADDR": admin,
	})...), command)
	p.admin = "http://" + admin
	p.awaitReady()
	if !awaitStatus(p.admin+"/readyz", http.StatusOK) {
		s.t.Fatalf("%s does not say that it can serve", p.name)
	}
	return p
}

// environment renders settings as a process takes them; later ones win.
func environment(settings ...map[string]string) []string {
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
