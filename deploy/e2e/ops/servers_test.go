package ops

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// newPostgres creates a database server with durable commits: acknowledged data is on disk.
func newPostgres(t *testing.T, dir, address string) (p *process, url string) {
	t.Helper()
	bins, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	must(t, err)
	if len(bins) == 0 {
		t.Fatal("PostgreSQL is missing: `make e2e-ops` installs it")
	}
	bin := filepath.Dir(bins[len(bins)-1])
	as := postgresUser(t)
	data := filepath.Join(dir, "postgres")
	must(t, os.Mkdir(data, 0o700))
	if as != nil {
		must(t, os.Chown(data, int(as.Uid), int(as.Gid)))
	}
	initdb := exec.CommandContext(t.Context(), filepath.Join(bin, "initdb"), "-D", data, "-U", "kith", "--auth=trust", "-E", "UTF8", "--locale=C.UTF-8")
	initdb.Dir, initdb.SysProcAttr = "/", &syscall.SysProcAttr{Credential: as}
	if out, err := initdb.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	host, port, err := net.SplitHostPort(address)
	must(t, err)
	p = &process{
		t: t, name: "postgres", program: filepath.Join(bin, "postgres"), as: as,
		args: []string{"-D", data, "-p", port, "-c", "listen_addresses=" + host, "-c", "unix_socket_directories=" + data, "-c", "max_connections=200"},
		ready: func() bool {
			return exec.CommandContext(t.Context(), filepath.Join(bin, "pg_isready"), "-q", "-h", host, "-p", port).Run() == nil
		},
	}
	p.watch().start()
	return p, "postgres://kith@" + address + "/postgres?sslmode=disable"
}

// postgresUser returns the user that the server runs as: PostgreSQL refuses to run as root.
func postgresUser(t *testing.T) *syscall.Credential {
	t.Helper()
	if os.Getuid() != 0 {
		return nil
	}
	u, err := user.Lookup("postgres")
	must(t, err)
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	must(t, err)
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	must(t, err)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

func newRedis(t *testing.T, dir, address string) *process {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	must(t, err)
	p := &process{
		t: t, name: "redis", program: installed(t, "redis-server"),
		args:  []string{"--bind", "127.0.0.1", "--port", port, "--save", "", "--appendonly", "no", "--dir", dir},
		ready: func() bool { return answers("tcp", address) },
	}
	p.watch().start()
	return p
}

// newAlertmanager creates an Alertmanager with the compose file's settings and the receiver.
func newAlertmanager(t *testing.T, dir, address, receiver string) *process {
	t.Helper()
	config := scaled(read(t, repository+"/deploy/compose/alertmanager.yml"))
	mail := regexp.MustCompile(`(?m)^    email_configs: .*$`)
	config = replace(t, config, mail.FindString(config), "    webhook_configs:\n      - url: "+receiver)
	file := filepath.Join(dir, "alertmanager.yml")
	write(t, file, config)
	p := &process{
		t: t, name: "alertmanager", program: installed(t, "prometheus-alertmanager"),
		args: []string{
			"--config.file=" + file, "--storage.path=" + filepath.Join(dir, "alertmanager"),
			"--web.listen-address=" + address, "--cluster.listen-address=",
		},
		ready: func() bool { return isOK("http://" + address + "/-/ready") },
	}
	p.watch().start()
	return p
}

// newPrometheus creates a Prometheus with the compose file's settings and the rules.
// addresses replace the host names of the compose file; small is an additional target.
func newPrometheus(t *testing.T, dir, address string, addresses map[string]string, small string) *process {
	t.Helper()
	folder := filepath.Join(dir, "rules")
	must(t, os.Mkdir(folder, 0o755))
	for name, text := range rules(t) {
		write(t, filepath.Join(folder, name), scaled(text))
	}
	config := replace(t, scaled(read(t, repository+"/deploy/compose/prometheus.yml")),
		// Targets on a busy machine get twice the time to answer.
		"scrape_interval: 500ms", "scrape_interval: 1s",
		"/etc/prometheus/rules", folder)
	for name, stands := range addresses {
		config = replace(t, config, name, stands)
	}
	// A scrape takes up to two seconds while the database is locked.
	config += "  - job_name: kith-small\n    scrape_interval: 3s\n    scrape_timeout: 3s\n    static_configs: [{targets: [" + small + "]}]\n"
	file := filepath.Join(dir, "prometheus.yml")
	write(t, file, config)
	p := &process{
		t: t, name: "prometheus", program: installed(t, "prometheus"),
		args: []string{
			"--config.file=" + file, "--storage.tsdb.path=" + filepath.Join(dir, "prometheus"),
			"--web.listen-address=" + address, "--rules.alert.resend-delay=2s",
		},
		ready: func() bool { return isOK("http://" + address + "/-/ready") },
	}
	p.watch().start()
	return p
}

func installed(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Fatalf("%s is missing: `make e2e-ops` installs it", program)
	}
	return path
}

func answers(network, address string) bool {
	conn, err := net.DialTimeout(network, address, time.Second)
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

// isOK reports whether an address answers 200.
func isOK(address string) bool {
	client := http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Get(address)
	if err != nil {
		return false
	}
	_ = res.Body.Close()
	return res.StatusCode == http.StatusOK
}
