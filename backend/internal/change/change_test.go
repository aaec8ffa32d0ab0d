package change_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kith-crm/kith/backend/internal/change"
	"github.com/kith-crm/kith/backend/internal/fault"
)

func effect(kind, id, before, after string) change.Effect {
	return change.Effect{Kind: kind, ID: id, Before: json.RawMessage(before), After: json.RawMessage(after)}
}

func TestObjects(t *testing.T) {
	t.Parallel()
	const gone = `{"ArchivedAt":"2026-01-01T00:00:00Z","MergedInto":"con_2"}`
	for name, c := range map[string]struct {
		before, after, action string
		fields                []string
		undo                  bool
	}{
		"created":          {before: `null`, after: `{"Name":"a"}`, action: "created"},
		"brought back":     {before: `null`, after: `{"Name":"a"}`, action: "restored", undo: true},
		"removed":          {before: `{"Name":"a"}`, after: `null`, action: "removed"},
		"archived":         {before: `{"ArchivedAt":"0001-01-01T00:00:00Z"}`, after: `{"ArchivedAt":"2026-01-01T00:00:00Z"}`, action: "archived"},
		"unarchived":       {before: `{"ArchivedAt":"2026-01-01T00:00:00Z"}`, after: `{"ArchivedAt":"0001-01-01T00:00:00Z"}`, action: "restored"},
		"merged":           {before: `{"MergedInto":""}`, after: gone, action: "merged"},
		"one field":        {before: `{"Name":"a","MetOn":"2026"}`, after: `{"Name":"a","MetOn":"2027"}`, action: "updated", fields: []string{"met_on"}},
		"a field that was": {before: `{"Bio":"x"}`, after: `{}`, action: "updated", fields: []string{"bio"}},
		"initials":         {before: `{"ConnectionIDs":["a"],"AvatarURL":"x"}`, after: `{"ConnectionIDs":["b"],"AvatarURL":"y"}`, action: "updated", fields: []string{"avatar_url", "connection_ids"}},
		"volatile ones":    {before: `{"Version":1,"UpdatedAt":"x","LastInteractionAt":"y"}`, after: `{"Version":2,"UpdatedAt":"z"}`, action: "updated"},
		"addresses": {
			before: `{"Handles":[{"ID":"1","Kind":"email","Value":"a"},{"Kind":"phone","Value":"1"}]}`,
			after:  `{"Handles":[{"ID":"2","Kind":"email","Value":"a"},{"Kind":"phone","Value":"2"},{"Kind":"social","Value":"s"}]}`,
			action: "updated", fields: []string{"phones", "urls"},
		},
	} {
		record := change.Change{Effects: []change.Effect{effect("connection", "con_1", c.before, c.after)}}
		if c.undo {
			record.Undoes = "chg_0"
		}
		want := []change.Object{{Kind: "connection", ID: "con_1", Action: c.action, Fields: c.fields}}
		if diff := cmp.Diff(want, record.Objects()); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// desk keeps objects of one kind, and changes, in memory.
type desk struct {
	objects map[string]string // JSON by id
	changes map[string]*change.Change
	blocked map[string]string // reasons by id
	fail    error
}

func (d *desk) Current(_ context.Context, id string) (any, error) {
	object, ok := d.objects[id]
	if !ok {
		return nil, d.fail
	}
	return json.RawMessage(object), d.fail
}

func (d *desk) Restore(_ context.Context, id string, to json.RawMessage) error {
	if reason := d.blocked[id]; reason != "" {
		return fault.New(fault.Conflict, "%s", reason)
	}
	if string(to) == "null" {
		delete(d.objects, id)
	} else {
		d.objects[id] = string(to)
	}
	return nil
}

func (d *desk) GetChange(_ context.Context, id string) (*change.Change, error) {
	c, ok := d.changes[id]
	if !ok {
		return nil, fault.New(fault.NotFound, "there is no change %s", id)
	}
	return c, nil
}

func (d *desk) SetUndoneBy(_ context.Context, id, by string) error {
	d.changes[id].UndoneBy = by
	return nil
}

func (d *desk) Record(_ context.Context, draft change.Draft) (string, error) {
	effects, err := draft.Encode()
	id := fmt.Sprintf("chg_%d", len(d.changes)+1)
	d.changes[id] = &change.Change{ID: id, Summary: draft.Summary, Effects: effects, Undoes: draft.Undoes, ImportID: draft.ImportID}
	return id, err
}

func (d *desk) Restorers() map[string]change.Restorer { return map[string]change.Restorer{"thing": d} }

func (d *desk) Attempt(ctx context.Context, fn func(context.Context) (bool, error)) error {
	before := maps.Clone(d.objects)
	keep, err := fn(ctx)
	if !keep || err != nil {
		d.objects = before
	}
	return err
}

func newDesk(objects map[string]string, effects ...change.Effect) *desk {
	return &desk{objects: objects, blocked: map[string]string{}, changes: map[string]*change.Change{
		"chg_1": {ID: "chg_1", Summary: "Changed it", Effects: effects},
	}}
}

func TestUndo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		on       map[string]string
		effects  []change.Effect
		want     map[string]string
		conflict string
	}{
		"of a creation": {on: map[string]string{"1": `{"A":1}`}, effects: []change.Effect{effect("thing", "1", `null`, `{"A":1}`)}, want: map[string]string{}},
		"of a removal":  {on: map[string]string{}, effects: []change.Effect{effect("thing", "1", `{"A":1}`, `null`)}, want: map[string]string{"1": `{"A":1}`}},
		"leaves fields that were not recorded": {
			on: map[string]string{"1": `{"A":2,"B":7}`}, effects: []change.Effect{effect("thing", "1", `{"A":1}`, `{"A":2}`)},
			want: map[string]string{"1": `{"A":1,"B":7}`},
		},
		"compares what counts": {
			on:      map[string]string{"1": `{"A":"2026-01-01T01:00:00+01:00","L":["b","a"],"Version":9,"N":null}`},
			effects: []change.Effect{effect("thing", "1", `{"A":""}`, `{"A":"2026-01-01T00:00:00Z","L":["a","b"],"Version":1,"N":[],"Z":""}`)},
			want:    map[string]string{"1": `{"A":"","L":["b","a"],"N":null,"Version":9}`},
		},
		"goes backwards": {
			on:      map[string]string{"1": `{"A":3}`},
			effects: []change.Effect{effect("thing", "1", `{"A":1}`, `{"A":2}`), effect("thing", "1", `{"A":2}`, `{"A":3}`)},
			want:    map[string]string{"1": `{"A":1}`},
		},
		"of what changed since":   {on: map[string]string{"1": `{"MetOn":3}`}, effects: []change.Effect{effect("thing", "1", `{"MetOn":1}`, `{"MetOn":2}`)}, conflict: "it was changed since: met_on"},
		"of what is gone":         {on: map[string]string{}, effects: []change.Effect{effect("thing", "1", `{"A":1}`, `{"A":2}`)}, conflict: "it is not on file any more"},
		"of what came back":       {on: map[string]string{"1": `{"A":1}`}, effects: []change.Effect{effect("thing", "1", `{"A":1}`, `null`)}, conflict: "it is on file again"},
		"of an unknown kind":      {on: map[string]string{}, effects: []change.Effect{effect("ghost", "1", `null`, `{}`)}, conflict: "this version cannot put back a ghost"},
		"of an order that counts": {on: map[string]string{"1": `{"L":[{"a":1},{"a":2}]}`}, effects: []change.Effect{effect("thing", "1", `{}`, `{"L":[{"a":2},{"a":1}]}`)}, conflict: "it was changed since: l"},
	} {
		d := newDesk(c.on, c.effects...)
		before := maps.Clone(c.on)
		dry, err := change.Undo(t.Context(), d, "chg_1", true)
		if err != nil || dry.ChangeID != "" || !maps.Equal(before, d.objects) || len(d.changes) != 1 {
			t.Errorf("dry run %s: %+v, %v, %v", name, dry, d.objects, err)
		}
		got, err := change.Undo(t.Context(), d, "chg_1", false)
		if err != nil || !cmp.Equal(got.Restored, dry.Restored) || !cmp.Equal(got.Conflicts, dry.Conflicts) {
			t.Errorf("undo %s: %+v, %v", name, got, err)
			continue
		}
		if c.conflict != "" {
			fields, changed := strings.CutPrefix(c.conflict, "it was changed since: ")
			if len(got.Conflicts) != 1 || got.Conflicts[0].Reason != c.conflict || got.ChangeID != "" || !maps.Equal(before, d.objects) ||
				changed != slices.Equal(got.Conflicts[0].Fields, []string{fields}) {
				t.Errorf("undo %s: %+v", name, got)
			}
			continue
		}
		if got.ChangeID != "chg_2" || d.changes["chg_1"].UndoneBy != "chg_2" || d.changes["chg_2"].Undoes != "chg_1" || !maps.Equal(c.want, d.objects) {
			t.Errorf("undo %s: %+v, %v", name, got, d.objects)
		}
		if again, err := change.Undo(t.Context(), d, "chg_1", false); err != nil || !again.AlreadyUndone || len(d.changes) != 2 {
			t.Errorf("undo %s again: %+v, %v", name, again, err)
		}
	}
}

