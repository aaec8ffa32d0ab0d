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

// chromiumVariable holds the path of a Chromium, which does a person's part.
const chromiumVariable = "KITH_TEST_CHROMIUM"

// browsers holds a place for each test with a browser that may run at a time. A
// browser keeps a processor busy, where other tests wait most of their time.
var browsers = make(chan struct{}, runtime.GOMAXPROCS(0))

func Chromium(t *testing.T) string {
	t.Helper()
	path := os.Getenv(chromiumVariable)
	if path == "" {
		t.Fatalf("%s is not set: `make test` finds or installs a Chromium for these tests, `go test -short` leaves them out", chromiumVariable)
	}
	return path
}

// EachSite runs the test, with people in it, against one process and against two;
// the test starts them.
func EachSite(t *testing.T, run func(t *testing.T, s *Service)) {
	t.Helper()
	atSites(t, []Topology{SQLite, Split}, run)
}

// SplitSite is eachSite with two processes only: what one does, they do with one
// thing more between the browser and the pages, and browsers take their time.
func SplitSite(t *testing.T, run func(t *testing.T, s *Service)) {
	t.Helper()
	atSites(t, []Topology{Split}, run)
}

func atSites(t *testing.T, ways []Topology, run func(t *testing.T, s *Service)) {
	t.Helper()
	t.Parallel()
	if testing.Short() {
		t.Skip("the browser, and what drives it, are no part of this repository")
	}
	for _, way := range ways {
		t.Run(way.Name, func(t *testing.T) {
			t.Parallel()
			browsers <- struct{}{}
			defer func() { <-browsers }()
			s := NewService(t, way)
			s.Settings["KITH_SANDBOX"] = "false" // seeding it takes a while, and no person meets it
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

// RunWithBrowser runs a file of Node.js tests in which people use a browser. What
// secrets they met, the logs are searched for when the service has ended.
func (s *Service) RunWithBrowser(t *testing.T, file string, settings map[string]string) {
	t.Helper()
	met := filepath.Join(t.TempDir(), "secrets")
	all := map[string]string{"BASE_URL": s.Base, "CHROMIUM": Chromium(t), "SECRETS_FILE": met}
	maps.Copy(all, settings)
	RunNodeTests(t, file, all)
	text, err := os.ReadFile(met)
	if err != nil {
		t.Fatalf("%s met no secret: %v", file, err)
	}
	for line := range strings.Lines(string(text)) {
		kind, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		Secrets.Keep(kind, value)
	}
}

// Screenshots is where the pictures of the pages go: a folder that git ignores.
func (s *Service) Screenshots(t *testing.T) string {
	t.Helper()
	dir := Repository(".tmp", "screenshots", s.Topology.Name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// NewPerson is a member who signs in by themselves.
func (s *Service) NewPerson(t *testing.T) map[string]string {
	t.Helper()
	username, password := "p-"+strings.ToLower(rand.Text()[:12]), Secrets.Keep("password", rand.Text())
	s.Operate(t, password+"\n", "member", "create", Secrets.Keep("username", username), "--email", username+"@member.example", "--password-stdin")
	return map[string]string{"MEMBER_USERNAME": username, "MEMBER_PASSWORD": password}
}
