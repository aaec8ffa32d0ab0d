// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/operations -run 'TestBackup|TestRestoreOfSomethingElse'

package operations

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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
