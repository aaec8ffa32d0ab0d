package store_test

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/organize"
	"github.com/kith-crm/kith/backend/internal/store"
	"github.com/kith-crm/kith/backend/internal/storetest"
	"github.com/kith-crm/kith/backend/internal/text"
)

// oldFold is the rule by which keys were folded before: all marks go.
func oldFold(s string) string {
	var b strings.Builder
	for _, r := range norm.NFKD.String(s) {
		if !unicode.Is(unicode.Mn, r) {
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// Keys in the old folding are rewritten, those of a read-only member too. Where two
// of a kind are one now, the older one takes over what the other had.
func TestKeysOfTheOldFoldingAreRewritten(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, url string) {
		s := storetest.Open(t, url, time.Now)
		owner := storetest.Member(t, s, "maria")
		sunil := create(t, s, owner, connection.Draft{Name: "सुनील", Organization: "バル", Tags: []string{"กิตติ"}})
		saved, err := saveGroup(t, s, owner, organize.Patch{Name: new("김민수")})
		if err != nil {
			t.Fatal(err)
		}
		db := storetest.OpenSQL(t, url)
		exec := func(statement string, args ...any) {
			t.Helper()
			if _, err := db.ExecContext(t.Context(), fmt.Sprintf(statement, args...)); err != nil {
				t.Fatal(err)
			}
		}
		exec("UPDATE connections SET folded_name = '%s'", oldFold("सुनील"))
		exec("UPDATE tags SET folded_name = '%s'", oldFold("กิตติ"))
		exec("UPDATE groups SET folded_name = '%s'", oldFold("김민수"))
		exec("UPDATE organizations SET normal_name = '%s'", oldFold("バル"))
		exec("UPDATE profiles SET sort_name = 'old', search_text = 'old'")
		exec("INSERT INTO tags (tenant_id, id, name, folded_name) VALUES ('%s', 'tag_1', 'Cœur', 'cœur'), ('%[1]s', 'tag_2', 'coeur', 'coeur')", owner)
		exec("INSERT INTO connection_tags (tenant_id, connection_id, tag_id) VALUES ('%s', '%s', 'tag_1'), ('%[1]s', '%[2]s', 'tag_2')", owner, sunil.ID)
		exec("INSERT INTO organizations (tenant_id, id, name, normal_name, domain, created_at, updated_at) VALUES "+
			"('%s', 'org_1', 'Cœur', 'cœur', '', '2026-01-01', '2026-01-01'), ('%[1]s', 'org_2', 'Coeur Ltd', 'coeur', '', '2026-01-01', '2026-01-01')", owner)
		exec("UPDATE positions SET organization_id = 'org_2'")
		exec("UPDATE tenant_states SET read_only = TRUE")
		exec("DELETE FROM bun_migrations WHERE name = '20261123000101'")

		if applied, err := store.Migrate(t.Context(), store.Config{URL: url}); err != nil || applied != 1 {
			t.Fatalf("%d migrations: %v", applied, err)
		}
		for query, want := range map[string][]string{
			"SELECT folded_name FROM connections":                  {text.Fold("सुनील")},
			"SELECT folded_name FROM groups":                       {text.Fold("김민수")},
			"SELECT name || '=' || folded_name FROM tags":          {"Cœur=coeur", "กิตติ=กิตติ"},
			"SELECT name || '=' || normal_name FROM organizations": {"Cœur=coeur", "バル=バル"},
			"SELECT organization_id FROM positions":                {"org_1"},
			"SELECT count(*) || '' FROM connection_tags":           {"2"},
			"SELECT sort_name || search_text FROM profiles":        {"mariamaria"},
			"SELECT id FROM groups":                                {saved.Group.ID},
			"SELECT tenant_id FROM tenant_states WHERE read_only":  {string(owner)},
		} {
			if got := column(t, db, query); !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", query, got, want)
			}
		}
	})
}

// column returns the only column of a query, sorted.
func column(t *testing.T, db *sql.DB, query string) (out []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out
}
