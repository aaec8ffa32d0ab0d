package main

import (
	"bytes"
	"cmp"
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

// process is a running service.
type process struct {
	command *exec.Cmd
	addr    string
	admin   string // of Kith's metrics
	log     *os.File
}

// start starts a program and waits until the URL ready answers.
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
	for range 3000 {
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
func (b *bench) serve(ctx context.Context, d *database, v variant) (*process, error) {
	addr, admin := freeAddr(), freeAddr()
	p, err := start(ctx, filepath.Join(b.work, d.name+".log"), "http://"+admin+"/readyz", v.program, []string{cmp.Or(v.command, "serve")}, append([]string{
		"KITH_DATABASE_URL=" + d.url, "KITH_ADDR=" + addr, "KITH_ADMIN_ADDR=" + admin, "KITH_SANDBOX=false",
	}, v.env...))
	if err != nil {
		return nil, err
	}
	p.addr, p.admin = addr, admin
	if b.hold != "" {
		fmt.Fprintf(os.Stderr, "profile: http://%s/debug/pprof/profile\n", admin)
	}
	return p, nil
}

// peer starts a peer, which serves the people and tokens of the file.
func (b *bench) peer(ctx context.Context, name, data string, env ...string) (*process, error) {
	addr := freeAddr()
	args := []string{"-addr", addr, "-data", data}
	program := filepath.Join(b.peers, name)
	if name == "oidcprovider" {
		program, args = "node", append([]string{filepath.Join(b.root, "deploy/load/peers/oidcprovider/main.mjs")}, args...)
	}
	p, err := start(ctx, filepath.Join(b.work, name+".log"), "http://"+addr+"/", program, args, env)
	if err == nil {
		p.addr = addr
	}
	return p, err
}

// freeAddr returns an unused address.
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

// used returns the processor time of the process so far.
func (p *process) used(context.Context) (usage, error) {
	own, err := cpuTime(p.command.Process.Pid)
	return usage{service: own}, err
}

// cpuTime returns the processor time of all threads of a process, in nanoseconds if the
// kernel has them, otherwise in ticks.
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
	fields, err := stat(pid)
	if err != nil {
		return 0, err
	}
	return sum(fields[11:13])
}

// parse returns the parent of a process, and the processor time of children that ended.
func parse(pid int) (parent int, ended time.Duration, err error) {
	fields, err := stat(pid)
	if err != nil {
		return 0, 0, err
	}
	parent, err = strconv.Atoi(fields[1])
	ended, sumErr := sum(fields[13:15])
	return parent, ended, errors.Join(err, sumErr)
}

// stat returns the fields of /proc/PID/stat after the name, which is in parentheses and may
// contain anything.
func stat(pid int) ([]string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, err
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 15 {
		return nil, fmt.Errorf("parse /proc/%d/stat: %s", pid, text)
	}
	return fields, nil
}

// sum adds up ticks.
func sum(fields []string) (time.Duration, error) {
	var n int
	for _, field := range fields {
		value, err := strconv.Atoi(field)
		if err != nil {
			return 0, err
		}
		n += value
	}
	return time.Duration(n) * tick, nil
}

// resident returns the resident memory of a process, in MiB.
func (p *process) resident() (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, after, _ := strings.Cut(string(text), "VmRSS:")
	var kib float64
	_, err = fmt.Sscan(after, &kib)
	return kib / 1024, err
}
