// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/operations -run TestTour

package operations

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// step is one command of the tour with the output shown there.
type step struct{ command, output string }

// TestTour runs the commands of tour.md in one shell and compares the output with the one
// shown.
func TestTour(t *testing.T) {
	t.Parallel()
	s := harness.NewService(t, harness.SQLite)
	for name := range s.Settings {
		if strings.HasPrefix(name, "KITH_RATE_") {
			delete(s.Settings, name) // the tour shows a limit
		}
	}
	s.Start()
	text, err := os.ReadFile(harness.Repository("deploy", "docs", "tour.md"))
	if err != nil {
		t.Fatal(err)
	}
	steps := readSteps(string(text))
	if len(steps) < 20 {
		t.Fatalf("the tour has %d steps", len(steps))
	}
	const mark = "\x1e"
	var script strings.Builder
	for _, step := range steps {
		script.WriteString(step.command + "\nprintf '" + mark + "'\n")
	}
	shell := exec.CommandContext(t.Context(), "bash")
	shell.Dir = harness.Repository()
	shell.Env = append(harness.BareEnvironment(), "KITH_DATABASE_URL="+s.DatabaseURL, "TZ=UTC")
	shell.Stdin = strings.NewReader(strings.NewReplacer(
		"http://localhost:8080", s.Base,
		"$PWD/.tmp/bin", filepath.Dir(harness.PlainBinary), // where make run puts its program
	).Replace(script.String()))
	out, err := shell.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	printed := strings.Split(string(out), mark)
	for i, step := range steps {
		got := stillWindow(strings.ReplaceAll(printed[i], s.Base, "http://localhost:8080"))
		if want := stillWindow(step.output); got != want {
			t.Errorf("%s\nprints\n%s\nbut the tour shows\n%s", step.command, got, want)
		}
	}
}

// readSteps returns the commands in the console blocks of a document. Lines indented by four
// spaces continue a command.
func readSteps(document string) []step {
	var steps []step
	inside := false
	for line := range strings.Lines(document) {
		switch command, isCommand := strings.CutPrefix(line, "$ "); {
		case strings.HasPrefix(line, "```"):
			inside = line == "```console\n"
		case !inside:
		case isCommand:
			steps = append(steps, step{command: command})
		case strings.HasPrefix(line, "    "):
			steps[len(steps)-1].command += line
		default:
			steps[len(steps)-1].output += strings.ReplaceAll(line, "\r", "")
		}
	}
	return steps
}

var window = regexp.MustCompile(`r=\d+;t=\d+`)

// stillWindow removes the remaining quota and reset time of rate limits.
func stillWindow(text string) string {
	return window.ReplaceAllString(strings.ReplaceAll(text, "\r", ""), "r=;t=")
}
