package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a service that was started.
type process struct {
	command *exec.Cmd
	addr    string
	log     *os.File
}

// start runs a program until stop, and waits until address answers.
func start(ctx context.Context, log, ready, program string, args, env []string) (*process, error) {
	out, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	command := exec.Command(program, args...)
	command.Env = append(os.Environ(), env...)
	command.Stdout, command.Stderr = out, out
	if err := command.Start(); err != nil {
		return nil, errors.Join(err, out.Close())
	}
	p := &process{command: command, log: out}
	for range 600 {
		if res, err := http.Get(ready); err == nil {
			if err := res.Body.Close(); err != nil || res.StatusCode < http.StatusInternalServerError {
				return p, err
			}
		}
		pause(ctx, 100*time.Millisecond)
	}
	p.stop()
	return nil, fmt.Errorf("%s is not ready: see %s", program, log)
}

// serve starts a Kith on a database.
func (b *bench) serve(ctx context.Context, d *database, as manner) (*process, error) {
	addr, admin := freeAddr(), freeAddr()
	p, err := start(ctx, filepath.Join(b.work, d.name+".log"), "http://"+admin+"/readyz", as.program, []string{"serve"}, append([]string{
		"KITH_DATABASE_URL=" + d.url, "KITH_ADDR=" + addr, "KITH_ADMIN_ADDR=" + admin, "KITH_SANDBOX=false",
	}, as.env...))
	if err != nil {
		return nil, err
	}
	p.addr = addr
	if b.hold != "" {
		fmt.Fprintf(os.Stderr, "profile: http://%s/debug/pprof/profile\n", admin)
	}
	return p, nil
}

// peer starts the plain net/http server.
func (b *bench) peer(ctx context.Context) (*process, error) {
	addr := freeAddr()
	p, err := start(ctx, filepath.Join(b.work, "limit.log"), "http://"+addr+"/fixed", b.limit,
		[]string{"-addr", addr, "-db", b.limitDB, "-store", b.limitDB}, nil)
	if err == nil {
		p.addr = addr
	}
	return p, err
}

// freeAddr is an address that nobody listens on.
func freeAddr() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "127.0.0.1:0"
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

func (p *process) stop() {
	_ = p.command.Process.Signal(syscall.SIGTERM)
	_ = p.command.Wait()
	_ = p.log.Close()
}

// used is the processor time that the process took so far.
func (p *process) used(context.Context) (usage, error) {
	own, err := cpuTime(p.command.Process.Pid)
	return usage{service: own}, err
}

// cpuTime is the time of all threads of a process: in nanoseconds, or where the
// kernel does not tell, in ticks.
func cpuTime(pid int) (time.Duration, error) {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	var sum time.Duration
	for _, file := range threads {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // the thread ended
		}
		if first, _, ok := bytes.Cut(text, []byte(" ")); ok {
			n, _ := strconv.ParseInt(string(first), 10, 64)
			sum += time.Duration(n)
		}
	}
	if sum > 0 {
		return sum, nil
	}
	return ticks(pid)
}

// tick is the unit of /proc/PID/stat.
const tick = 10 * time.Millisecond

func ticks(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The name, in parentheses, may hold anything; utime and stime are the 12th and
	// 13th fields after it.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat cannot be read: %s", pid, text)
	}
	user, userErr := strconv.Atoi(fields[11])
	system, systemErr := strconv.Atoi(fields[12])
	return time.Duration(user+system) * tick, errors.Join(userErr, systemErr)
}
