//go:build ha

package ops

import (
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kith-crm/kith/deploy/internal/freeport"
)

// cluster is a site of many hosts: everything that a request needs runs on two or more hosts.
type cluster struct {
	*site

	network   *network
	stores    []*host // of etcd
	databases []*host // of PostgreSQL with Patroni
	caches    []*host // of Redis and Sentinels
	members   []*host // two backends, then two edges
}

// newCluster starts all hosts and Prometheus. The first of each kind is in the first half of
// the network, the others are in the second.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	if os.Getuid() != 0 {
		t.Fatal("network namespaces need root")
	}
	dir := t.TempDir()
	for _, folder := range []string{dir, filepath.Dir(dir)} {
		must(t, os.Chmod(folder, 0o755)) // PostgreSQL's user needs access
	}
	c := &cluster{site: &site{t: t, dir: dir, ports: freeport.NewAllocator(), admin: map[string]string{}}, network: newNetwork(t)}
	c.builds[0] = filepath.Join(dir, "kith")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", c.builds[0], "github.com/kith-crm/kith/deploy/cmd/kith").CombinedOutput()
	if err != nil {
		t.Fatalf("kith cannot be built: %v\n%s", err, out)
	}
	for i, half := range []string{firstSwitch, secondSwitch, secondSwitch} {
		number := string(rune('1' + i))
		c.stores = append(c.stores, c.network.host("etcd-"+number, 11+i, half))
		c.databases = append(c.databases, c.network.host("postgres-"+number, 21+i, half))
		c.caches = append(c.caches, c.network.host("redis-"+number, 31+i, half))
	}
	for i, name := range []string{"backend-1", "backend-2", "edge-1", "edge-2"} {
		c.members = append(c.members, c.network.host(name, 41+i, []string{firstSwitch, secondSwitch}[i%2]))
	}
	c.startEtcd()
	c.startDatabases()
	c.startRedis()
	c.startKith()
	c.watch()
	return c
}

// startKith starts the backends and edges. Each calls its database or backends through HAProxy.
func (c *cluster) startKith() {
	c.t.Helper()
	toEdges := newBalancer(c.t, c.members[2].at(8443), c.members[3].at(8443))
	service := rand.Text()
	cert, key := c.certificate()
	c.base = "https://localhost:" + toEdges.address[strings.LastIndex(toEdges.address, ":")+1:]
	const database = "6432/postgres?sslmode=disable&pool_mode=transaction"
	c.databaseURL = "postgres://kith@" + c.members[1].ip + ":" + database
	sentinels := "redis://" + c.caches[0].at(26379) + "?master_name=kith&addr=" + c.caches[1].at(26379) + "&addr=" + c.caches[2].at(26379)
	for i, h := range c.members {
		admin := h.at(8081)
		c.admin[h.name] = admin
		settings := []string{"KITH_BACKEND_ADDR=" + h.at(8082), "KITH_DATABASE_URL=postgres://kith@127.0.0.1:" + database, "KITH_SERVICE_TOKEN=" + service,
			"KITH_CREDITS_FREE=60", "KITH_CREDITS_PRO=100000000", "KITH_SIGN_UP=true"}
		command := "backend"
		if i < 2 {
			c.beforeDatabases(h)
		} else {
			command = "edge"
			c.beforeBackends(h)
			settings = []string{"KITH_ADDR=" + h.at(8443), "KITH_BACKEND_URL=http://127.0.0.1:7000", "KITH_SERVICE_TOKEN=" + service,
				"KITH_MAX_IN_FLIGHT=-1", "KITH_REDIS_URL=" + sentinels, "KITH_EDGES=2", "KITH_TLS_CERT=" + cert, "KITH_TLS_KEY=" + key}
		}
		p := h.program(h.name, "", func() bool { return isOK("http://" + admin + "/readyz") }, c.builds[0], command)
		p.env = append(c.settings(admin), settings...)
		p.start()
	}
}

// kith returns the process of Kith of a host.
func (h *host) kith() *process { return h.runs[len(h.runs)-1] }
