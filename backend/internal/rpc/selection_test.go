package rpc_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/people"
)

// selected returns the selection of a search, as a further member of a JSON object.
func (b *bundle) selected(t *testing.T, filters string) string {
	t.Helper()
	got := b.call(t, searchPath, "{"+filters+"}")
	selection, ok := got.at("selection").(string)
	if !ok || !strings.HasPrefix(selection, "sel_") {
		t.Fatalf("%s: %v", filters, got.body)
	}
	return fmt.Sprintf(`,"selection":%q`, selection)
}

const archivePath = "/kith.connections.v1.ConnectionService/ArchiveConnections"

// Each tool that acts on many people accepts a selection: a dry run writes nothing, the
// action is one change, and one undo reverts it.
func TestActsOnSelections(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		b.made(t, `{"name":"Ana Lopez","location":"Lisbon, Portugal"}`)
		b.made(t, `{"name":"Ben Okafor","location":"Porto, Portugal"}`)
		b.made(t, `{"name":"Cleo Ito","location":"Osaka, Japan"}`)
		inPortugal := `"country":"portugal"`
		for name, act := range map[string]struct{ procedure, arguments, done string }{
			"tags":    {updateMembership, `"add_tags":["iberia"]`, `"tag":["iberia"]`},
			"cadence": {setCadence, `"days":30`, `"has":["cadence"]`},
			"archive": {archivePath, `"archived":true`, `"archived":true`},
		} {
			selection := b.selected(t, inPortugal)
			count := func() any {
				if got := b.call(t, searchPath, `{`+act.done+`}`); got.code() == "" {
					return got.at("count")
				}
				return 0.0 // a tag that no one has
			}
			dry := b.call(t, act.procedure, `{"dry_run":true,`+act.arguments+selection+`}`)
			if dry.at("changed") != 2.0 || dry.at("names", 0) != "Ana Lopez" || dry.at("change_id") != nil {
				t.Errorf("%s, dry run: %v", name, dry.body)
			}
			if count() != 0.0 {
				t.Errorf("%s: the dry run wrote", name)
			}
			done := b.call(t, act.procedure, `{`+act.arguments+selection+`}`)
			if done.at("changed") != 2.0 || count() != 2.0 {
				t.Errorf("%s: %v, then %v", name, done.body, count())
			}
			undone := b.call(t, undoChange, fmt.Sprintf(`{"change_id":%q,"dry_run":false}`, done.at("change_id")))
			if undone.code() != "" || b.call(t, searchPath, `{`+inPortugal+`}`).at("count") != 2.0 {
				t.Errorf("%s, undone: %v", name, undone.body)
			}
		}
		exported := b.call(t, exportPeople, `{"format":"csv"`+b.selected(t, inPortugal)+`}`)
		if content, _ := exported.at("content").(string); exported.at("count") != 2.0 || strings.Contains(content, "Cleo") {
			t.Errorf("export: %v", exported.body)
		}
	})
}

// A selection of duplicates is merged into one of them.
func TestMergeSelection(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		into := b.made(t, `{"name":"Ana Lopez"}`)
		b.made(t, `{"name":"Ana Lopez","on_duplicate":"create","emails":["ana@x.example"]}`)
		got := b.call(t, mergePeople, fmt.Sprintf(`{"into_id":%q,"dry_run":false%s}`, into, b.selected(t, `"query":"Ana Lopez"`)))
		if got.at("merged") != true || got.at("connection", "emails", 0) != "ana@x.example" {
			t.Errorf("%v", got.body)
		}
		alone := b.call(t, mergePeople, fmt.Sprintf(`{"into_id":%q%s}`, into, b.selected(t, `"query":"Ana Lopez"`)))
		if alone.code() != "invalid_argument" || !strings.Contains(alone.message(), "no person except into_id") {
			t.Errorf("alone: %v", alone.body)
		}
	})
}