// Of several effects all that are in the way are told, and none is undone.
func TestUndoTellsEveryConflict(t *testing.T) {
	t.Parallel()
	d := newDesk(map[string]string{"1": `{"A":2}`, "2": `{"A":2}`, "3": `{"A":9}`},
		effect("thing", "1", `{"A":1}`, `{"A":2}`), effect("thing", "2", `{"A":1}`, `{"A":2}`), effect("thing", "3", `{"A":1}`, `{"A":2}`))
	d.blocked["1"] = "something hangs on it"
	got, err := change.Undo(t.Context(), d, "chg_1", false)
	var ids []string
	for _, c := range got.Conflicts {
		ids = append(ids, c.ID)
	}
	if err != nil || !slices.Equal(ids, []string{"3", "1"}) || d.objects["2"] != `{"A":2}` || d.changes["chg_1"].UndoneBy != "" {
		t.Errorf("%+v, %v, %v", got, d.objects, err)
	}
}

// Of a change of an import each object counts by itself: what was changed since
// stays, what is gone or as before already needs nothing, and the rest goes. What
// was left can be taken back later, and the whole brought back.
func TestTakeBack(t *testing.T) {
	t.Parallel()
	d := newDesk(map[string]string{"1": `{"A":1}`, "2": `{"A":9}`, "4": `{"A":1}`, "5": `{"A":2}`, "6": `{"A":2}`},
		effect("thing", "1", `null`, `{"A":1}`), effect("thing", "2", `null`, `{"A":1}`), effect("thing", "3", `null`, `{"A":1}`),
		effect("thing", "4", `{"A":1}`, `{"A":2}`), effect("thing", "5", `{"A":1}`, `{"A":2}`), effect("thing", "6", `{"A":1}`, `{"A":2}`))
	d.blocked["6"] = "something hangs on it"
	imported := d.changes["chg_1"]
	imported.ImportID = "imp_1"
	takeBack := func(c *change.Change, undoID string, restored, conflicts []string, objects map[string]string) string {
		t.Helper()
		got, err := change.TakeBack(t.Context(), d, c, undoID)
		var was, left []string
		for _, o := range got.Restored {
			was = append(was, o.ID)
		}
		for _, o := range got.Conflicts {
			left = append(left, o.ID)
		}
		if err != nil || !slices.Equal(was, restored) || !slices.Equal(left, conflicts) || !maps.Equal(d.objects, objects) {
			t.Errorf("restored %v, left %v, %v on file, %v", was, left, d.objects, err)
		}
		if made := d.changes[got.ChangeID]; made != nil && (made.ImportID != undoID || made.Undoes != c.ID) {
			t.Errorf("recorded %+v", made)
		}
		return got.ChangeID
	}
	first := takeBack(imported, "imp_2", []string{"5", "1"}, []string{"6", "2"}, map[string]string{"2": `{"A":9}`, "4": `{"A":1}`, "5": `{"A":1}`, "6": `{"A":2}`})
	if imported.UndoneBy != "" {
		t.Error("a change that stays in part is not in force")
	}
	if none := takeBack(imported, "imp_3", nil, []string{"6", "2"}, maps.Clone(d.objects)); none != "" {
		t.Error("an undo of nothing is recorded")
	}
	delete(d.blocked, "6")
	d.objects["2"] = `{"A":1}`
	rest := takeBack(imported, "imp_4", []string{"6", "2"}, nil, map[string]string{"4": `{"A":1}`, "5": `{"A":1}`, "6": `{"A":1}`})
	if imported.UndoneBy != rest || rest == first {
		t.Errorf("undone by %q, not %q", imported.UndoneBy, rest)
	}
	takeBack(d.changes[first], "imp_5", []string{"1", "5"}, nil, map[string]string{"1": `{"A":1}`, "4": `{"A":1}`, "5": `{"A":2}`, "6": `{"A":1}`})
	if imported.UndoneBy != "" || d.changes[first].UndoneBy == "" {
		t.Error("what was brought back is not in force")
	}
}

