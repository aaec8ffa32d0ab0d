package operations

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// documented returns the blocks of shell commands below a heading of a document, which is given with its marks.
func documented(t *testing.T, file, heading string) []string {
	t.Helper()
	text, err := os.ReadFile(harness.Repository("deploy", "docs", file))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n"+heading+"\n")
	if !found {
		t.Fatalf("%s has no %q", file, heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	section, _, _ = strings.Cut(section, "\n### ")
	var blocks []string
	for i, part := range strings.Split(section, "\n```") {
		if commands, isShell := strings.CutPrefix(part, "sh\n"); isShell && i%2 == 1 {
			blocks = append(blocks, commands)
		}
	}
	return blocks
}

// shell returns a shell for commands, which ends with the first one that fails. Each pair of
// stands replaces a path or a time of the documentation, which must be in the commands.
func shell(t *testing.T, commands string, env []string, as *syscall.Credential, stands map[string]string) *exec.Cmd {
	t.Helper()
	for documented, here := range stands {
		if !strings.Contains(commands, documented) {
			t.Fatalf("%q is not in the commands:\n%s", documented, commands)
		}
		commands = strings.ReplaceAll(commands, documented, here)
	}
	command := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", commands)
	command.Dir, command.Env = "/", env
	command.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	return command
}

// runShell runs a shell that must succeed.
func runShell(t *testing.T, command *exec.Cmd) {
	t.Helper()
	start := time.Now()
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%s\n%v\n%s", command, err, out)
	}
	t.Logf("%s took %s", strings.Fields(command.Args[len(command.Args)-1])[0], time.Since(start).Round(time.Millisecond))
}

// written is a connection that an agent created.
type written struct {
	name         string
	asked, acked time.Time
}

// writer creates connections one after the other until it is stopped, or the service is.
type writer struct {
	mu      sync.Mutex
	written []written
	stop    context.CancelFunc
	done    chan struct{}
}

// newWriter starts a writer. The names of what it creates begin with the prefix.
func newWriter(t *testing.T, agent harness.Agent, prefix string) *writer {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w := &writer{stop: cancel, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		for ctx.Err() == nil {
			one := written{name: prefix + " " + harness.NewWord(), asked: time.Now()}
			if !agent.Reaches(ctx, harness.ToolCall(t, "create_connection", harness.Arguments{"name": one.name, "emails": []string{harness.NewWord() + "@people.example"}})) {
				return
			}
			one.acked = time.Now()
			w.mu.Lock()
			w.written = append(w.written, one)
			w.mu.Unlock()
		}
	}()
	t.Cleanup(w.end)
	return w
}

// end stops the writer.
func (w *writer) end() {
	w.stop()
	<-w.done
}

// all returns what was acknowledged so far.
func (w *writer) all() []written {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]written(nil), w.written...)
}

// namesIn returns the names of all connections in the service's database.
func namesIn(t *testing.T, s *harness.Service) map[string]bool {
	t.Helper()
	db := s.OpenDatabase(t)
	names := map[string]bool{}
	for _, name := range column(t, db, "SELECT name FROM connections") {
		names[name] = true
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return names
}
