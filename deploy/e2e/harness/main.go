package harness

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
)

// PlainBinary is the path of the program without the race detector, for command lines and
// for tests of many rows. A command line starts fifty times slower with the race
// detector and would gain little from it.
var PlainBinary string

// serviceBinary is the path of the program that runs as a service: with the race detector
// if raceVariable is set. The tests themselves run without it; they would take six times
// as long.
var serviceBinary string

// raceVariable is the environment variable that turns on the race detector of services.
const raceVariable = "KITH_TEST_RACE"

// The version, commit and date that the build stamps into the program.
const (
	StampedVersion = "9.8.7-test"
	StampedCommit  = "0123456789abcdef0123456789abcdef01234567"
	StampedDate    = "2026-11-22T10:00:00Z"
)

// Main runs the tests of a package and exits: each package's TestMain calls it. It
// builds kith, and checks at the end what all services of the package sent.
func Main(m *testing.M) {
	flag.Parse()
	setParallel()
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// setParallel runs more tests at once than there are processors, unless the command line
// sets the number: tests spend most of their time waiting.
func setParallel() {
	const name, each = "test.parallel", 3
	asked := false
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == name })
	if !asked {
		_ = flag.Set(name, strconv.Itoa(each*runtime.GOMAXPROCS(0))) // the testing package's own flag
	}
}

func run(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "kith-e2e-")
	if err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := buildAll(dir); err != nil {
		return 1, fmt.Errorf("kith cannot be built: %w", err)
	}
	originals = newSeeded(dir)
	traces, closeCollector, err := startCollector(false)
	if err != nil {
		return 1, err
	}
	defer closeCollector()
	everyTrace = traces
	if answers, err = newSeenAnswers(dir); err != nil {
		return 1, err
	}
	code = m.Run()
	return code, errors.Join(shared.stop(), originals.remove(), rateHeaders.check(), everyTrace.check(), answers.check())
}

// buildAll builds kith once for all packages, into .tmp/e2e. A binary that is up to date
// is not linked again.
func buildAll(dir string) error {
	built := Repository(".tmp", "e2e")
	if err := os.MkdirAll(built, 0o755); err != nil {
		return err
	}
	lock, err := os.Create(filepath.Join(built, "lock"))
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	if PlainBinary, err = build(dir, "kith"); err != nil {
		return err
	}
	serviceBinary = PlainBinary
	if os.Getenv(raceVariable) != "" {
		// As in the Makefile, SQLite is built without the race detector.
		serviceBinary, err = build(dir, "kith-race", "-race", "-gcflags=modernc.org/sqlite/lib=-race=false")
	}
	return err
}

// build builds kith and links it into the folder, which other users may enter: one test
// runs the program as another user.
func build(dir, name string, flags ...string) (path string, err error) {
	target := Repository(".tmp", "e2e", name)
	args := append([]string{"build", "-ldflags=-s -w -X main.buildVersion=" + StampedVersion + " -X main.buildCommit=" + StampedCommit + " -X main.buildDate=" + StampedDate, "-o", target}, flags...)
	command := exec.Command("go", append(args, "github.com/kith-crm/kith/deploy/cmd/kith")...)
	command.Stdout, command.Stderr = os.Stderr, os.Stderr
	if err := command.Run(); err != nil {
		return "", err
	}
	path = filepath.Join(dir, name)
	if os.Link(target, path) != nil { // on another file system
		program, err := os.ReadFile(target)
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(path, program, 0o755); err != nil {
			return "", err
		}
	}
	return path, os.Chmod(dir, 0o755)
}

// Repository returns the path of a file of this repository. Tests run in the folder
// of their package, which is deploy/e2e/<area>.
func Repository(parts ...string) string {
	here, err := os.Getwd()
	if err != nil {
		return filepath.Join(parts...)
	}
	return filepath.Join(append([]string{here, "..", "..", ".."}, parts...)...)
}
