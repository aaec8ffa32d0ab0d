//go:build ha

package ops

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// The settings of Patroni, which bound how long a failover takes: the primary is replaced
// when its lease of ttl seconds expires. It uses etcd's v2 API: with etcd3, Patroni 3.0 (Debian 12)
// overwrites the new primary's lock when the old primary resumes after a freeze.
const patroniSettings = `
scope: kith
name: %[1]s
restapi: {listen: "%[2]s:8008", connect_address: "%[2]s:8008"}
etcd: {hosts: [%[3]s]}
bootstrap:
  dcs:
    ttl: 10
    loop_wait: 2
    retry_timeout: 3
    primary_start_timeout: 0
    synchronous_mode: true
    synchronous_mode_strict: true
    postgresql:
      use_pg_rewind: true
      parameters: {max_connections: 100, wal_log_hints: "on"}
  initdb: [{encoding: UTF8}, {locale: C.UTF-8}, data-checksums]
postgresql:
  listen: "%[2]s:5432"
  connect_address: "%[2]s:5432"
  data_dir: %[4]s/data
  bin_dir: %[5]s
  pgpass: %[4]s/pgpass
  authentication: {superuser: {username: kith, password: kith}, replication: {username: replicator, password: replicator}}
  pg_hba: ["local all all trust", "host all all 10.213.77.0/24 trust", "host replication all 10.213.77.0/24 trust"]
  parameters: {unix_socket_directories: %[4]s}
`

// haproxyDatabase forwards to the primary, which it finds with Patroni's REST API, and closes
// connections to other servers. HAProxy treats servers as up until their first health check, so
// /ready fails until then.
const haproxyDatabase = `
defaults
  mode tcp
  timeout connect 1s
  timeout check 1s
  timeout client 1h
  timeout server 1h
frontend ready
  mode http
  bind *:5001
  monitor-uri /ready
  acl unasked nbsrv(primary) gt 1
  monitor fail if unasked
listen primary
  bind 127.0.0.1:5000
  option httpchk OPTIONS /primary
  http-check expect status 200
  default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions
`

// haproxyBackends forwards to the backends that are ready.
const haproxyBackends = `
defaults
  mode tcp
  timeout connect 1s
  timeout check 1s
  timeout client 1h
  timeout server 1h
  option redispatch
listen backends
  bind 127.0.0.1:7000
  balance leastconn
  option httpchk GET /readyz
  default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions
`

const pgbouncerSettings = `
[databases]
* = host=127.0.0.1 port=5000
[pgbouncer]
listen_addr = *
listen_port = 6432
unix_socket_dir =
auth_type = trust
auth_file = %s
pool_mode = transaction
default_pool_size = 20
max_client_conn = 500
query_wait_timeout = 5
server_connect_timeout = 2
server_login_retry = 1
`

// folder makes a folder for PostgreSQL's user.
func (c *cluster) folder(name string) string {
	c.t.Helper()
	path := filepath.Join(c.dir, name)
	must(c.t, os.Mkdir(path, 0o700))
	as := postgresUser(c.t)
	must(c.t, os.Chown(path, int(as.Uid), int(as.Gid)))
	return path
}

func (c *cluster) file(name, text string) string {
	c.t.Helper()
	path := filepath.Join(c.dir, name)
	write(c.t, path, text)
	return path
}

// startEtcd starts the three servers of etcd.
func (c *cluster) startEtcd() {
	c.t.Helper()
	var peers []string
	for _, h := range c.stores {
		peers = append(peers, h.name+"=http://"+h.at(2380))
	}
	for _, h := range c.stores {
		p := h.program(h.name, "", func() bool { return isOK("http://" + h.at(2379) + "/health") }, "etcd",
			"--name", h.name, "--data-dir", filepath.Join(c.dir, h.name), "--log-level", "error", "--enable-v2",
			"--listen-peer-urls", "http://"+h.at(2380), "--initial-advertise-peer-urls", "http://"+h.at(2380),
			"--listen-client-urls", "http://"+h.at(2379), "--advertise-client-urls", "http://"+h.at(2379),
			"--initial-cluster", strings.Join(peers, ","))
		p.launch()
	}
	for _, h := range c.stores {
		h.runs[0].awaitReady()
	}
}

// faketime is a library that makes programs linked with libc read the time from a file. Go
// programs ask the kernel, so Kith keeps the machine's clock.
const faketime = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"

// programs creates a folder with PostgreSQL's programs, in which postgres runs with faketime,
// and returns its path.
func (c *cluster) programs(h *host) string {
	c.t.Helper()
	bins, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	must(c.t, err)
	if _, err := os.Stat(faketime); err != nil {
		c.t.Fatalf("libfaketime is missing: `make e2e-ha` installs it (%v)", err)
	}
	bin, all := bins[len(bins)-1], c.folder(h.name+"-bin")
	programs, err := os.ReadDir(bin)
	must(c.t, err)
	for _, program := range programs {
		if program.Name() != "postgres" {
			must(c.t, os.Symlink(filepath.Join(bin, program.Name()), filepath.Join(all, program.Name())))
		}
	}
	c.setClock(h, 0)
	script := "#!/bin/sh\nexec env LD_PRELOAD=" + faketime + " FAKETIME_TIMESTAMP_FILE=" + filepath.Join(c.dir, h.name+"-clock") +
		" FAKETIME_CACHE_DURATION=1 DONT_FAKE_MONOTONIC=1 " + filepath.Join(bin, "postgres") + " \"$@\"\n"
	must(c.t, os.WriteFile(filepath.Join(all, "postgres"), []byte(script), 0o755))
	return all
}

