//go:build ha

package ops

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// network is a virtual network with a namespace for each host. The hosts are in two halves,
// whose bridges are connected by a veth pair. The clients are in the second half.
type network struct {
	t *testing.T
}

const (
	networkPrefix = "10.213.77."
	firstSwitch   = "khalf1"
	secondSwitch  = "khalf2"
	cable         = "kcable1" // its other end is kcable2
)

// newNetwork creates the bridges of both halves and connects them.
func newNetwork(t *testing.T) *network {
	t.Helper()
	n := &network{t: t}
	t.Cleanup(func() {
		for _, link := range []string{cable, firstSwitch, secondSwitch} {
			_ = exec.Command("ip", "link", "del", link).Run() // it may not exist
		}
	})
	n.ip("link", "add", firstSwitch, "type", "bridge")
	n.ip("link", "add", secondSwitch, "type", "bridge")
	n.ip("link", "add", cable, "type", "veth", "peer", "name", "kcable2")
	n.ip("link", "set", cable, "master", firstSwitch, "up")
	n.ip("link", "set", "kcable2", "master", secondSwitch, "up")
	n.ip("link", "set", firstSwitch, "up")
	n.ip("link", "set", secondSwitch, "up")
	n.ip("addr", "add", networkPrefix+"1/24", "dev", secondSwitch)
	return n
}

func (n *network) ip(args ...string) {
	n.t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		n.t.Fatalf("ip %v: %v %s", args, err, out)
	}
}

// split disconnects the halves; join connects them again.
func (n *network) split() { n.ip("link", "set", cable, "down") }
func (n *network) join()  { n.ip("link", "set", cable, "up") }

// host is a machine of the network.
type host struct {
	network      *network
	name, ip     string
	link, spaced string // its port of the bridge, and its namespace
	runs         []*process
}

// host makes a host. Its address ends with the number.
func (n *network) host(name string, number int, half string) *host {
	n.t.Helper()
	h := &host{network: n, name: name, ip: networkPrefix + strconv.Itoa(number), link: "kport" + strconv.Itoa(number), spaced: "kith-" + name}
	n.ip("netns", "add", h.spaced)
	n.t.Cleanup(func() {
		h.signal(syscall.SIGKILL)
		_ = exec.Command("ip", "link", "del", h.link).Run() // else it would stay until the last process has left the namespace
		_ = exec.Command("ip", "netns", "del", h.spaced).Run()
	})
	n.ip("link", "add", h.link, "type", "veth", "peer", "name", "eth0", "netns", h.spaced)
	n.ip("link", "set", h.link, "master", half, "up")
	n.ip("-n", h.spaced, "link", "set", "lo", "up")
	n.ip("-n", h.spaced, "addr", "add", h.ip+"/24", "dev", "eth0")
	n.ip("-n", h.spaced, "link", "set", "eth0", "up")
	return h
}

func (h *host) at(port int) string { return fmt.Sprintf("%s:%d", h.ip, port) }

// unplug disconnects the host from the network; plug connects it again.
func (h *host) unplug() { h.network.ip("link", "set", h.link, "down") }
func (h *host) plug()   { h.network.ip("link", "set", h.link, "up") }

// signal sends a signal to every process of the host.
func (h *host) signal(how syscall.Signal) {
	out, err := exec.Command("ip", "netns", "pids", h.spaced).Output()
	if err != nil {
		return // the namespace is gone
	}
	for field := range strings.FieldsSeq(string(out)) {
		if pid, err := strconv.Atoi(field); err == nil {
			_ = syscall.Kill(pid, how) // it may have ended
		}
	}
}

// crash ends every process of the host abruptly, and start starts them again.
func (h *host) crash() {
	h.network.t.Helper()
	h.signal(syscall.SIGKILL)
	for _, p := range h.runs {
		<-p.exited
		p.command = nil
	}
}

func (h *host) start() {
	h.network.t.Helper()
	for _, p := range h.runs {
		p.start()
	}
}

// program adds a program to the host, without starting it. user is the user that it runs as;
// empty for root.
func (h *host) program(name, user string, ready func() bool, command ...string) *process {
	h.network.t.Helper()
	args := []string{"netns", "exec", h.spaced}
	if user != "" {
		args = append(args, "setpriv", "--reuid="+user, "--regid="+user, "--init-groups")
	}
	command[0] = installed(h.network.t, command[0])
	p := &process{t: h.network.t, name: name, program: installed(h.network.t, "ip"), args: append(args, command...), ready: ready}
	h.runs = append(h.runs, p.watch())
	h.network.t.Cleanup(func() { h.signal(syscall.SIGKILL) }) // before waiting for p: PostgreSQL is not in its process group
	return p
}
