package history_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/history"
)

// A permanently deleted person is removed from every recorded state, and states that were
// only about them become null. The rest of a change can still be undone.
func TestForget(t *testing.T) {
	t.Parallel()
	other := effect("connection", "con_b", `{"name":"Bo"}`, `{"name":"Bob"}`)
	gone := func(kind, id string) history.Effect { return effect(kind, id, `null`, `null`) }
	for name, c := range map[string]struct {
		effects, want []history.Effect
		importID      string
		final         bool
		summary       string
	}{
		"another person": {effects: []history.Effect{other}, want: []history.Effect{other}, summary: "Linked Ana and Bo"},
		"the person": {
			effects: []history.Effect{effect("connection", "con_a", `null`, `{"name":"Ana"}`)}, want: []history.Effect{gone("connection", "con_a")},
			final: true, summary: "About a person who was deleted for good",
		},
		"one of two": {
			effects: []history.Effect{effect("connection", "con_a", `{"bio":"x"}`, `{"bio":"y"}`), other},
			want:    []history.Effect{gone("connection", "con_a"), other}, summary: "About several people, one of whom was deleted for good",
		},
		"one of an import": {
			effects: []history.Effect{effect("connection", "con_a", `null`, `{"name":"Ana"}`), other}, importID: "imp_1",
			want: []history.Effect{gone("connection", "con_a"), other}, summary: "Linked Ana and Bo",
		},
		"a note about them": {
			effects: []history.Effect{effect("note", "not_1", `{"body":"x","connection_ids":["con_a"]}`, `null`)}, want: []history.Effect{gone("note", "not_1")},
			final: true, summary: "About a person who was deleted for good",
		},
		"a note about them and another": {
			effects: []history.Effect{effect("note", "not_1", `null`, `{"body":"x","connection_ids":["con_a","con_b"]}`)},
			want:    []history.Effect{effect("note", "not_1", `null`, `{"body":"x","connection_ids":["con_b"]}`)}, summary: "Linked Ana and Bo",
		},
		"a note that they left": {
			effects: []history.Effect{effect("note", "not_1", `{"connection_ids":["con_a","con_b"]}`, `{"connection_ids":["con_b"]}`)},
			want:    []history.Effect{gone("note", "not_1")}, final: true, summary: "About a person who was deleted for good",
		},
		"a note that another person left": {
			effects: []history.Effect{effect("note", "not_1", `{"connection_ids":["con_a","con_b","con_c"]}`, `{"connection_ids":["con_a","con_b"]}`)},
			want:    []history.Effect{effect("note", "not_1", `{"connection_ids":["con_b","con_c"]}`, `{"connection_ids":["con_b"]}`)}, summary: "Linked Ana and Bo",
		},
		"a note that went to another": {
			effects: []history.Effect{effect("note", "not_1", `{"connection_ids":["con_a"]}`, `{"connection_ids":["con_b"]}`), other},
			want:    []history.Effect{gone("note", "not_1"), other}, summary: "About several people, one of whom was deleted for good",
		},
		"a reminder about them": {
			effects: []history.Effect{effect("reminder", "rem_1", `{"text":"x","connection_ids":["con_a"]}`, `null`)}, want: []history.Effect{gone("reminder", "rem_1")},
			final: true, summary: "About a person who was deleted for good",
		},
		"a relationship": {
			effects: []history.Effect{effect("relationship", "rel_1", `null`, `{"from_id":"con_b","to_id":"con_a"}`)}, want: []history.Effect{gone("relationship", "rel_1")},
			final: true, summary: "About a person who was deleted for good",
		},
	} {
		record := history.Change{Effects: c.effects, Summary: "Linked Ana and Bo", ImportID: c.importID}
		changed, err := record.Forget(map[string]bool{"con_a": true})
		want := history.Change{Effects: c.want, Summary: c.summary, ImportID: c.importID, Final: c.final}
		if diff := cmp.Diff(want, record); diff != "" || err != nil || changed == (name == "another person") {
			t.Errorf("%s: changed %v, %v (-want +got):\n%s", name, changed, err, diff)
		}
		if again, err := record.Forget(map[string]bool{"con_a": true}); again || err != nil {
			t.Errorf("%s: changed again, %v", name, err)
		}
	}
}

// An undo skips permanently deleted objects; they cause no conflict.
func TestUndoLeavesOutWhatIsForgotten(t *testing.T) {
	t.Parallel()
	d := newFixture(t, map[string]string{"1": `{"a":2}`}, effect("thing", "1", `{"a":1}`, `{"a":2}`), effect("thing", "2", `null`, `null`))
	got, err := d.undo("chg_1", false)
	if err != nil || len(got.Conflicts) != 0 || len(got.Restored) != 1 || got.Restored[0].ID != "1" || d.things()["1"] != `{"a":1}` {
		t.Errorf("%+v, %v; %v", got, err, d.things())
	}
}
