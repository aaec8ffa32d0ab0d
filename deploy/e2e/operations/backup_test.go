// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/operations -run 'TestBackup|TestNightlyBackup|TestUnits|TestRestoreOfSomethingElse'

package operations

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestBackup: a backup written while kith runs has every row, and the restored service has
// all data of its members, including their tokens.
func TestBackup(t *testing.T) {
	harness.EachOwn(t, func(t *testing.T, s *harness.Service) {
		ada := s.NewMember(t)
		token := ada.Token(t)
		agent := s.Agent(harness.PathCurrent, token.Bearer)
		for i := range 20 {
			id := agent.Create(t, harness.Arguments{"name": fmt.Sprintf("Kept Person %c", 'A'+i), "emails": []string{fmt.Sprintf("kept%d@people.example", i)}})
			agent.Call(t, "add_note", harness.Arguments{"connection_ids": []string{id}, "body": "Ünïcode \u2028 'quoted' \"twice\"\n, and 100 %."})
		}
		file := filepath.Join(t.TempDir(), "kith.backup")
		if said := s.Operate(t, "", "backup", file); !strings.Contains(said, file) {
			t.Errorf("it says %q", said)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the file: %v, %v", info, err)
		}
		harness.CheckOneSentence(t, harness.RunKith(t, harness.Environment(s.Database()), "", "backup", file), "already exists")
		refusal := "stop it first"
		if s.Topology.Postgres {
			refusal = "already"
		}
		harness.CheckOneSentence(t, harness.RunKith(t, harness.Environment(s.Database()), "", "restore", file), refusal)
		for _, p := range s.Programs() {
			p.Stop()
		}

		again := harness.NewService(t, s.Topology)
		again.DatabaseURL = harness.NewDatabase(t, s.Topology)
		again.Operate(t, "", "restore", file)
		for _, databaseURL := range []string{s.DatabaseURL, again.DatabaseURL} {
			// kith writes it periodically and at the end, so it may differ from the backup.
			harness.ExecDatabase(t, databaseURL, "UPDATE personal_tokens SET last_used_at = NULL")
			// The backup itself is recorded after it.
			harness.ExecDatabase(t, databaseURL, "UPDATE installation SET backed_up_at = NULL")
		}
		before, after := everyRow(t, s.DatabaseURL), everyRow(t, again.DatabaseURL)
		if diff := cmp.Diff(before, after); diff != "" {
			t.Fatalf("the restored rows differ (-before +after):\n%s", diff)
		}
		if len(before) < 1000 {
			t.Errorf("only %d rows", len(before))
		}
		again.Start()
		agent.Service = again
		if found := agent.Find(t, "kept12@people.example"); len(found) != 1 {
			t.Errorf("the restored service finds %v", found)
		}
	})
}

// TestNightlyBackup runs the command of the systemd unit, each time on another day: old backups are removed once a new
// one is complete, other files stay, and the metric and doctor know when the last one was.
func TestNightlyBackup(t *testing.T) {
	harness.EachOwn(t, func(t *testing.T, s *harness.Service) {
		folder := filepath.Join(t.TempDir(), "backups")
		unit := unitLines(t, "kith-backup.service")
		if !strings.Contains(unit["Environment"], "KITH_BACKUP_DIR=/var/backups/kith ") {
			t.Fatalf("the unit has %v", unit)
		}
		nightly := func(more ...map[string]string) harness.Outcome {
			settings := append([]map[string]string{s.Database(), {"KITH_BACKUP_DIR": folder}}, more...)
			return harness.RunKith(t, harness.Environment(settings...), "", strings.Fields(unit["ExecStart"])[1:]...)
		}
		doctor := func() string {
			return harness.RunKith(t, harness.Environment(s.Database(), map[string]string{"KITH_ADDR": s.Addr}), "", "doctor").Stdout
		}
		backend := s.Backend
		age := func() float64 {
			text := harness.Get(t, backend.Admin+"/metrics", "Accept: text/plain").Body
			_, rest, _ := strings.Cut(text, "\nkith_store_backup_age_seconds ")
			line, _, _ := strings.Cut(rest, "\n")
			seconds, err := strconv.ParseFloat(line, 64)
			if err != nil {
				t.Fatal(err)
			}
			return seconds
		}
		harness.ExecDatabase(t, s.DatabaseURL, "UPDATE schema_migrations SET applied_at = '2026-01-01 00:00:00'")
		if said := doctor(); age() < 48*3600 || !strings.Contains(said, "FAIL  backup        no backup was made since") {
			t.Errorf("without a backup the age is %v, and the doctor says:\n%s", age(), said)
		}
		if done := nightly(); done.Code != 0 {
			t.Fatal(done.Stderr)
		}
		if said := doctor(); age() > 600 || !strings.Contains(said, "ok    backup        the last one was made on") {
			t.Errorf("after a backup the age is %v, and the doctor says:\n%s", age(), said)
		}
		old, other := filepath.Join(folder, "kith-20260101T031500.000Z"), filepath.Join(folder, "notes.txt")
		killed := filepath.Join(folder, time.Now().UTC().Add(-13*time.Hour).Format("kith-20060102T150405.000Z")+".partial")
		for _, file := range []string{old, other, killed} {
			if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if done := nightly(map[string]string{"KITH_DATABASE_URL": filepath.Join(t.TempDir(), "none.db")}); done.Code == 0 || !exists(old) {
			t.Errorf("a backup that failed removed another: %s", done.Stdout)
		}
		if done := nightly(); done.Code != 0 || !strings.Contains(done.Stdout, "1 older") || exists(old) || exists(killed) || !exists(other) {
			t.Errorf("code %d: %s%s", done.Code, done.Stdout, done.Stderr)
		}
		harness.ExecDatabase(t, s.DatabaseURL, "UPDATE installation SET backed_up_at = '2026-01-02 00:00:00'")
		if said := doctor(); !strings.Contains(said, "FAIL  backup        the last backup was made on 2026-01-02") {
			t.Errorf("with an old backup the doctor says:\n%s", said)
		}
		if s.Operate(t, "", "backup", "--external"); age() > 600 {
			t.Errorf("after one of another program the age is %v", age())
		}
	})
}

// unitLines returns the settings of a unit of systemd by their names; of repeated ones, the first.
func unitLines(t *testing.T, name string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(harness.Repository("deploy", "systemd", name))
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]string{}
	for line := range strings.Lines(string(text)) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if _, known := lines[key]; ok && !known && !strings.HasPrefix(key, "#") {
			lines[key] = value
		}
	}
	return lines
}

