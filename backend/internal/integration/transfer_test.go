package integration_test

import (
	"context"
	"crypto/rand"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/timeline"
)

// ownersDatabase returns the address of an empty PostgreSQL database, as its owner, who is
// no superuser: row-level security applies to them, as in production.
func ownersDatabase(t *testing.T) string {
	t.Helper()
	server := os.Getenv(dbtest.PostgresURL)
	dbtest.Postgres(t) // the roles exist once a database was migrated
	admin := dbtest.OpenSQL(t, server)
	name := "kith_owned_" + strings.ToLower(rand.Text()[:12])
	for _, statement := range []string{
		"CREATE ROLE " + name + " LOGIN", "GRANT kith_tenant, kith_service TO " + name, "CREATE DATABASE " + name + " TEMPLATE template0 OWNER " + name,
	} {
		exec(t, admin, statement)
	}
	t.Cleanup(func() {
		for _, statement := range []string{"DROP DATABASE " + name + " WITH (FORCE)", "DROP ROLE " + name} {
			if _, err := admin.ExecContext(context.Background(), statement); err != nil {
				t.Errorf("%s: %v", statement, err)
			}
		}
	})
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	u.User, u.Path = url.User(name), "/"+name
	return u.String()
}

// filled is a SQLite installation with rows in every table, and what its members hold.
type filled struct {
	path   string
	ada    tenant.ID
	bearer string
	flow   flow
}

func newFilled(t *testing.T) filled {
	t.Helper()
	f := filled{path: dbtest.SQLite(t)}
	s, err := db.Open(t.Context(), db.Config{URL: f.path})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	f.ada = dbtest.Member(t, s, "ada")
	f.bearer = dbtest.Token(t, s, f.ada, "connections", "write")
	for _, name := range []string{"ada", "demo"} {
		owner := f.ada
		if name == "demo" {
			owner = dbtest.Member(t, s, name)
		}
		furnish(t, s, owner, name)
		if name == "demo" {
			readOnly(t, f.path, owner)
		}
	}
	login(t, s, f.ada, "session")
	c := &oauth.Client{Name: "agent", RedirectURIs: []string{"https://a.example/cb"}}
	if err := oauth.CreateClient(t.Context(), s, c); err != nil {
		t.Fatal(err)
	}
	f.flow = flow{client: c.ID, session: "session", owner: f.ada, name: "ada's other agent"}
	f.flow.s = s
	f.flow.redeem(t, f.flow.code(t, "code"), "0")
	q := dbtest.OpenSQL(t, f.path)
	const now = "'2026-11-20 10:00:00.123456+00:00'"
	for _, statement := range []string{
		"INSERT INTO sandbox_states (id, username, seeded_for) VALUES (1, 'demo', '2026-11-20')",
		"INSERT INTO installation (number, swept_at) VALUES (1, '2026-11-20 10:00:00')",
		"INSERT INTO login_attempts (subject, count, expires_at) VALUES ('s', 3, " + now + ")",
		"INSERT INTO sunsets (route, first_announced_at, sunset_at) VALUES ('mcp', " + now + ", " + now + ")",
		"INSERT INTO owner_links (hash, created_at, expires_at) VALUES ('h', " + now + ", " + now + ")",
		"INSERT INTO device_logins (hash, page_hash, program, network, created_at, expires_at) VALUES ('h', 'p', 'DAVx5', '', " + now + ", " + now + ")",
		"INSERT INTO passkey_challenges (hash, created_at, expires_at) VALUES ('h', " + now + ", " + now + ")",
		"UPDATE members SET username = 'Ünïcode '' \" \\ \u2028 \x01', suspended_at = '2026-11-20 10:00:00+00:00' WHERE username = 'demo'",
		"UPDATE security_events SET times = 7",
		"CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER)", // Litestream, which replicates SQLite, adds this table
	} {
		exec(t, q, statement)
	}
	open := f.path // other connections keep it open until the test ends
	f.path = filepath.Join(t.TempDir(), "copy.db")
	if err := db.Backup(t.Context(), open, f.path); err != nil {
		t.Fatal(err)
	}
	return f
}

// sortedDump is dump in an order of its own, without what a migration and Litestream write,
// and without the numbers of profiles.
func sortedDump(t *testing.T, path string) map[string][]string {
	t.Helper()
	rows := dump(t, path)
	for table := range rows {
		if table == "schema_migrations" || strings.HasPrefix(table, "_") || table == "directory_words" {
			delete(rows, table)
			continue
		}
		for i, row := range rows[table] {
			if _, after, found := strings.Cut(row, " "); table == "profiles" && found {
				rows[table][i] = after
			}
		}
		slices.Sort(rows[table])
	}
	return rows
}

