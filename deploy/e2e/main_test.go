package e2e

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
)

// The program under test, built by TestMain: as it is, for command lines, and as
// it runs as a service, which is with the race detector where the tests have it.
// (A command line would start fifty times slower with it, and does one thing.)
var kithBinary, serviceBinary string

// What the program is told that it is.
const (
	stampedVersion = "9.8.7-test"
	stampedCommit  = "0123456789abcdef0123456789abcdef01234567"
	stampedDate    = "2026-11-22T10:00:00Z"
)

func TestMain(m *testing.M) {
	flag.Parse()
	parallelise()
	os.Exit(buildAndRun(m))
}

// parallelise runs more tests at once than there are processors, unless the
// command line says how many: most of a test's time is spent waiting.
func parallelise() {
	const name, each = "test.parallel", 3
	asked := false
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == name })
	if !asked {
		_ = flag.Set(name, strconv.Itoa(each*runtime.GOMAXPROCS(0))) // the testing package's own flag
	}
}

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "kith-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	// A test that runs the program as somebody else must be able to reach it.
	if err := os.Chmod(dir, 0o755); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	kithBinary = filepath.Join(dir, "kith")
	serviceBinary = kithBinary
	err = build(kithBinary)
	if err == nil && raceDetector {
		serviceBinary = filepath.Join(dir, "kith-race")
		err = build(serviceBinary, "-race")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e: kith cannot be built:", err)
		return 1
	}
	originals = newSeeded(dir)
	traces, closeCollector, err := startCollector(false)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	defer closeCollector()
	everyTrace = traces
	code := m.Run()
	if err := originals.remove(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = max(code, 1)
	}
	if err := errors.Join(rateHeaders.judge(), everyTrace.judge()); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return max(code, 1)
	}
	return code
}

func build(target string, flags ...string) error {
	args := append([]string{"build", "-ldflags=-X main.buildVersion=" + stampedVersion + " -X main.buildCommit=" + stampedCommit + " -X main.buildDate=" + stampedDate, "-o", target}, flags...)
	command := exec.Command("go", append(args, "github.com/kith-crm/kith/deploy/cmd/kith")...)
	command.Stdout, command.Stderr = os.Stderr, os.Stderr
	return command.Run()
}
