package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/procfs"
)

// process is a running service.
type process struct {
	command *exec.Cmd
	addr    string
	admin   string // of Kith's metrics
	log     *os.File
	ended   chan struct{} // closed when it has ended
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
	p := &process{command: command, log: out, ended: make(chan struct{})}
	go func() {
		_ = command.Wait() // a process that is killed ends with an error
		_ = out.Close()
		close(p.ended)
	}()
	for range 3000 {
		select {
		case <-p.ended:
			return nil, fmt.Errorf("%s has ended: see %s", program, log)
		case <-time.After(100 * time.Millisecond):
		}
		if res, err := http.Get(ready); err == nil {
			if err := res.Body.Close(); err != nil || res.StatusCode < http.StatusInternalServerError {
				return p, err
			}
		}
		if ctx.Err() != nil {
			break
		}
	}
	p.stop()
	return nil, fmt.Errorf("%s is not ready: see %s", program, log)
}

// variant is a build of Kith with its environment.
type variant struct {
	program string // the released one if empty
	command string // serve if empty
	env     []string
}

// serve starts a Kith on the database at a URL.
func (b *bench) serve(ctx context.Context, name, url string, v variant) (*process, error) {
	addr, admin := freeAddr(), freeAddr()
	p, err := start(ctx, filepath.Join(b.work, name+".log"), "http://"+admin+"/readyz", cmp.Or(v.program, b.kith), []string{cmp.Or(v.command, "serve")}, append([]string{
		"KITH_DATABASE_URL=" + url, "KITH_ADDR=" + addr, "KITH_ADMIN_ADDR=" + admin, "KITH_SANDBOX=false",
	}, v.env...))
	if err != nil {
		return nil, err
	}
	p.addr, p.admin = addr, admin
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

func (p *process) stop() { p.end(syscall.SIGTERM) }

// end sends a signal to the process and waits until it has ended.
func (p *process) end(signal syscall.Signal) {
	_ = p.command.Process.Signal(signal) // it fails if the process has ended
	<-p.ended
}

// used returns the processor time of the process so far.
func (p *process) used() (usage, error) {
	own, err := cpuTime(p.command.Process.Pid)
	return usage{service: own}, err
}

// cpuTime returns the processor time of all threads of a process, in nanoseconds if the kernel has them,
// otherwise in ticks.
func cpuTime(pid int) (time.Duration, error) {
	threads, err := procfs.AllThreads(pid)
	if err != nil {
		return 0, err
	}
	var sum uint64
	for _, thread := range threads {
		if own, err := thread.Schedstat(); err == nil { // otherwise the thread has ended
			sum += own.RunningNanoseconds
		}
	}
	if sum > 0 {
		return time.Duration(sum), nil
	}
	own, err := readStat(pid)
	return time.Duration(own.CPUTime() * float64(time.Second)), err
}

func readStat(pid int) (procfs.ProcStat, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return procfs.ProcStat{}, err
	}
	return p.Stat()
}

// childrenTime returns the processor time of all children of a process, including those that have ended.
func childrenTime(parent int) (time.Duration, error) {
	const tick = 10 * time.Millisecond // the unit of /proc/PID/stat
	own, err := readStat(parent)
	if err != nil {
		return 0, err
	}
	sum := time.Duration(own.CUTime+own.CSTime) * tick
	all, err := procfs.AllProcs()
	for _, p := range all {
		if s, err := p.Stat(); err == nil && s.PPID == parent {
			if used, err := cpuTime(p.PID); err == nil { // otherwise it has ended
				sum += used
			}
		}
	}
	return sum, err
}

// memory returns the resident memory of the process and the largest that it had, in MiB, and the number of its
// open files.
func (p *process) memory() (resident, largest, files float64, err error) {
	proc, err := procfs.NewProc(p.command.Process.Pid)
	if err != nil {
		return 0, 0, 0, err
	}
	status, err := proc.NewStatus()
	open, filesErr := proc.FileDescriptorsLen()
	return float64(status.VmRSS) / (1 << 20), float64(status.VmHWM) / (1 << 20), float64(open), errors.Join(err, filesErr)
}

// metrics returns a function that returns the sum of a metric's values, or of those whose labels have the value
// kind. The value of a histogram is its count.
func (p *process) metrics() (func(name, kind string) float64, error) {
	res, err := http.Get("http://" + p.admin + "/metrics")
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(res.Body)
	return func(name, kind string) (sum float64) {
		for _, m := range families[name].GetMetric() {
			if kind == "" || slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool { return l.GetValue() == kind }) {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
		return sum
	}, err
}

// profile writes a processor profile of the given length into a file.
func (p *process) profile(file string, length time.Duration) error {
	res, err := http.Get(fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", p.admin, max(1, int(length.Seconds()))))
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("profile: %s", res.Status)
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, res.Body)
	return errors.Join(err, out.Close())
}

// load returns the load average of the last minute.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Fields(string(text))[0]
}
