package importer_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/groups"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/reminders"
	"github.com/kith-crm/kith/backend/internal/timeline"
)

const ulid = "_seed0000"

// seedFile is a lossless export in which every object has an id.
var seedFile = strings.ReplaceAll(`{"format":"kith-connections/1","people":[
{"id":"con@1","name":"Ana","groups":["Club"],"relationships":[{"id":"rel@1","connection_id":"con@2","type":"friend"}]},
{"id":"con@2","name":"Ben"}],
"notes":[{"id":"not@1","connection_ids":["con@1"],"body":"x","created_at":"2026-01-02T03:04:05Z"}],
"interactions":[{"id":"int@1","connection_ids":["con@1"],"kind":"call","occurred_at":"2026-01-02T03:04:05Z"}],
"reminders":[{"id":"rem@1","text":"x","due_on":"2026-01-02","recurrence":"none","state":"open"}],
"groups":[{"id":"grp@1","name":"Club"},{"id":"grp@2","name":"Empty"}]}`, "@", ulid)

func (d *fixture) seed(t *testing.T, content string) error {
	t.Helper()
	return d.store.Tenant(d.owner, false).Write(t.Context(), db.Actor{}, func(ctx context.Context, u *db.Tx) error {
		return importer.Seed(ctx, u, []byte(content))
	})
}

// ids returns the sorted ids of all of the member's objects.
func (d *fixture) ids(t *testing.T) (ids []string) {
	t.Helper()
	err := export.Export(t.Context(), d.store.Tenant(d.owner, true), func(object any) error {
		switch o := object.(type) {
		case *people.Connection:
			ids = append(ids, o.ID)
		case *people.Relationship:
			ids = append(ids, o.ID)
		case *groups.Group:
			ids = append(ids, o.ID)
		case *timeline.Note:
			ids = append(ids, o.ID)
		case *timeline.Interaction:
			ids = append(ids, o.ID)
		case *reminders.Reminder:
			ids = append(ids, o.ID)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(ids)
	return ids
}

// Seed keeps the ids of a file; an import that a member starts keeps none of them.
func TestSeedKeepsIDs(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d *fixture) {
		if err := d.seed(t, seedFile); err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, object := range []string{"con@1", "con@2", "grp@1", "grp@2", "int@1", "not@1", "rel@1", "rem@1"} {
			want = append(want, strings.ReplaceAll(object, "@", ulid))
		}
		if diff := cmp.Diff(want, d.ids(t)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		other := &fixture{store: d.store, owner: d.another(t), now: d.now}
		other.imports(t, "contacts.json", seedFile, importer.Options{})
		got := other.ids(t)
		if len(got) != len(want) || slices.ContainsFunc(got, func(id string) bool { return strings.Contains(id, ulid) }) {
			t.Errorf("an import has the ids %v", got)
		}
	})
}

// Seed refuses a file that it can't import unchanged.
func TestSeedRefusesFaults(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d *fixture) {
		for name, people := range map[string]string{
			"a person without a name": `{"id":"con_1"}`, "a warning": `{"name":"Ana","met_on":"yesterday"}`, "no people": ``,
		} {
			if err := d.seed(t, fmt.Sprintf(`{"format":"kith-connections/1","people":[%s]}`, people)); err == nil {
				t.Errorf("%s was imported", name)
			}
		}
		if got := d.ids(t); len(got) > 0 {
			t.Errorf("something was stored: %v", got)
		}
	})
}
