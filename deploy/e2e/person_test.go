package e2e

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

func chromium(t *testing.T) string {
	t.Helper()
	path := os.Getenv(chromiumVariable)
	if path == "" {
		t.Fatalf("%s is not set: `make test` finds or installs a Chromium for these tests, `go test -short` leaves them out", chromiumVariable)
	}
	return path
}

// eachSite runs the test, with people in it, against one process and against two;
// the test starts them.
func eachSite(t *testing.T, run func(t *testing.T, s *service)) {
	t.Helper()
	atSites(t, []topology{onSQLite, inTwo}, run)
}

// atSplitSite is eachSite with two processes only: what one does, they do with one
// thing more between the browser and the pages, and browsers take their time.
func atSplitSite(t *testing.T, run func(t *testing.T, s *service)) {
	t.Helper()
	atSites(t, []topology{inTwo}, run)
}

func atSites(t *testing.T, ways []topology, run func(t *testing.T, s *service)) {
	t.Helper()
	t.Parallel()
	if testing.Short() {
		t.Skip("the browser, and what drives it, are no part of this repository")
	}
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			browsers <- struct{}{}
			defer func() { <-browsers }()
			s := newService(t, way)
			s.settings["KITH_SANDBOX"] = "false" // seeding it takes a while, and no person meets it
			run(t, s)
		})
	}
}

// startWith starts the service with more settings.
func (s *service) startWith(settings map[string]string) {
	s.t.Helper()
	maps.Copy(s.settings, settings)
	s.start()
}

// runWithBrowser runs a file of Node.js tests in which people use a browser. What
// secrets they met, the logs are searched for when the service has ended.
func (s *service) runWithBrowser(t *testing.T, file string, settings map[string]string) {
	t.Helper()
	met := filepath.Join(t.TempDir(), "secrets")
	all := map[string]string{"BASE_URL": s.base, "CHROMIUM": chromium(t), "SECRETS_FILE": met}
	maps.Copy(all, settings)
	runNodeTests(t, file, all)
	text, err := os.ReadFile(met)
	if err != nil {
		t.Fatalf("%s met no secret: %v", file, err)
	}
	for line := range strings.Lines(string(text)) {
		kind, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		secrets.keep(kind, value)
	}
}

// screenshots is where the pictures of the pages go: a folder that git ignores.
func (s *service) screenshots(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", ".tmp", "screenshots", s.topology.name))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// person is a member who signs in by themselves.
func (s *service) person(t *testing.T) map[string]string {
	t.Helper()
	username, password := "p-"+strings.ToLower(rand.Text()[:12]), secrets.keep("password", rand.Text())
	s.operate(t, password+"\n", "member", "create", secrets.keep("username", username), "--email", username+"@member.example", "--password-stdin")
	return map[string]string{"MEMBER_USERNAME": username, "MEMBER_PASSWORD": password}
}