// However often an undo is undone, each record says whether it is in force.
func TestUndoOfUndos(t *testing.T) {
	t.Parallel()
	d := newDesk(map[string]string{"1": `{"A":2}`}, effect("thing", "1", `{"A":1}`, `{"A":2}`))
	last := "chg_1"
	for n := range 6 {
		got, err := change.Undo(t.Context(), d, last, false)
		if err != nil || got.ChangeID == "" {
			t.Fatalf("undo %d: %+v, %v", n, got, err)
		}
		last = got.ChangeID
		if want := fmt.Sprintf(`{"A":%d}`, 1+n%2); d.objects["1"] != want {
			t.Errorf("after undo %d: %s", n, d.objects["1"])
		}
		for by, c := last, d.changes[last]; ; {
			inForce := c.UndoneBy == ""
			if c.Undoes == "" {
				if inForce != (n%2 == 1) {
					t.Errorf("after undo %d the change is undone by %q (%s)", n, c.UndoneBy, by)
				}
				break
			}
			if under := d.changes[c.Undoes]; (under.UndoneBy == "") == inForce {
				t.Errorf("after undo %d both %s and what it undoes are in force, or neither", n, c.ID)
			}
			by, c = c.ID, d.changes[c.Undoes]
		}
	}
	if s := d.changes[last].Summary; s != "Redid: Changed it" {
		t.Errorf("summary %q", s)
	}
}

