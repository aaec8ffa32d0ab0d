package harness

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

// output is what a process wrote so far.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *output) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *output) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// Program is a running kith.
type Program struct {
	t              testing.TB
	Name           string
	Admin          string // the address of its admin page
	Command        *exec.Cmd
	Stdout, Stderr output
	Exited         chan struct{} // closed when the process has ended
	Ended          bool          // a test has seen to the end itself
}

// StartProgram starts kith and sees to it that it ends with the test, with exit
// code 0 and without a secret in its log.
func StartProgram(t testing.TB, env []string, args ...string) *Program {
	t.Helper()
	return startBinary(t, serviceBinary, env, args...)
}

// startBinary is startProgram of another build.
func startBinary(t testing.TB, binary string, env []string, args ...string) *Program {
	t.Helper()
	p := &Program{t: t, Name: "kith " + strings.Join(args, " "), Exited: make(chan struct{})}
	p.Command = exec.Command(binary, args...)
	p.Command.Dir = t.TempDir() // nothing may be written to where the tests are
	p.Command.Env = append(BareEnvironment(), env...)
	p.Command.Stdout, p.Command.Stderr = &p.Stdout, &p.Stderr
	if err := p.Command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.Command.Wait() // its outcome is in ProcessState
		close(p.Exited)
	}()
	t.Cleanup(func() {
		if !p.Ended {
			p.Stop()
		}
		Secrets.MustNotBeIn(t, "the output of "+p.Name, p.Stdout.String())
		Secrets.MustNotBeIn(t, "the log of "+p.Name, p.Stderr.String())
		if t.Failed() {
			t.Logf("%s ended with its log:\n%s", p.Name, tail(p.Stderr.String()))
		}
	})
	return p
}

// BareEnvironment keeps the developer's own settings away from the program.
func BareEnvironment() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "GORACE=halt_on_error=0"}
}

// AwaitReady waits for the line that says that calls are answered.
func (p *Program) AwaitReady() {
	p.t.Helper()
	Eventually(p.t, p.Name+" is ready", func() bool {
		select {
		case <-p.Exited:
			p.Ended = true
			p.t.Fatalf("%s ended at its start: %s", p.Name, p.Stderr.String())
		default:
		}
		return strings.Contains(p.Stdout.String(), " is ready on ")
	})
}

// Signal tells the process to end.
func (p *Program) Signal() {
	p.t.Helper()
	if err := p.Command.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Error(err)
	}
}

// AwaitExit waits until the process has ended by itself, without a complaint.
func (p *Program) AwaitExit() {
	p.t.Helper()
	p.Ended = true
	select {
	case <-p.Exited:
	case <-time.After(Timeout):
		p.t.Errorf("%s does not stop", p.Name)
		p.Kill()
	}
	if code := p.Command.ProcessState.ExitCode(); code != 0 {
		p.t.Errorf("%s stopped with exit code %d:\n%s", p.Name, code, tail(p.Stderr.String()))
	}
}

func (p *Program) Stop() {
	p.t.Helper()
	p.Signal()
	p.AwaitExit()
}

// Kill ends the process as a crash would.
func (p *Program) Kill() {
	p.t.Helper()
	p.Ended = true
	if err := p.Command.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Error(err)
	}
	<-p.Exited
}

// tail keeps failures readable.
func tail(text string) string {
	const most = 4000
	return text[max(0, len(text)-most):]
}
