package ops

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/deploy/internal/freeport"
)

// site is Kith as in production: the processes of the compose file, on this machine.
type site struct {
	t      *testing.T
	dir    string
	builds [2]string
	ports  *freeport.Allocator

	postgres, redis, prometheus, alertmanager *process
	backends, edges                           [2]*process
	small                                     *process // all of Kith in one process, on SQLite

	databaseURL    string
	smallDatabase  string
	smallBase      string // the address of the small installation
	serviceToken   string
	base           string // the address that clients use
	trust          *tls.Config
	prometheusAddr string
	admin          map[string]string // admin address by process name
	pager          *pager
}

// plan says what a site has besides the ordinary.
type plan struct {
	// direct lets edges know each backend, instead of a balancer before them.
	direct bool
	// folder has the database of the small installation, which has these settings, too.
	folder string
	small  []string
}

// newSite starts all processes with the first build.
func newSite(t *testing.T, p plan) *site {
	t.Helper()
	dir := t.TempDir()
	for _, folder := range []string{dir, filepath.Dir(dir)} {
		must(t, os.Chmod(folder, 0o755)) // PostgreSQL's user needs access
	}
	s := &site{t: t, dir: dir, ports: freeport.NewAllocator(), admin: map[string]string{}}
	s.builds = build(t, dir)
	s.postgres, s.databaseURL = newPostgres(t, dir, s.address())
	redis := s.address()
	s.redis = newRedis(t, dir, redis)

	service := rand.Text()
	cert, key := s.certificate()
	addresses := [4]string{s.address(), s.address(), s.address(), s.address()}
	backends := "http://" + newBalancer(t, addresses[0], addresses[1]).address
	if p.direct {
		backends = "http://" + addresses[0] + ",http://" + addresses[1]
	}
	toEdges := newBalancer(t, addresses[2], addresses[3])
	_, port, err := net.SplitHostPort(toEdges.address)
	must(t, err)
	s.base = "https://localhost:" + port
	for i := range 2 {
		number := string(rune('1' + i))
		s.backends[i] = s.kith("backend-"+number, "backend", "KITH_BACKEND_ADDR="+addresses[i], "KITH_DATABASE_URL="+s.databaseURL,
			"KITH_SERVICE_TOKEN="+service, "KITH_CREDITS_FREE=60", "KITH_CREDITS_PRO=100000000", "KITH_SIGN_UP=true")
		s.edges[i] = s.kith("edge-"+number, "edge", "KITH_ADDR="+addresses[2+i], "KITH_BACKEND_URL="+backends,
			"KITH_SERVICE_TOKEN="+service, "KITH_MAX_IN_FLIGHT=-1", "KITH_REDIS_URL=redis://"+redis+"/0", "KITH_EDGES=2", "KITH_TLS_CERT="+cert, "KITH_TLS_KEY="+key)
	}
	address := s.address()
	_, port, err = net.SplitHostPort(address)
	must(t, err)
	s.smallBase, s.smallDatabase, s.serviceToken = "http://localhost:"+port, filepath.Join(cmp.Or(p.folder, dir), "small.db"), service
	s.small = s.kith("small", "serve", append([]string{"KITH_ADDR=" + address, "KITH_DATABASE_URL=" + s.smallDatabase, "KITH_SANDBOX=false", "KITH_BASE_URL=" + s.smallBase}, p.small...)...)
	for _, p := range []*process{s.backends[0], s.backends[1], s.edges[0], s.edges[1], s.small} {
		p.start()
	}
	s.watch()
	return s
}

// watch starts Prometheus, Alertmanager and the pager.
func (s *site) watch() {
	s.t.Helper()
	s.pager = newPager(s.t)
	alertmanager := s.address()
	s.alertmanager = newAlertmanager(s.t, s.dir, alertmanager, s.pager.url)
	s.prometheusAddr = s.address()
	s.prometheus = newPrometheus(s.t, s.dir, s.prometheusAddr, map[string]string{
		"edge-1:8081": s.admin["edge-1"], "edge-2:8081": s.admin["edge-2"],
		"backend-1:8081": s.admin["backend-1"], "backend-2:8081": s.admin["backend-2"],
		"alertmanager:9093": alertmanager,
	}, cmp.Or(s.admin["small"], alertmanager))
}

func (s *site) address() string {
	s.t.Helper()
	address, err := s.ports.Address()
	must(s.t, err)
	return address
}

// kith returns a process of Kith that is not started yet.
func (s *site) kith(name, command string, settings ...string) *process {
	s.t.Helper()
	admin := s.address()
	s.admin[name] = admin
	p := &process{
		t: s.t, name: name, program: s.builds[0], args: []string{command},
		env:   append(s.settings(admin), settings...),
		ready: func() bool { return isOK("http://" + admin + "/readyz") },
	}
	return p.watch()
}

// settings are those of every process.
func (s *site) settings(admin string) []string {
	return []string{
		"KITH_BASE_URL=" + s.base, "KITH_ADMIN_ADDR=" + admin, "KITH_LOG_FORMAT=json", "KITH_LOG_LEVEL=warn",
		// Limits are counted but high, except for batches; a busy machine sheds no load.
		"KITH_RATE_MCP=1000000/60", "KITH_RATE_MCP_SANDBOX=1000000/60", "KITH_RATE_PROFILE=1000000/60", "KITH_RATE_DIRECTORY=1000000/60",
		"KITH_RATE_LOGIN=1000000/60", "KITH_RATE_OAUTH_REGISTER=1000000/60", "KITH_RATE_OAUTH_AUTHORIZE=1000000/60",
		"KITH_RATE_OAUTH_TOKEN=1000000/60", "KITH_RATE_SETTINGS=1000000/60", "KITH_RATE_BATCH=20/60",
	}
}

// operate runs a kith command while the service runs.
func (s *site) operate(input string, args ...string) string {
	s.t.Helper()
	return s.operateOn(s.databaseURL, input, args...)
}

func (s *site) operateOn(databaseURL, input string, args ...string) string {
	s.t.Helper()
	command := exec.CommandContext(s.t.Context(), s.builds[0], args...)
	command.Env = []string{"KITH_DATABASE_URL=" + databaseURL, "PATH=" + os.Getenv("PATH")}
	command.Stdin = strings.NewReader(input)
	out, err := command.Output()
	if err != nil {
		s.t.Fatalf("kith %v: %v", args, err)
	}
	return strings.TrimSpace(string(out))
}

// member creates a member with the plan, and returns a personal token.
func (s *site) member(plan string) (username, password, token string) {
	s.t.Helper()
	username, password = "m-"+strings.ToLower(rand.Text()[:12]), rand.Text()
	s.operate(password, "member", "create", username, "--email", username+"@member.example", "--password-stdin", "--plan", plan)
	lines := strings.Split(s.operate("", "token", "create", username, "--name", "ops"), "\n")
	return username, password, lines[len(lines)-1]
}

// certificate creates a certificate for the edges, which the clients trust.
func (s *site) certificate() (certFile, keyFile string) {
	s.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(s.t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(0, 3, 0), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(s.t, err)
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	must(s.t, err)
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	certFile, keyFile = filepath.Join(s.dir, "edge.pem"), filepath.Join(s.dir, "edge.key")
	write(s.t, certFile, string(cert))
	write(s.t, keyFile, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})))
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(cert)
	s.trust = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	return certFile, keyFile
}

// name returns the process name for a target address of Prometheus.
func (s *site) name(instance string) string {
	for name, address := range s.admin {
		if address == instance {
			return name
		}
	}
	return instance
}
