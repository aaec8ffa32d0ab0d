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
	blocks := documented(t, "PostgreSQL with pgBackRest")
	if len(blocks) != 2 {
		t.Fatalf("%d blocks of commands", len(blocks))
	}
	p := newOwnPostgres(t)
	s := harness.NewService(t, harness.Topology{Name: "own-postgres", Postgres: true})
	s.DatabaseURL = p.url
	s.Settings["KITH_SANDBOX"] = "false"
	s.Start()
	agent := s.NewMember(t).Agent(t)
	agent.Create(t, harness.Arguments{"name": "Before the Backup"})
	runShell(t, shell(t, blocks[0], p.env, p.as, p.stands))

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
	stands := map[string]string{"2026-11-21 14:03:00+00": moment.UTC().Format("2006-01-02 15:04:05+00")}
	for documented, here := range p.stands {
		if strings.Contains(blocks[1], documented) {
			stands[documented] = here
		}
	}
	runShell(t, shell(t, blocks[1], p.env, p.as, stands))

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
}

// ownPostgres is a PostgreSQL server of one test, which may stop it.
type ownPostgres struct {
	url    string
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