// TestUnits: systemd accepts the units.
func TestUnits(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	files, err := filepath.Glob(harness.Repository("deploy", "systemd", "kith*.*"))
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"verify"}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Ext(file) == ".env" {
			continue
		}
		to := filepath.Join(folder, filepath.Base(file))
		installed := strings.ReplaceAll(string(text), "/usr/local/bin/kith ", harness.PlainBinary+" ")
		if err := os.WriteFile(to, []byte(installed), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, to)
	}
	if out, err := exec.CommandContext(t.Context(), "systemd-analyze", args...).CombinedOutput(); err != nil || len(out) > 0 || len(args) < 4 { //nolint:misspell // the name of the program
		t.Errorf("%v: %v\n%s", args, err, out)
	}
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// TestRestoreOfSomethingElse: a file that is not a backup, or is one of the other kind of
// database, is refused, and no file is left behind.
func TestRestoreOfSomethingElse(t *testing.T) {
	harness.EachDatabase(t, func(t *testing.T, databaseURL string) {
		folder := t.TempDir()
		for name, content := range map[string]string{
			"empty": "", "text": "no backup", "half": "SQLite format 3\x00 and then nothing", "dump": "PGDMP and then nothing",
		} {
			file := filepath.Join(folder, name)
			if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			harness.CheckOneSentence(t, harness.RunKith(t, harness.Environment(map[string]string{"KITH_DATABASE_URL": databaseURL}), "", "restore", file))
		}
		harness.CheckOneSentence(t, harness.RunKith(t, harness.Environment(map[string]string{"KITH_DATABASE_URL": databaseURL}), "", "restore", filepath.Join(folder, "nowhere")), "nowhere")
		if left, _ := os.ReadDir(filepath.Dir(databaseURL)); len(left) > 0 {
			t.Errorf("it left %v behind", left)
		}
	})
}

// everyRow returns all rows of all tables as sorted text.
func everyRow(t *testing.T, databaseURL string) []string {
	t.Helper()
	driver, tables := "sqlite", "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
	if strings.HasPrefix(databaseURL, "postgres") {
		driver, tables = "pgx", "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
	}
	db, err := sql.Open(driver, databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var all []string
	for _, table := range column(t, db, tables) {
		query := `SELECT t::text FROM "` + table + `" t`
		if driver == "sqlite" { // SQLite cannot convert a whole row to text
			fields := column(t, db, `SELECT 'quote("' || name || '")' FROM pragma_table_info('`+table+`')`)
			query = "SELECT " + strings.Join(fields, ` || ' ' || `) + ` FROM "` + table + `"`
		}
		for _, row := range column(t, db, query) {
			all = append(all, table+" "+row)
		}
	}
	slices.Sort(all)
	return all
}

func column(t *testing.T, db *sql.DB, query string) []string {
	t.Helper()
	rows, err := db.QueryContext(context.Background(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer func() { _ = rows.Close() }()
	var out []string
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		out = append(out, text)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}