// TestSelectionsStandForWhoTheyMatched: a selection is refused when it was changed, when it
// is another member's, and when the same search matches other people by now.
func TestSelectionsStandForWhoTheyMatched(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		b.made(t, `{"name":"Ana Lopez","tags":["rowing"]}`)
		ben := b.made(t, `{"name":"Ben Okafor"}`)
		selection := b.selected(t, `"tag":["rowing"]`)
		archive := func(selection string) answer { return b.call(t, archivePath, `{"dry_run":true`+selection+`}`) }
		if got := archive(selection); got.at("changed") != 1.0 {
			t.Fatalf("%v", got.body)
		}
		for i := range len(selection) - len(`,"selection":""`) {
			changed := []byte(selection)
			at := len(`,"selection":"`) + i
			if changed[at] = 'A'; selection[at] == 'A' {
				changed[at] = 'B'
			}
			if got := archive(string(changed)); got.code() != "invalid_argument" || !strings.Contains(got.message(), "selection: is none that search_connections gave this member") {
				t.Fatalf("changed at %d: %v", i, got.body)
			}
		}
		for _, wrong := range []string{`,"selection":""`, `,"selection":"sel_"`, `,"selection":"rowing"`, ``, selection + fmt.Sprintf(`,"ids":[%q]`, ben)} {
			if got := archive(wrong); got.code() != "invalid_argument" {
				t.Errorf("%s: %v", wrong, got.body)
			}
		}
		stranger := dbtest.Token(t, b.store, dbtest.Member(t, b.store, "ines"), b.rpcs.Scopes()...)
		if got := b.call(t, archivePath, `{"dry_run":true`+selection+`}`, "Authorization", "Bearer "+stranger); got.code() != "invalid_argument" {
			t.Errorf("another member's: %v", got.body)
		}
		b.call(t, updateMembership, fmt.Sprintf(`{"connection_ids":[%q],"add_tags":["rowing"]}`, ben))
		if got := archive(selection); got.code() != "aborted" || !strings.Contains(got.message(), "stood for 1 people and the same search matches 2") {
			t.Errorf("others by now: %v", got.body)
		}
	})
}

// A selection stands for at most 10,000 people.
func TestLargestSelection(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves out what stores 10,001 people; `make test` runs it")
	}
	each(t, func(t *testing.T, b *bundle) {
		var last string
		err := b.store.Tenant(b.member, false).Write(t.Context(), db.Actor{}, func(ctx context.Context, tx *db.Tx) error {
			rows := make([]people.Connection, 10_001)
			for i := range rows {
				name := fmt.Sprintf("Person %05d", i)
				rows[i] = people.Connection{
					TenantID: tx.TenantID(), ID: fmt.Sprintf("con_%d", i), Name: name, FoldedName: name, Source: "manual",
					Version: 1, DataVersion: tx.Version(), CreatedAt: tx.Now(), UpdatedAt: tx.Now(),
				}
			}
			for i := 0; i < len(rows); i += 1000 {
				some := rows[i:min(i+1000, len(rows))]
				if err := tx.InsertAll(ctx, &some, len(some)); err != nil {
					return err
				}
			}
			last = rows[10_000].ID
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := b.call(t, searchPath, `{}`); got.at("count") != 10_001.0 || got.at("selection") != nil {
			t.Errorf("10,001 people: %v and %v", got.at("count"), got.at("selection"))
		}
		b.call(t, archivePath, fmt.Sprintf(`{"ids":[%q]}`, last))
		everyone := b.selected(t, ``)
		done := b.call(t, updateMembership, `{"add_tags":["all"]`+everyone+`}`)
		if done.at("changed") != 10_000.0 || b.call(t, searchPath, `{"tag":["all"]}`).at("count") != 10_000.0 {
			t.Fatalf("%v", done.body)
		}
		undone := b.call(t, undoChange, fmt.Sprintf(`{"change_id":%q,"dry_run":false}`, done.at("change_id")))
		if undone.code() != "" || b.call(t, searchPath, `{"missing":["tag"]}`).at("count") != 10_000.0 {
			t.Errorf("undone: %v", undone.body)
		}
	})
}
