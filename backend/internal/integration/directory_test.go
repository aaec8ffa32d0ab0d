package integration_test

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/text"
	directoryv1 "github.com/kith-crm/kith/proto/gen/kith/directory/v1"
	"pgregory.net/rapid"
)

// inContext is a test, or a check of rapid.
type inContext interface {
	rapid.TB
	Context() context.Context
}

// searchDirectory returns the usernames that an audience finds, read page by page.
func searchDirectory(t inContext, s *db.DB, audience account.Visibility, query string, size int32) (found []string) {
	t.Helper()
	var next *string
	for more := true; more; {
		if audience == account.Members {
			res, err := (&account.RPC{DB: s}).SearchDirectory(t.Context(), &directoryv1.SearchDirectoryRequest{Query: &query, Limit: &size, Cursor: next})
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range res.GetMembers() {
				found = append(found, m.GetUsername())
			}
			more, next = res.GetHasMore(), res.NextCursor
			continue
		}
		res, err := (&account.PublicRPC{DB: s}).ListMembers(t.Context(), &directoryv1.ListMembersRequest{Q: &query, PerPage: &size, Cursor: next})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range res.GetMembers() {
			found = append(found, m.GetUsername())
		}
		more, next = res.GetHasMore(), res.NextCursor
	}
	return found
}

// scanDirectory returns what searchDirectory should, by looking at each page.
func scanDirectory(pages map[string]*account.Profile, audience account.Visibility, query string) (found []string) {
	var rows []account.Profile
	for _, page := range pages {
		p := *page
		p.Index(text.Fold)
		seen, words := p.Visibility == account.Public, p.SearchText
		if audience == account.Members {
			seen, words = p.Visibility != account.Private, p.MemberText
		}
		lacks := func(word string) bool { return !strings.Contains(words, word) && !strings.Contains(p.Username, word) }
		if seen && p.Listed && !slices.ContainsFunc(strings.Fields(text.Fold(query)), lacks) {
			rows = append(rows, p)
		}
	}
	slices.SortFunc(rows, func(a, b account.Profile) int {
		return strings.Compare(a.SortName+"\x00"+a.Username, b.SortName+"\x00"+b.Username)
	})
	for _, p := range rows {
		found = append(found, p.Username)
	}
	return found
}

// TestDirectorySearchIsAScan: a search finds the same pages as a scan of all of them, for members
// and for everyone, also directly after each change of a page.
func TestDirectorySearchIsAScan(t *testing.T) {
	t.Parallel()
	part := rapid.StringOfN(rapid.SampledFrom([]rune(`abAé田村"'%_\-*:@.`)), 1, 4, -1)
	some := func(least, most int) *rapid.Generator[string] {
		return rapid.Map(rapid.SliceOfN(part, least, most), func(parts []string) string { return strings.Join(parts, " ") })
	}
	visibility := rapid.SampledFrom([]account.Visibility{account.Private, account.Members, account.Public, account.Public})
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		pages := map[string]*account.Profile{}
		for i := range 40 {
			p := &account.Profile{Username: fmt.Sprintf("ab-%d-ba", i)}
			p.MemberID = dbtest.Member(t, s, p.Username)
			pages[p.Username] = p
		}
		rapid.Check(t, func(rt *rapid.T) {
			for range 8 {
				p := pages[rapid.SampledFrom(slices.Sorted(maps.Keys(pages))).Draw(rt, "username")]
				p.Name, p.Headline, p.Title = "A"+some(0, 2).Draw(rt, "name"), some(0, 4).Draw(rt, "headline"), some(0, 4).Draw(rt, "title")
				p.Visibility, p.Listed = visibility.Draw(rt, "visibility"), rapid.IntRange(0, 4).Draw(rt, "listed") > 0
				p.FieldVisibility = map[string]account.Visibility{
					account.FieldHeadline: visibility.Draw(rt, "of the headline"), account.FieldTitle: visibility.Draw(rt, "of the title"),
				}
				if err := account.UpdateProfile(rt.Context(), s, p); err != nil {
					rt.Fatal(err)
				}
			}
			query := some(1, 2).Draw(rt, "query") + rapid.SampledFrom([]string{"a", " a", "ab-1", " 1-ba"}).Draw(rt, "end")
			size := rapid.Int32Range(1, 4).Draw(rt, "size")
			for _, audience := range []account.Visibility{account.Public, account.Members} {
				if diff := cmp.Diff(scanDirectory(pages, audience, query), searchDirectory(rt, s, audience, query, size)); diff != "" {
					rt.Errorf("%s see of %q (-scan +search):\n%s", audience, query, diff)
				}
			}
		})
	})
}

