package e2e

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// journal is what a process wrote so far.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// program is a running kith.
type program struct {
	t              *testing.T
	name           string
	admin          string // the address of its admin page
	command        *exec.Cmd
	stdout, stderr journal
	exited         chan struct{} // closed when the process has ended
	ended          bool          // a test has seen to the end itself
}

// startProgram starts kith and sees to it that it ends with the test, with exit
// code 0 and without a secret in its log.
func startProgram(t *testing.T, env []string, args ...string) *program {
	t.Helper()
	return startBinary(t, serviceBinary, env, args...)
}

// startBinary is startProgram of another build.
func startBinary(t *testing.T, binary string, env []string, args ...string) *program {
	t.Helper()
	p := &program{t: t, name: "kith " + strings.Join(args, " "), exited: make(chan struct{})}
	p.command = exec.Command(binary, args...)
	p.command.Dir = t.TempDir() // nothing may be written to where the tests are
	p.command.Env = append(bareEnvironment(), env...)
	p.command.Stdout, p.command.Stderr = &p.stdout, &p.stderr
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.command.Wait() // its outcome is in ProcessState
		close(p.exited)
	}()
	t.Cleanup(func() {
		if !p.ended {
			p.stop()
		}
		secrets.mustNotBeIn(t, "the output of "+p.name, p.stdout.String())
		secrets.mustNotBeIn(t, "the log of "+p.name, p.stderr.String())
		if t.Failed() {
			t.Logf("%s ended with its log:\n%s", p.name, tail(p.stderr.String()))
		}
	})
	return p
}

// bareEnvironment keeps the developer's own settings away from the program.
func bareEnvironment() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "GORACE=halt_on_error=0"}
}

// awaitReady waits for the line that says that calls are answered.
func (p *program) awaitReady() {
	p.t.Helper()
	eventually(p.t, p.name+" is ready", func() bool {
		select {
		case <-p.exited:
			p.ended = true
			p.t.Fatalf("%s ended at its start: %s", p.name, p.stderr.String())
		default:
		}
		return strings.Contains(p.stdout.String(), " is ready on ")
	})
}

// signal tells the process to end.
func (p *program) signal() {
	p.t.Helper()
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Error(err)
	}
}

// awaitExit waits until the process has ended by itself, without a complaint.
func (p *program) awaitExit() {
	p.t.Helper()
	p.ended = true
	select {
	case <-p.exited:
	case <-time.After(patience):
		p.t.Errorf("%s does not stop", p.name)
		p.kill()
	}
	if code := p.command.ProcessState.ExitCode(); code != 0 {
		p.t.Errorf("%s stopped with exit code %d:\n%s", p.name, code, tail(p.stderr.String()))
	}
}

func (p *program) stop() {
	p.t.Helper()
	p.signal()
	p.awaitExit()
}

// kill ends the process as a crash would.
func (p *program) kill() {
	p.t.Helper()
	p.ended = true
	if err := p.command.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Error(err)
	}
	<-p.exited
}

// tail keeps failures readable.
func tail(text string) string {
	const most = 4000
	return text[max(0, len(text)-most):]
}
