// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/operations -run TestPointInTime

package operations

import (
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestPointInTime runs the commands of operations.md: agents write before and after a
// moment, and after the restore exactly what was written before it is there.
func TestPointInTime(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves out what needs PostgreSQL; `make test` runs it")
	}
	blocks := documented(t, "operations.md", "### PostgreSQL with pgBackRest")
	if len(blocks) != 3 {
		t.Fatalf("%d blocks of commands", len(blocks))
	}
	p := newOwnPostgres(t)
	s := harness.NewService(t, harness.Topology{Name: "own-postgres", Postgres: true})
	s.DatabaseURL = p.url
	s.Settings["KITH_SANDBOX"], s.Settings["KITH_CREDITS_FREE"] = "false", "1000000"
	s.Start()
	agent := s.NewMember(t).Agent(t)
	agent.Create(t, harness.Arguments{"name": "Before the Backup"})
	p.run(t, blocks[0])

	agent.Create(t, harness.Arguments{"name": "After the Backup"})
	w := newWriter(t, agent, "while")
	var moment time.Time // a second that began after the first writes, and ended before the last ones
	harness.Eventually(t, "agents have written for some seconds", func() bool {
		all := w.all()
		if len(all) == 0 {
			return false
		}
		moment = all[0].acked.Truncate(time.Second).Add(2 * time.Second)
		return all[len(all)-1].asked.After(moment.Add(time.Second))
	})
	w.end()
	s.Edge.Kill()
	p.run(t, strings.Replace(blocks[1], "2026-11-21 14:03:00+00", moment.UTC().Format("2006-01-02 15:04:05+00"), 1))
	if !strings.Contains(blocks[1], "2026-11-21 14:03:00+00") {
		t.Error("the commands name another moment")
	}

	s.Start()
	names := namesIn(t, s)
	if !names["Before the Backup"] || !names["After the Backup"] {
		t.Error("what was written before is lost")
	}
	before, after := 0, 0
	for _, one := range w.all() {
		switch {
		case one.acked.Before(moment):
			before++
			if !names[one.name] {
				t.Errorf("a write of %s before the moment is lost", moment.Sub(one.acked))
			}
		case one.asked.After(moment):
			after++
			if names[one.name] {
				t.Errorf("a write of %s after the moment is there", one.asked.Sub(moment))
			}
		}
	}
	if t.Logf("%d writes before the moment, %d after it", before, after); before == 0 || after == 0 {
		t.Error("the agents did not write on both sides")
	}
	agent.Create(t, harness.Arguments{"name": "After the Restore"})

	s.Edge.Kill()
	p.loseDisk(t)
	p.run(t, blocks[2])
	s.Start()
	if got := namesIn(t, s); len(got) != len(names)+1 || !got["After the Restore"] {
		t.Errorf("%d people came back from the lost disk, of %d", len(got), len(names)+1)
	}
	agent.Create(t, harness.Arguments{"name": "After the Loss"})
}

// ownPostgres is a PostgreSQL server of one test, which may stop it.
type ownPostgres struct {
	url    string
	data   string              // the server's folder
	env    []string            // of the commands of the server's user
	as     *syscall.Credential // the server's user: PostgreSQL refuses to run as root
	stands map[string]string   // the paths of the documentation, and those here
}

func newOwnPostgres(t *testing.T) *ownPostgres {
	t.Helper()
	programs, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if _, missing := exec.LookPath("pgbackrest"); err != nil || len(programs) == 0 || missing != nil {
		t.Fatal("PostgreSQL or pgbackrest is missing: `make test` installs them")
	}
	dir, err := os.MkdirTemp("", "kith-pitr-") //nolint:usetesting // another user cannot enter t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	p := &ownPostgres{as: postgresUser(t)}
	if p.as != nil {
		if err := os.Chown(dir, int(p.as.Uid), int(p.as.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	host, port, err := net.SplitHostPort(harness.FreeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	data, config := filepath.Join(dir, "data"), filepath.Join(dir, "pgbackrest.conf")
	p.data = data
	p.url = "postgres://kith@" + net.JoinHostPort(host, port) + "/postgres?sslmode=disable"
	p.env = []string{
		"PATH=" + programs[len(programs)-1] + ":" + os.Getenv("PATH"), "HOME=" + dir, "LC_ALL=C.UTF-8",
		"PGHOST=" + dir, "PGPORT=" + port, "PGUSER=kith", "PGDATABASE=postgres",
		"PGBACKREST_CONFIG=" + config, "PGBACKREST_LOG_PATH=" + dir, "PGBACKREST_LOCK_PATH=" + filepath.Join(dir, "lock"),
		"PGBACKREST_PG1_PORT=" + port, "PGBACKREST_PG1_SOCKET_PATH=" + dir, "PGBACKREST_PG1_USER=kith",
	}
	p.stands = map[string]string{
		"/etc/pgbackrest.conf": config, "/var/lib/pgbackrest": filepath.Join(dir, "repository"),
		"/var/lib/postgresql/15/main": data, "/var/log/postgresql/kith.log": filepath.Join(dir, "log"),
	}
	start := "initdb --pgdata=" + data + " --username=kith --auth=trust --encoding=UTF8 --locale=C.UTF-8 --no-sync\n" +
		"printf '%s\\n' \"listen_addresses = '" + host + "'\" 'port = " + port + "' \"unix_socket_directories = '" + dir + "'\" >>" + data + "/postgresql.conf\n" +
		"pg_ctl --pgdata=" + data + " --log=" + dir + "/log start"
	runShell(t, shell(t, start, p.env, p.as, nil))
	t.Cleanup(func() {
		stop := exec.Command("pg_ctl", "--pgdata="+data, "--mode=immediate", "stop")
		stop.Path, stop.Dir, stop.Env = filepath.Join(programs[len(programs)-1], "pg_ctl"), "/", p.env
		stop.SysProcAttr = &syscall.SysProcAttr{Credential: p.as}
		if out, err := stop.CombinedOutput(); err != nil {
			t.Errorf("PostgreSQL does not stop: %v\n%s", err, out)
		}
		if log, err := os.ReadFile(filepath.Join(dir, "log")); err == nil && t.Failed() {
			t.Logf("PostgreSQL wrote:\n%s", log)
		}
	})
	return p
}

// run runs commands of the documentation as the server's user.
func (p *ownPostgres) run(t *testing.T, commands string) {
	t.Helper()
	stands := map[string]string{}
	for documented, here := range p.stands {
		if strings.Contains(commands, documented) {
			stands[documented] = here
		}
	}
	runShell(t, shell(t, commands, p.env, p.as, stands))
}

// loseDisk waits until all changes are archived, as they are after archive_timeout, kills the
// server and removes its folder.
func (p *ownPostgres) loseDisk(t *testing.T) {
	t.Helper()
	p.run(t, `file=$(psql --no-align --tuples-only --command='SELECT pg_walfile_name(pg_switch_wal())')
until [ "$(psql --no-align --tuples-only --command='SELECT last_archived_wal FROM pg_stat_archiver')" = "$file" ]; do sleep 0.1; done`)
	pid, err := os.ReadFile(filepath.Join(p.data, "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	server, err := strconv.Atoi(strings.SplitN(string(pid), "\n", 2)[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(server, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "the folder is removed", func() bool {
		return os.RemoveAll(p.data) == nil // fails while the server's other processes end, and write
	})
}

// postgresUser returns the user that PostgreSQL runs as; nil for the present one.
func postgresUser(t *testing.T) *syscall.Credential {
	t.Helper()
	if os.Getuid() != 0 {
		return nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		t.Fatal(err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}