// TestDirectoryForgets: members who leave the directory, are suspended or are deleted are not
// found, and the full-text index contains only listed members.
func TestDirectoryForgets(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		s := dbtest.Open(t, url, time.Now)
		var pages []*account.Profile
		for _, username := range []string{"deleted", "suspended", "unlisted", "hidden", "stays"} {
			p := &account.Profile{MemberID: dbtest.Member(t, s, username), Name: "Xylophone", Visibility: account.Public, Listed: true}
			if err := account.UpdateProfile(t.Context(), s, p); err != nil {
				t.Fatal(err)
			}
			pages = append(pages, p)
		}
		if err := account.DeleteMember(t.Context(), s, pages[0].MemberID); err != nil {
			t.Fatal(err)
		}
		suspend(t, url, pages[1].MemberID)
		pages[2].Listed, pages[3].Visibility = false, account.Members
		for _, p := range pages[2:] {
			if err := account.UpdateProfile(t.Context(), s, p); err != nil {
				t.Fatal(err)
			}
		}
		if found := searchDirectory(t, s, account.Public, "xylo", 10); !slices.Equal(found, []string{"stays"}) {
			t.Errorf("everybody finds %v", found)
		}
		if found := searchDirectory(t, s, account.Members, "xylo", 10); !slices.Equal(found, []string{"hidden", "stays"}) {
			t.Errorf("members find %v", found)
		}
		if db.IsPostgres(url) {
			return
		}
		var public, members int
		err := dbtest.OpenSQL(t, url).QueryRowContext(t.Context(), `SELECT (SELECT count(*) FROM directory_words WHERE directory_words MATCH 'public_words : "xyl"'),
(SELECT count(*) FROM directory_words WHERE directory_words MATCH 'member_words : "xyl"')`).Scan(&public, &members)
		if err != nil || public != 2 || members != 3 { // with the suspended member
			t.Errorf("the index has %d and %d pages: %v", public, members, err)
		}
	})
}

// TestDirectoryReadsIndexes: each search of a large directory reads the index of names and the
// full-text index, before the database has statistics and after.
func TestDirectoryReadsIndexes(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		conn := dbtest.OpenSQL(t, url)
		const timestamp = "'2026-11-22 12:00:00+00:00'"
		exec(t, conn, `INSERT INTO members (id, username, email, plan, created_at, updated_at) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
SELECT 'mem_' || i, 'user-' || i, i || '@people.example', 'free', `+timestamp+`, `+timestamp+` FROM n`)
		exec(t, conn, `INSERT INTO profiles (member_id, username, listed, visibility, search_text, member_text, sort_name, updated_at)
SELECT id, username, TRUE, 'public', 'builds bridges', 'builds bridges', username, created_at FROM members`)
		var statements []string
		s := dbtest.OpenBreakable(t, url, time.Now, func(statement string) error {
			statements = append(statements, statement)
			return nil
		})
		for _, learn := range []string{"SELECT 1", "ANALYZE"} { //nolint:misspell // as SQL spells
			exec(t, conn, learn)
			for audience, indexes := range map[account.Visibility][2]string{
				account.Public:  {"profiles_directory", "profiles_public_words"},
				account.Members: {"profiles_listed", "profiles_member_words"},
			} {
				statements = nil
				if found := searchDirectory(t, s, audience, "user-4321", 1); !slices.Equal(found, []string{"user-4321"}) {
					t.Errorf("%s find %v", audience, found)
				}
				if len(statements) != 3 {
					t.Fatalf("statements: %q", statements)
				}
				byWords := indexes[1]
				if !db.IsPostgres(url) {
					byWords = "VIRTUAL TABLE INDEX"
				}
				for _, byName := range statements[:2] {
					if plan := readsBy(t, conn, db.IsPostgres(url), byName, indexes[0]); strings.Contains(plan, "Sort") || strings.Contains(plan, "TEMP B-TREE") {
						t.Errorf("the directory is sorted rather than read by name:\n%s", plan)
					}
				}
				readsBy(t, conn, db.IsPostgres(url), statements[2], byWords)
			}
		}
	})
}

// literal is a quoted text in a statement.
var literal = regexp.MustCompile(`'(?:[^']|'')*'`)

// readsBy returns the plan of a statement, and fails unless it has an index and reads no
// whole table. In PostgreSQL it is the generic plan, which the service's statements use too.
func readsBy(t *testing.T, conn *sql.DB, postgres bool, statement, index string) string {
	t.Helper()
	explain := "EXPLAIN QUERY PLAN " + statement
	if postgres {
		var arguments []string
		text := literal.ReplaceAllStringFunc(statement, func(s string) string {
			if slices.Contains([]string{"'public'", "'members'", "' '", "'%'", `'\'`}, s) {
				return s
			}
			arguments = append(arguments, s)
			return fmt.Sprint("$", len(arguments))
		})
		exec(t, conn, "SET ROLE kith_service; SET plan_cache_mode = force_generic_plan; PREPARE search AS "+text)
		explain = "EXPLAIN EXECUTE search(" + strings.Join(arguments, ", ") + ")"
		defer exec(t, conn, "DEALLOCATE search; RESET ROLE")
	}
	rows, err := conn.QueryContext(t.Context(), explain)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var plan strings.Builder
	for rows.Next() {
		step, into := "", make([]any, len(columns))
		for i := range into {
			into[i] = new(any)
		}
		into[len(into)-1] = &step
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		plan.WriteString(step + "\n")
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	text := plan.String()
	if !strings.Contains(text, index) || strings.Contains(text, "Seq Scan on") || strings.Contains(text, "SCAN profiles\n") || strings.Contains(text, "SCAN p\n") {
		t.Errorf("%s\nhas the plan\n%s", statement, text)
	}
	return text
}