// setClock sets how far the clock of a database is ahead of that of the machine.
func (c *cluster) setClock(h *host, ahead time.Duration) {
	c.t.Helper()
	c.file(h.name+"-clock", fmt.Sprintf("%+d\n", int(ahead.Seconds())))
}

// startDatabases starts the three databases under Patroni. The first initialises the cluster.
func (c *cluster) startDatabases() {
	c.t.Helper()
	var stores []string
	for _, h := range c.stores {
		stores = append(stores, h.at(2379))
	}
	for _, h := range c.databases {
		settings := fmt.Sprintf(patroniSettings, h.name, h.ip, strings.Join(stores, ", "), c.folder(h.name), c.programs(h))
		ready := func() bool { return isOK("http://" + h.at(8008) + "/health") }
		h.program(h.name, "postgres", ready, "patroni", c.file(h.name+".yml", settings)).start()
	}
	within(c.t, timeout, "the databases are complete", c.complete)
}

// startRedis starts a Redis with a replica, and three Sentinels.
func (c *cluster) startRedis() {
	c.t.Helper()
	for i, h := range c.caches {
		if i < 2 {
			args := []string{"redis-server", "--bind", h.ip, "--port", "6379", "--save", "", "--appendonly", "no", "--protected-mode", "no", "--dir", c.dir}
			if i == 1 {
				args = append(args, "--replicaof", c.caches[0].ip+" 6379")
			}
			h.program(h.name, "", func() bool { return answers("tcp", h.at(6379)) }, args...)
		}
		sentinel := c.file("sentinel-"+h.name, fmt.Sprintf("bind %s\nport 26379\nprotected-mode no\nsentinel monitor kith %s 6379 2\n"+
			"sentinel down-after-milliseconds kith 2000\nsentinel failover-timeout kith 5000\n", h.ip, c.caches[0].ip))
		h.program("sentinel of "+h.name, "", func() bool { return answers("tcp", h.at(26379)) }, "redis-sentinel", sentinel)
		h.start()
	}
}

// beforeDatabases adds PgBouncer to a host, and HAProxy, through which it reaches the primary.
func (c *cluster) beforeDatabases(h *host) {
	c.t.Helper()
	settings := haproxyDatabase
	for _, database := range c.databases {
		settings += fmt.Sprintf("  server %s %s check port 8008\n", database.name, database.at(5432))
	}
	h.program("haproxy of "+h.name, "", func() bool { return isOK("http://" + h.at(5001) + "/ready") }, "haproxy", "-f", c.file(h.name+".cfg", settings)).start()
	users := c.file(h.name+"-users", "\"kith\" \"\"\n")
	pooler := c.file(h.name+".ini", fmt.Sprintf(pgbouncerSettings, users))
	h.program("pgbouncer of "+h.name, "postgres", func() bool { return answers("tcp", h.at(6432)) }, "/usr/sbin/pgbouncer", "-q", pooler).start()
}

// beforeBackends adds HAProxy to a host, which forwards to the backends.
func (c *cluster) beforeBackends(h *host) {
	c.t.Helper()
	settings := haproxyBackends
	for _, backend := range c.members[:2] {
		settings += fmt.Sprintf("  server %s %s check port 8081\n", backend.name, backend.at(8082))
	}
	h.program("haproxy of "+h.name, "", func() bool { return true }, "haproxy", "-f", c.file(h.name+".cfg", settings)).start()
}

// member is a database as Patroni sees it.
type member struct {
	Name, Role, State string
}

// states returns the state of the databases as the first Patroni that answers reports it.
func (c *cluster) states() []member {
	client := http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for _, h := range slices.Backward(c.databases) { // those in the clients' half first
		res, err := client.Get("http://" + h.at(8008) + "/cluster")
		if err != nil {
			continue
		}
		var answer struct{ Members []member }
		err = json.NewDecoder(res.Body).Decode(&answer)
		_ = res.Body.Close()
		if err == nil && len(answer.Members) > 0 {
			return answer.Members
		}
	}
	return nil
}

// primary returns the host of the primary.
func (c *cluster) primary() *host {
	for _, m := range c.states() {
		if m.Role == "leader" && m.State == "running" {
			for _, h := range c.databases {
				if h.name == m.Name {
					return h
				}
			}
		}
	}
	return nil
}

// complete reports whether there are a primary, a synchronous standby and another replica.
func (c *cluster) complete() bool {
	roles := map[string]int{}
	for _, m := range c.states() {
		if m.State == "running" || m.State == "streaming" {
			roles[m.Role]++
		}
	}
	return roles["leader"] == 1 && roles["sync_standby"] == 1 && roles["replica"] == 1
}

// switchOver moves the primary to another database, as an operator does.
func (c *cluster) switchOver(to *host) {
	c.t.Helper()
	from := c.primary()
	if from == nil || from == to {
		return
	}
	out, err := exec.Command("patronictl", "-c", filepath.Join(c.dir, from.name+".yml"), "switchover", "--master", from.name, "--candidate", to.name, "--force").CombinedOutput()
	if err != nil {
		c.t.Errorf("switchover: %v %s", err, out)
	}
}
