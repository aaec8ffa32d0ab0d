package harness

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// output collects what a process wrote so far.
type Output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *Output) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *Output) String() string {
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
	Stdout, Stderr Output
	Exited         chan struct{} // closed when the process has ended
	Ended          bool          // a test has already stopped it
}

// StartProgram starts kith. When the test ends it stops kith and checks that the exit code
// is 0 and that no secret is in the log.
func StartProgram(t testing.TB, env []string, args ...string) *Program {
	t.Helper()
	return startBinary(t, serviceBinary, env, args...)
}

// startBinary is StartProgram for another build.
func startBinary(t testing.TB, binary string, env []string, args ...string) *Program {
	t.Helper()
	p := &Program{t: t, Name: "kith " + strings.Join(args, " "), Exited: make(chan struct{})}
	p.Command = exec.Command(binary, args...)
	p.Command.Dir = t.TempDir() // keeps files out of the folder of the tests
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

// BareEnvironment returns an environment without the developer's own settings.
func BareEnvironment() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "GORACE=halt_on_error=0"}
}

// AwaitReady waits for the line that says that kith is ready.
func (p *Program) AwaitReady() {
	p.t.Helper()
	Eventually(p.t, p.Name+" is ready", func() bool {
		select {
		case <-p.Exited:
			p.Ended = true
			p.t.Fatalf("%s exited while starting: %s", p.Name, p.Stderr.String())
		default:
		}
		return strings.Contains(p.Stdout.String(), " is ready on ")
	})
}

// Signal sends the process a signal to stop.
func (p *Program) Signal() {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
}

// HangUp tells the process that its terminal was closed.
func (p *Program) HangUp() {
	p.t.Helper()
	p.signal(syscall.SIGHUP)
}

// Freeze stops the process from running, until Continue.
func (p *Program) Freeze() { p.signal(syscall.SIGSTOP) }

// Continue lets a frozen process run.
func (p *Program) Continue() { p.signal(syscall.SIGCONT) }

func (p *Program) signal(s os.Signal) {
	p.t.Helper()
	if err := p.Command.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Error(err)
	}
}

// AwaitExit waits until the process has exited with code 0.
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

// Kill ends the process abruptly, like a crash.
func (p *Program) Kill() {
	p.t.Helper()
	p.Ended = true
	if err := p.Command.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Error(err)
	}
	<-p.Exited
}

// tail returns the last lines of a log, for failure messages, after the reports of data races
// that came before them.
func tail(text string) string {
	const most = 4000
	cut := max(0, len(text)-most)
	return strings.Join(append(raceReport.FindAllString(text[:cut], 3), text[cut:]), "\n")
}

var raceReport = regexp.MustCompile(`(?s)WARNING: DATA RACE.*?={18}`)