// TestTransfer: an installation moves to PostgreSQL and back to SQLite with every row of
// every table, as the owner of the database.
func TestTransfer(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves out what needs PostgreSQL; `make test` runs it")
	}
	f := newFilled(t)
	postgres, back := ownersDatabase(t), filepath.Join(t.TempDir(), "new", "kith.db")
	var begun []string
	there, err := db.Transfer(t.Context(), "sqlite:"+f.path, postgres, func(table string) { begun = append(begun, table) })
	if err != nil {
		t.Fatal(err)
	}
	guards := guardsOf(t, postgres)
	if diff := cmp.Diff(guardsOf(t, dbtest.Postgres(t)), guards); diff != "" {
		t.Errorf("row-level security and triggers after it (-want +got):\n%s", diff)
	}
	here, err := db.Transfer(t.Context(), postgres, back, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(there, here); diff != "" {
		t.Errorf("there and back (-there +back):\n%s", diff)
	}
	before := sortedDump(t, f.path)
	if diff := cmp.Diff(before, sortedDump(t, back)); diff != "" {
		t.Errorf("rows (-before +after):\n%s", diff)
	}
	for i, copied := range there {
		if copied.Rows == 0 || copied.Rows != int64(len(before[copied.Table])) || len(copied.Digest) != 64 || begun[i] != copied.Table {
			t.Errorf("%+v, but there are %d rows", copied, len(before[copied.Table]))
		}
	}
	if len(there) != len(before) {
		t.Errorf("%d of %d tables were copied", len(there), len(before))
	}
	for _, url := range []string{postgres, back} {
		checkMoved(t, f, url)
	}
}

// guardsOf returns the row-level security and the triggers of a PostgreSQL database.
func guardsOf(t *testing.T, postgres string) []string {
	t.Helper()
	rows := rowsOf(t, dbtest.OpenSQL(t, postgres), `(SELECT c.relname, c.relrowsecurity, c.relforcerowsecurity, g.tgname, g.tgenabled FROM pg_class c
LEFT JOIN pg_trigger g ON g.tgrelid = c.oid AND NOT g.tgisinternal WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace) x`)
	slices.Sort(rows)
	return rows
}

// checkMoved: credentials work in the new database, members write, and its guards hold.
func checkMoved(t *testing.T, f filled, url string) {
	t.Helper()
	s := dbtest.Open(t, url, time.Now)
	p, err := oauth.Authenticate(t.Context(), s, f.bearer)
	if err != nil || p.Tenant != f.ada {
		t.Fatalf("the personal token: %+v, %v", p, err)
	}
	if _, err := account.GetLoginSession(t.Context(), s, "session"); err != nil {
		t.Errorf("the session: %v", err)
	}
	moved := f.flow
	moved.s = s
	if !moved.alive(t, "0") {
		t.Error("the access token does not work")
	}
	if err := moved.rotate(t, "0", "1"); err != nil {
		t.Errorf("the refresh token: %v", err)
	}
	event(t, s, f.ada) // whose number goes on
	events, err := account.ListSecurityEvents(t.Context(), s, f.ada, 0, 2)
	if err != nil || len(events) != 2 || events[0].ID <= events[1].ID {
		t.Errorf("events: %+v, %v", events, err)
	}
	err = s.Tenant(f.ada, false).Write(t.Context(), db.Actor{}, func(ctx context.Context, u *db.Tx) error {
		made, err := people.Create(ctx, u, people.Draft{Name: "New"})
		if err == nil {
			_, _, err = timeline.AddNote(ctx, u, timeline.Note{Body: "new", ConnectionIDs: []string{made.Connection.ID}})
		}
		return err
	})
	if err != nil {
		t.Errorf("a write: %v", err)
	}
	q := dbtest.OpenSQL(t, url)
	if got := rowsOf(t, q, "(SELECT s.notes - (SELECT count(*) FROM notes n WHERE n.tenant_id = s.tenant_id) FROM tenant_states s) x"); !slices.Equal(got, []string{"[0]", "[0]"}) {
		t.Errorf("the counted notes are off by %v", got)
	}
	if !db.IsPostgres(url) {
		if words := rowsOf(t, q, "(SELECT rowid FROM directory_words WHERE directory_words MATCH 'ada') x"); len(words) != 1 {
			t.Errorf("the directory's words: %v", words)
		}
	}
	demo := tenant.ID(strings.Trim(rowsOf(t, q, "(SELECT tenant_id FROM tenant_states WHERE read_only) x")[0], "[]"))
	err = s.Tenant(demo, false).Write(t.Context(), db.Actor{}, func(ctx context.Context, u *db.Tx) error {
		_, err := people.Create(ctx, u, people.Draft{Name: "New"})
		return err
	})
	if !fault.Is(err, fault.ReadOnly) {
		t.Errorf("a write of the demo account: %v", err)
	}
}