func TestUndoRefusals(t *testing.T) {
	t.Parallel()
	d := newDesk(map[string]string{}, effect("thing", "1", `null`, `{}`))
	d.changes["final"] = &change.Change{ID: "final", Final: true, Summary: "Deleted Ana for good", Effects: d.changes["chg_1"].Effects}
	d.changes["empty"] = &change.Change{ID: "empty"}
	d.changes["torn"] = &change.Change{ID: "torn", Effects: []change.Effect{effect("thing", "1", `{`, `null`)}}
	for id, code := range map[string]fault.Code{"final": fault.Invalid, "empty": fault.Invalid, "nobody": fault.NotFound} {
		if _, err := change.Undo(t.Context(), d, id, false); !fault.Is(err, code) {
			t.Errorf("%s: %v", id, err)
		}
	}
	if _, err := change.Undo(t.Context(), d, "final", false); !strings.Contains(err.Error(), "was deleted for good") || strings.Contains(err.Error(), "Ana") {
		t.Errorf("final: %v", err)
	}
	if _, err := change.Undo(t.Context(), d, "torn", false); err == nil {
		t.Error("a torn record was undone")
	}
	d.fail = errors.New("outage")
	if _, err := change.Undo(t.Context(), d, "chg_1", false); !errors.Is(err, d.fail) {
		t.Errorf("outage: %v", err)
	}
	if d.changes["final"].Undoable() || d.changes["empty"].Undoable() || !d.changes["chg_1"].Undoable() {
		t.Error("undoable")
	}
}
