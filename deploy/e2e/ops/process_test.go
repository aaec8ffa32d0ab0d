package ops

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"
)

// timeout is how long the test waits for a condition.
const timeout = 90 * time.Second

// tick is how long a wait sleeps before it looks again.
const tick = 10 * time.Millisecond

// within waits until done reports true, and returns how long that took.
func within(t *testing.T, most time.Duration, what string, done func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	for !done() {
		if time.Since(began) > most {
			t.Fatalf("%s: not true after %s", what, most)
		}
		time.Sleep(tick)
	}
	return time.Since(began)
}

// process is a program that is started, ended, and started again.
type process struct {
	t       *testing.T
	name    string
	program string
	args    []string
	env     []string
	as      *syscall.Credential // nil for the user who runs the test
	// ready reports whether it can be used.
	ready func() bool

	command *exec.Cmd
	exited  chan struct{}
	log     processLog
}

// processLog collects what a process wrote so far.
type processLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *processLog) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

// tail returns the end of the log.
func (j *processLog) tail() string {
	const most = 6000
	j.mu.Lock()
	defer j.mu.Unlock()
	text := j.text.String()
	return text[max(0, len(text)-most):]
}

// watch stops the process when the test ends, and logs its output if the test failed.
func (p *process) watch() *process {
	p.t.Cleanup(func() {
		if p.command != nil {
			p.kill()
		}
		if p.t.Failed() {
			p.t.Logf("%s logged last:\n%s", p.name, p.log.tail())
		}
	})
	return p
}

// launch starts the process without waiting for it.
func (p *process) launch() {
	p.t.Helper()
	p.command = exec.Command(p.program, p.args...)
	p.command.Dir = "/"
	p.command.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "LC_ALL=C.UTF-8"}, p.env...)
	p.command.Stdout, p.command.Stderr = &p.log, &p.log
	// A group of its own, so that a kill leaves no child behind.
	p.command.SysProcAttr = &syscall.SysProcAttr{Credential: p.as, Setpgid: true}
	if err := p.command.Start(); err != nil {
		p.t.Fatalf("%s: %v", p.name, err)
	}
	exited := make(chan struct{})
	p.exited = exited
	command := p.command
	go func() {
		_ = command.Wait() // its outcome is in ProcessState
		close(exited)
	}()
}

// start starts the process and waits until it can be used.
func (p *process) start() {
	p.t.Helper()
	p.launch()
	p.awaitReady()
}

func (p *process) awaitReady() {
	p.t.Helper()
	within(p.t, timeout, p.name+" is ready", func() bool {
		select {
		case <-p.exited:
			p.t.Fatalf("%s exited while starting:\n%s", p.name, p.log.tail())
		default:
		}
		return p.ready()
	})
}

// kill ends the process and its children abruptly, like a crash.
func (p *process) kill() { p.end(syscall.SIGKILL) }

// stop tells the process to stop, and fails the test unless it exits with code 0.
func (p *process) stop() {
	p.t.Helper()
	select {
	case <-p.exited:
		p.t.Errorf("%s had already exited:\n%s", p.name, p.log.tail())
	default:
	}
	command := p.command
	p.end(syscall.SIGTERM)
	if code := command.ProcessState.ExitCode(); code != 0 {
		p.t.Errorf("%s stopped with exit code %d:\n%s", p.name, code, p.log.tail())
	}
}

// interrupt stops the process at once but cleanly; PostgreSQL calls this a fast shutdown.
func (p *process) interrupt() { p.end(syscall.SIGINT) }

func (p *process) end(how syscall.Signal) {
	p.t.Helper()
	target := p.command.Process.Pid
	if how == syscall.SIGKILL {
		target = -target // the group
	}
	if err := syscall.Kill(target, how); err != nil && !errors.Is(err, syscall.ESRCH) {
		p.t.Errorf("%s: %v", p.name, err)
	}
	select {
	case <-p.exited:
	case <-time.After(timeout):
		p.t.Errorf("%s does not exit", p.name)
	}
	p.command = nil
}