// TestTransferFails: after a failure half-way the target is empty, and the same command
// works once the reason is gone; a second one is refused.
func TestTransferFails(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves out what needs PostgreSQL; `make test` runs it")
	}
	f := newFilled(t)
	postgres := ownersDatabase(t)
	hers := "tenant_id = '" + string(f.ada) + "'"
	for _, test := range []struct{ spoil, mend, want string }{
		// PostgreSQL's texts have no NUL.
		{"UPDATE tags SET name = 'a' || char(0) || 'b' WHERE " + hers, "UPDATE tags SET name = 'ab' WHERE " + hers, "table tags"},
		// PostgreSQL's times have microseconds: these would change.
		{"UPDATE sunsets SET sunset_at = '2026-11-20 10:00:00.123456789+00:00'", "UPDATE sunsets SET sunset_at = '2026-11-20 10:00:00+00:00'", "sunsets is not the same"},
		{"UPDATE jobs SET total = 'many' WHERE " + hers, "UPDATE jobs SET total = 0 WHERE " + hers, "expected"},
		{"UPDATE jobs SET total = 3000000000 WHERE " + hers, "UPDATE jobs SET total = 0 WHERE " + hers, "table jobs"},
		{
			"INSERT INTO reminder_connections (tenant_id, connection_id, reminder_id) SELECT tenant_id, 'con_none', id FROM reminders WHERE " + hers,
			"DELETE FROM reminder_connections WHERE connection_id = 'con_none'", "table reminder_connections",
		},
	} {
		spoil(t, f.path, test.spoil)
		if _, err := db.Transfer(t.Context(), f.path, postgres, nil); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("after %s: %v", test.spoil, err)
		}
		for table, rows := range dump(t, postgres) {
			if len(rows) > 0 && table != "schema_migrations" {
				t.Errorf("after %s the table %s has %d rows", test.spoil, table, len(rows))
			}
		}
		spoil(t, f.path, test.mend)
	}
	if _, err := db.Transfer(t.Context(), f.path, postgres, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Transfer(t.Context(), f.path, postgres, nil); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("a second time: %v", err)
	}
}

// spoil runs a statement on a database, and leaves no connection open.
func spoil(t *testing.T, url, statement string) {
	t.Helper()
	q := dbtest.OpenSQL(t, url)
	exec(t, q, statement)
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestTransferRefuses: databases that are in use, of another version, of the same kind, or
// hold something else.
func TestTransferRefuses(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves out what needs PostgreSQL; `make test` runs it")
	}
	lite, postgres := dbtest.SQLite(t), dbtest.Postgres(t)
	refused := func(from, to, want string) {
		t.Helper()
		if copied, err := db.Transfer(t.Context(), from, to, nil); err == nil || !strings.Contains(err.Error(), want) || copied != nil {
			t.Errorf("got %v, %v, want %q", copied, err, want)
		}
	}
	refused(lite, dbtest.SQLite(t), "same kind")
	refused(postgres, dbtest.Postgres(t), "same kind")
	refused(filepath.Join(t.TempDir(), "none.db"), postgres, "no database")

	running := dbtest.Open(t, lite, time.Now)
	refused(lite, postgres, "in use")
	if err := running.Close(); err != nil {
		t.Fatal(err)
	}
	running = dbtest.Open(t, postgres, time.Now)
	if err := running.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	refused(lite, postgres, "in use")
	refused(postgres, filepath.Join(t.TempDir(), "kith.db"), "in use")
	if err := running.Close(); err != nil {
		t.Fatal(err)
	}

	full := ownersDatabase(t)
	exec(t, dbtest.OpenSQL(t, full), "CREATE TABLE another (n INTEGER)")
	refused(lite, full, "not Kith's")
	for _, url := range []string{postgres, lite} { // the target, then the source too
		spoil(t, url, "UPDATE schema_migrations SET name = '29991231235959'")
		refused(lite, postgres, "newer kith")
	}
	other := filepath.Join(t.TempDir(), "other.db")
	spoil(t, other, "CREATE TABLE another (n INTEGER)")
	refused(other, dbtest.Postgres(t), "kith migrate")
}
