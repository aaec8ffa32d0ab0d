package harness

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// seeded are databases on which kith was started once, so they have the current schema and
// sandbox. A service that starts on a copy is ready at once; with the race detector,
// seeding takes 15 s of processor time.
type seeded struct {
	dir  string // folder of the SQLite file
	name string // of the PostgreSQL database, once it is made

	sqlite   func() (path string, err error)
	postgres func() (name string, err error)
}

func newSeeded(dir string) *seeded {
	s := &seeded{dir: dir}
	s.sqlite = sync.OnceValues(s.seedSQLite)
	s.postgres = sync.OnceValues(s.seedPostgres)
	return s
}

// originals are the databases that NewService copies; Main sets them.
var originals *seeded

// SeededDatabase returns the address of a database, used only by this test, on which kith
// was started before.
func SeededDatabase(t testing.TB, way Topology) string {
	t.Helper()
	if way.Postgres {
		name, err := originals.postgres()
		if err != nil {
			t.Fatal(err)
		}
		return newPostgresFrom(t, name)
	}
	original, err := originals.sqlite()
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(original)
	if err != nil {
		t.Fatal(err)
	}
	database := NewDatabase(t, way)
	if err := os.MkdirAll(filepath.Dir(database), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(database, file, 0o600); err != nil {
		t.Fatal(err)
	}
	return database
}

func (s *seeded) seedSQLite() (path string, err error) {
	path = filepath.Join(s.dir, "seeded.db")
	return path, s.serve(path)
}

func (s *seeded) seedPostgres() (name string, err error) {
	address, err := url.Parse(os.Getenv(PostgresVariable))
	if err != nil {
		return "", fmt.Errorf("%s is not a valid address", PostgresVariable)
	}
	s.name = "kith_e2e_" + strings.ToLower(rand.Text())
	if err := tellPostgres(address.String(), "CREATE DATABASE "+s.name); err != nil {
		return "", err
	}
	address.Path = "/" + s.name
	return s.name, s.serve(address.String())
}

// remove drops the PostgreSQL database, which would stay on the server.
func (s *seeded) remove() error {
	if s.name == "" {
		return nil
	}
	return tellPostgres(os.Getenv(PostgresVariable), "DROP DATABASE "+s.name+" WITH (FORCE)")
}

// serve starts kith on the database, and stops it as soon as it is ready.
func (s *seeded) serve(databaseURL string) error {
	log, err := os.Create(filepath.Join(s.dir, "seeding.log"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	address, err := ports.Address()
	if err != nil {
		return err
	}
	command := exec.Command(PlainBinary, "serve")
	command.Dir, command.Stderr = s.dir, log
	command.Env = append(BareEnvironment(), Environment(map[string]string{
		"KITH_DATABASE_URL": databaseURL, "KITH_ADDR": "127.0.0.1:0", "KITH_ADMIN_ADDR": address,
	})...)
	if err := command.Start(); err != nil {
		return err
	}
	ready := awaitStatus("http://"+address+"/readyz", http.StatusOK)
	_ = command.Process.Signal(syscall.SIGTERM) // Wait returns the error
	if err := command.Wait(); err != nil || !ready {
		wrote, _ := os.ReadFile(log.Name())
		return fmt.Errorf("kith cannot seed a database (ready: %t, %w): %s", ready, err, wrote)
	}
	return nil
}
