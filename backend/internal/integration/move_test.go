package integration_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/account/password"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/decision"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/move"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/search"
	"github.com/kith-crm/kith/backend/internal/search/index"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/timeline"
)

// home is an account with one of everything, in an installation with others.
type home struct {
	url   string
	s     *db.DB
	owner tenant.ID
	// created is the change that created Ada Byron.
	created, ada string
}

// newHome furnishes the account of maria.
func newHome(t *testing.T, url string) home {
	t.Helper()
	h := home{url: url, s: dbtest.Open(t, url, time.Now)}
	event(t, h.s, dbtest.Member(t, h.s, "bystander"))
	h.owner = dbtest.Member(t, h.s, "maria")
	furnish(t, h.s, h.owner, "maria")
	made := createWritten(t, h.s, h.owner, people.Draft{Name: "Ada Byron", Bio: "é, 'quoted' & \"double\" <b>?\\ \u2028\U0001f600"})
	h.ada, h.created = made.Connection.ID, made.ChangeID
	do(t, h.s, h.owner, func(ctx context.Context, u *db.Tx) (*decision.Decision, error) {
		asked, err := keepDecision(ctx, u, "refused")
		if err != nil {
			return nil, err
		}
		return decision.Decide(ctx, u, asked.ID, false)
	})
	hash, err := password.Cost{MemoryKiB: 64, Passes: 1}.Hash("a long enough one")
	if err != nil {
		t.Fatal(err)
	}
	q := dbtest.OpenSQL(t, url)
	exec(t, q, "UPDATE members SET password_hash = '"+hash+"', email_verified_at = created_at WHERE username = 'maria'")
	exec(t, q, "UPDATE jobs SET state = 'succeeded', ended_at = created_at WHERE kind = 'file_import'")
	return h
}

