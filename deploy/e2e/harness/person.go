package harness

import (
	"crypto/rand"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// chromiumVariable is the environment variable with the path of a Chromium.
const chromiumVariable = "KITH_TEST_CHROMIUM"

// browsers limits how many tests with a browser run at a time. A browser keeps a processor
// busy, while other tests mostly wait.
var browsers = make(chan struct{}, runtime.GOMAXPROCS(0))

func Chromium(t *testing.T) string {
	t.Helper()
	path := os.Getenv(chromiumVariable)
	if path == "" {
		t.Fatalf("%s is not set: `make test` finds or installs a Chromium for these tests, `go test -short` leaves them out", chromiumVariable)
	}
	return path
}

// EachSite runs a browser test against one process and against two; the test starts
// them.
func EachSite(t *testing.T, run func(t *testing.T, s *Service)) {
	t.Helper()
	atSites(t, []Topology{SQLite, Split}, run)
}

// SplitSite is EachSite with two processes only: they cover what one process does, plus
// the edge's proxy, and browser tests are slow.
func SplitSite(t *testing.T, run func(t *testing.T, s *Service)) {
	t.Helper()
	atSites(t, []Topology{Split}, run)
}

func atSites(t *testing.T, ways []Topology, run func(t *testing.T, s *Service)) {
	t.Helper()
	t.Parallel()
	if testing.Short() {
		t.Skip("the browser and its driver are not part of this repository")
	}
	for _, way := range ways {
		t.Run(way.Name, func(t *testing.T) {
			t.Parallel()
			browsers <- struct{}{}
			defer func() { <-browsers }()
			s := NewService(t, way)
			s.Settings["KITH_SANDBOX"] = "false" // seeding it takes a while, and these tests do not use it
			run(t, s)
		})
	}
}

// StartWith starts the service with more settings.
func (s *Service) StartWith(settings map[string]string) {
	s.T.Helper()
	maps.Copy(s.Settings, settings)
	s.Start()
}

// CreateSecretKey creates the secret key of a service that does not make it itself, before the service starts.
func (s *Service) CreateSecretKey(t *testing.T) {
	t.Helper()
	s.Settings["KITH_SECRET_KEY_FILE"] = filepath.Join(t.TempDir(), "secret.key")
	if made := RunKith(t, Environment(s.Database(), s.Settings), "", "secret", "create"); made.Code != 0 {
		t.Fatalf("%+v", made)
	}
}

// RunWithBrowser runs a file of Node.js browser tests. When the service has ended, its
// logs are searched for the secrets that the tests met.
func (s *Service) RunWithBrowser(t *testing.T, file string, settings map[string]string) {
	t.Helper()
	met := filepath.Join(t.TempDir(), "secrets")
	all := map[string]string{"BASE_URL": s.Base, "CHROMIUM": Chromium(t), "SECRETS_FILE": met}
	maps.Copy(all, settings)
	RunNodeTests(t, file, all)
	Secrets.KeepFile(t, met)
}

// Screenshots returns the folder for screenshots of the pages, which git ignores.
func (o Topology) Screenshots(t *testing.T) string {
	t.Helper()
	dir := Repository(".tmp", "screenshots", o.Name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// NewPerson creates a member and returns the settings with which a test signs in.
func (s *Service) NewPerson(t testing.TB) map[string]string {
	t.Helper()
	username, password := "p-"+strings.ToLower(rand.Text()[:12]), Secrets.Keep("password", rand.Text())
	s.Operate(t, password+"\n", "member", "create", Secrets.Keep("username", username), "--email", username+"@member.example", "--password-stdin")
	return map[string]string{"MEMBER_USERNAME": username, "MEMBER_PASSWORD": password}
}