// exported returns the file of an account.
func exported(t *testing.T, s *db.DB, username string) []byte {
	t.Helper()
	var out bytes.Buffer
	if _, err := move.Export(t.Context(), s, username, false, &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// canonical is every row of a member as text, by table, which is the same in both databases. Numbers
// that a database gives by itself are left out.
func canonical(t *testing.T, url string, owner tenant.ID) map[string][]string {
	t.Helper()
	q, out := dbtest.OpenSQL(t, url), map[string][]string{}
	for _, table := range tables(t, q, db.IsPostgres(url)) {
		if rows, owned := canonicalRows(t, q, table, owner); owned {
			out[table] = rows
		}
	}
	return out
}

// canonicalRows returns a member's rows of a table, and whether its rows have a member.
func canonicalRows(t *testing.T, q *sql.DB, table string, owner tenant.ID) (out []string, owned bool) {
	t.Helper()
	rows, err := q.Query("SELECT * FROM " + table)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(columns, func(c string) bool { return c == "tenant_id" || c == "member_id" || table == "members" && c == "id" })
	if at < 0 {
		return nil, false
	}
	for rows.Next() {
		values, targets := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			targets[i] = &values[i]
		}
		if err := rows.Scan(targets...); err != nil {
			t.Fatal(err)
		}
		var row []string
		for i, v := range values {
			if column := table + "." + columns[i]; column != "profiles.number" && column != "security_events.id" {
				row = append(row, columns[i]+"="+canonicalValue(v))
			}
		}
		if slices.Sort(row); values[at] == string(owner) {
			out = append(out, strings.Join(row, " "))
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out, true
}

func canonicalValue(v any) string {
	switch v := v.(type) {
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	case []byte:
		return "x" + hex.EncodeToString(v)
	case bool:
		return map[bool]string{false: "0", true: "1"}[v]
	default:
		return fmt.Sprint(v)
	}
}

// eachMove calls test for each pair of databases.
func eachMove(t *testing.T, test func(t *testing.T, from, to string)) {
	t.Helper()
	dbtest.Databases(t, func(t *testing.T, from string) {
		dbtest.Databases(t, func(t *testing.T, to string) { test(t, another(t, from), to) })
	})
}

// another returns an empty database of the same kind.
func another(t *testing.T, url string) string {
	t.Helper()
	if db.IsPostgres(url) {
		return dbtest.Postgres(t)
	}
	return dbtest.SQLite(t)
}

// staysBehind are the tables of a member whose rows are not moved.
func staysBehind() []string {
	return []string{
		"login_sessions", "personal_tokens", "grants", "authorization_codes", "mail_links", "not_me_links", "member_addresses", "totp_secrets", "passkeys", "recovery_codes",
		"sign_in_steps", "linked_identities", "idempotency_keys", "files", "device_cards", "device_groups", "sources", "source_meetings", "source_people", "source_cards",
	}
}

// Every row that is moved is the same in the other installation, and the account works there.
func TestMovedAccountIsEqual(t *testing.T) {
	t.Parallel()
	eachMove(t, func(t *testing.T, from, to string) {
		home := newHome(t, from)
		file := exported(t, home.s, "maria")
		s := dbtest.Open(t, to, time.Now)
		event(t, s, dbtest.Member(t, s, "neighbour"))
		got, err := move.Import(t.Context(), s, bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		want, moved := canonical(t, from, home.owner), canonical(t, to, home.owner)
		for _, table := range staysBehind() {
			if len(want[table]) == 0 || len(moved[table]) > 0 {
				t.Errorf("%s: %d rows, of which %d were moved", table, len(want[table]), len(moved[table]))
			}
			delete(want, table)
			delete(moved, table)
		}
		// The index of words is made again: the numbers of entries are other ones.
		number := regexp.MustCompile(` number=\d+`)
		for _, tables := range []map[string][]string{want, moved} {
			for i, row := range tables["entry_numbers"] {
				tables["entry_numbers"][i] = number.ReplaceAllString(row, "")
			}
			slices.Sort(tables["entry_numbers"])
		}
		if diff := cmp.Diff(want["entry_numbers"], moved["entry_numbers"]); diff != "" || len(moved["entry_words"]) != len(want["entry_words"]) {
			t.Errorf("%d rows of entry_words, want %d; entry_numbers (-there +here):\n%s", len(moved["entry_words"]), len(want["entry_words"]), diff)
		}
		for _, table := range []string{"entry_numbers", "entry_words", "entry_blocks"} {
			if len(moved[table]) == 0 {
				t.Errorf("%s is empty", table)
			}
			delete(want, table)
			delete(moved, table)
		}
		isOver := func(row string) bool {
			return !strings.Contains(row, " state=queued") && !strings.Contains(row, " state=waiting")
		}
		for _, table := range []string{"jobs", "decisions"} {
			all := len(want[table])
			want[table] = slices.DeleteFunc(want[table], func(row string) bool { return !isOver(row) })
			if n := len(want[table]); n == 0 || n == all {
				t.Errorf("the test has %d rows of %s, of which %d are over", all, table, n)
			}
		}
		var files, kept int // the files stay behind
		err = dbtest.OpenSQL(t, from).QueryRow("SELECT kept_bytes, (SELECT coalesce(sum(size), 0) FROM files WHERE files.tenant_id = s.tenant_id) FROM tenant_states s WHERE tenant_id = '"+
			string(home.owner)+"'").Scan(&kept, &files)
		if err != nil || files == 0 || kept <= files {
			t.Errorf("%d bytes are counted, %d of them in files, %v", kept, files, err)
		}
		want["tenant_states"][0] = strings.Replace(want["tenant_states"][0], fmt.Sprint("kept_bytes=", kept), fmt.Sprint("kept_bytes=", kept-files), 1)
		if diff := cmp.Diff(want, moved); diff != "" {
			t.Errorf("(-there +here):\n%s", diff)
		}
		rows := 0
		for table, of := range moved {
			if rows += len(of); len(of) == 0 {
				t.Errorf("the test puts nothing into %s", table)
			}
		}
		if got.ID != home.owner || got.Username != "maria" || got.Rows != rows || !got.SecondFactor {
			t.Errorf("got %+v, with %d rows", got, rows)
		}
		worksThere(t, home, s)
	})
}

// worksThere checks that a moved account searches, reads, undoes and pays as before.
func worksThere(t *testing.T, from home, s *db.DB) {
	t.Helper()
	was, err := dbtest.Ledger(t, from.s).GetCredits(t.Context(), from.owner)
	if err != nil {
		t.Fatal(err)
	}
	if is, err := dbtest.Ledger(t, s).GetCredits(t.Context(), from.owner); err != nil || is != was || was.Used() == 0 {
		t.Errorf("credits: %+v instead of %+v, %v", is, was, err)
	}
	data := s.Tenant(from.owner, false)
	entries, err := timeline.ListTimeline(t.Context(), data, timeline.Query{Limit: 50})
	before, beforeErr := timeline.ListTimeline(t.Context(), from.s.Tenant(from.owner, false), timeline.Query{Limit: 50})
	if diff := cmp.Diff(before, entries); diff != "" || err != nil || beforeErr != nil || len(entries) < 2 {
		t.Errorf("timeline: %v, %v, %s", err, beforeErr, diff)
	}
	indexes := search.NewIndexCache(func(ctx context.Context, owner tenant.ID, since int64) (search.Documents, error) {
		return search.LoadDocuments(ctx, s.Tenant(owner, false), since)
	}, 1<<20)
	find := func(version int64) int {
		t.Helper()
		result, err := indexes.Search(t.Context(), from.owner, version, index.Query{Text: "byron", Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		return len(result.Hits)
	}
	if found := find(0); found != 1 {
		t.Errorf("a search finds %d", found)
	}
	m, err := account.FindMember(t.Context(), s, "maria@people.example")
	if err != nil || !m.MaySignIn() || !password.Verify(m.PasswordHash, "a long enough one") {
		t.Errorf("the member cannot sign in: %+v, %v", m, err)
	}
	if pages, err := account.GetPublicProfiles(t.Context(), s, []string{"maria"}); err != nil || len(pages) != 1 {
		t.Errorf("the page: %v, %v", pages, err)
	}
	if found := searchDirectory(t, s, account.Public, "maria", 10); !slices.Contains(found, "maria") {
		t.Errorf("the directory: %v", found)
	}
	docs, err := search.LoadDocuments(t.Context(), data, -1)
	if err != nil {
		t.Fatal(err)
	}
	wantUndone(t, s, from.owner, from.created)
	if _, err := people.GetConnection(t.Context(), data, from.ada); !fault.Is(err, fault.NotFound) {
		t.Errorf("the creation of Ada was undone: %v", err)
	}
	if found := find(docs.Version + 1); found != 0 {
		t.Errorf("after the undo, a search finds %d", found)
	}
	wantUndone(t, s, from.owner, lastChange(t, data))
	if c, err := people.GetConnection(t.Context(), data, from.ada); err != nil || c.Name != "Ada Byron" {
		t.Errorf("the undo was undone: %+v, %v", c, err)
	}
}

// An account that was moved there and back is the same file.
func TestMovedBackIsTheSameFile(t *testing.T) {
	t.Parallel()
	eachMove(t, func(t *testing.T, from, to string) {
		home := newHome(t, from)
		first := exported(t, home.s, "maria")
		s := dbtest.Open(t, to, time.Now)
		if _, err := move.Import(t.Context(), s, bytes.NewReader(first)); err != nil {
			t.Fatal(err)
		}
		second := exported(t, s, "maria")
		if diff := cmp.Diff(rowsIn(t, first), rowsIn(t, second)); diff != "" {
			t.Errorf("(-there +here):\n%s", diff)
		}
		if err := account.DeleteMember(t.Context(), home.s, home.owner); err != nil {
			t.Fatal(err)
		}
		if _, err := move.Import(t.Context(), home.s, bytes.NewReader(second)); err != nil {
			t.Errorf("back: %v", err)
		}
	})
}

// The demo account cannot be moved, and a member who does not exist has no file.
func TestExportsWithoutAnAccount(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		s := dbtest.Open(t, url, time.Now)
		readOnly(t, url, dbtest.Member(t, s, "demo-one"))
		var out bytes.Buffer
		if _, err := move.Export(t.Context(), s, "demo-one", false, &out); !fault.Is(err, fault.ReadOnly) {
			t.Errorf("the demo account: %v", err)
		}
		if _, err := move.Export(t.Context(), s, "nobody", false, &out); !fault.Is(err, fault.NotFound) || !strings.Contains(err.Error(), `"nobody"`) {
			t.Errorf("nobody: %v", err)
		}
	})
}
