package history_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
)

func effect(kind, id, before, after string) history.Effect {
	return history.Effect{Kind: kind, ID: id, Before: json.RawMessage(before), After: json.RawMessage(after)}
}

func TestObjects(t *testing.T) {
	t.Parallel()
	const gone = `{"archived_at":"2026-01-01T00:00:00Z","merged_into":"con_2"}`
	for name, c := range map[string]struct {
		before, after, action string
		fields                []string
		undo                  bool
	}{
		"created":          {before: `null`, after: `{"name":"a"}`, action: "created"},
		"brought back":     {before: `null`, after: `{"name":"a"}`, action: "restored", undo: true},
		"removed":          {before: `{"name":"a"}`, after: `null`, action: "removed"},
		"archived":         {before: `{"archived_at":"0001-01-01T00:00:00Z"}`, after: `{"archived_at":"2026-01-01T00:00:00Z"}`, action: "archived"},
		"unarchived":       {before: `{"archived_at":"2026-01-01T00:00:00Z"}`, after: `{"archived_at":"0001-01-01T00:00:00Z"}`, action: "restored"},
		"merged":           {before: `{"merged_into":""}`, after: gone, action: "merged"},
		"one field":        {before: `{"name":"a","met_on":"2026"}`, after: `{"name":"a","met_on":"2027"}`, action: "updated", fields: []string{"met_on"}},
		"a field that was": {before: `{"bio":"x"}`, after: `{}`, action: "updated", fields: []string{"bio"}},
		"initials":         {before: `{"connection_ids":["a"],"avatar_url":"x"}`, after: `{"connection_ids":["b"],"avatar_url":"y"}`, action: "updated", fields: []string{"avatar_url", "connection_ids"}},
		"volatile ones":    {before: `{"version":1,"updated_at":"x","last_interaction_at":"y"}`, after: `{"version":2,"updated_at":"z"}`, action: "updated"},
		"addresses": {
			before: `{"handles":[{"id":"1","kind":"email","value":"a"},{"kind":"phone","value":"1"}]}`,
			after:  `{"handles":[{"id":"2","kind":"email","value":"a"},{"kind":"phone","value":"2"},{"kind":"social","value":"s"}]}`,
			action: "updated", fields: []string{"phones", "urls"},
		},
	} {
		record := history.Change{Effects: []history.Effect{effect("connection", "con_1", c.before, c.after)}}
		if c.undo {
			record.Undoes = "chg_0"
		}
		want := []history.Object{{Kind: "connection", ID: "con_1", Action: c.action, Fields: c.fields}}
		if diff := cmp.Diff(want, record.Objects()); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// fixture is a member on SQLite with things, which are JSON by id, and changes of them.
type fixture struct {
	*db.Tenant

	t       *testing.T
	blocked map[string]string // reasons by id
	fail    error
}

// newFixture stores things, and a change of them, chg_1.
func newFixture(t *testing.T, things map[string]string, effects ...history.Effect) *fixture {
	t.Helper()
	s := dbtest.Open(t, dbtest.SQLite(t), time.Now)
	d := &fixture{Tenant: s.Tenant(dbtest.Member(t, s, "maria"), false), t: t, blocked: map[string]string{}}
	d.do(func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.NewRaw("CREATE TABLE things (id TEXT PRIMARY KEY, body TEXT NOT NULL)").Exec(ctx)
		return err
	})
	for id, body := range things {
		d.put(id, body)
	}
	d.keep(history.Change{ID: "chg_1", Summary: "Changed it", Effects: effects})
	return d
}

// do runs fn in a transaction, which must not fail.
func (d *fixture) do(fn func(ctx context.Context, tx *db.Tx) error) {
	d.t.Helper()
	if err := d.Write(d.t.Context(), db.Actor{}, fn); err != nil {
		d.t.Fatal(err)
	}
}

func (d *fixture) put(id, body string) {
	d.t.Helper()
	d.do(func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.NewRaw("INSERT INTO things (id, body) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET body = excluded.body", id, body).Exec(ctx)
		return err
	})
}

// keep stores a change.
func (d *fixture) keep(c history.Change) {
	d.t.Helper()
	d.do(func(ctx context.Context, tx *db.Tx) error {
		c.TenantID, c.Number, c.CreatedAt = tx.TenantID(), tx.Version(), tx.Now()
		_, err := tx.NewInsert().Model(&c).Exec(ctx)
		return err
	})
}

// things returns the stored things, JSON by id.
func (d *fixture) things() map[string]string {
	d.t.Helper()
	var rows []struct{ ID, Body string }
	if err := d.NewRaw("SELECT id, body FROM things").Scan(d.t.Context(), &rows); err != nil {
		d.t.Fatal(err)
	}
	out := map[string]string{}
	for _, row := range rows {
		out[row.ID] = row.Body
	}
	return out
}

// change returns a change, or nil.
func (d *fixture) change(id string) (c *history.Change) {
	d.t.Helper()
	d.do(func(ctx context.Context, tx *db.Tx) (err error) {
		c, err = history.GetChange(ctx, tx, id)
		if fault.Is(err, fault.NotFound) {
			err = nil
		}
		return err
	})
	return c
}

// count returns how many changes there are.
func (d *fixture) count() int {
	d.t.Helper()
	all, err := history.ListChanges(d.t.Context(), d, history.Query{Limit: 100})
	if err != nil {
		d.t.Fatal(err)
	}
	return len(all)
}

// kinds restores things.
func (d *fixture) kinds() history.Kinds {
	return history.Kinds{"thing": func(tx *db.Tx) history.Restorer { r := thing{d, tx}; return history.Single{Get: r.get, Put: r.put} }}
}

func (d *fixture) undo(id string, dryRun bool) (out history.Undone, err error) {
	d.t.Helper()
	err = d.Write(d.t.Context(), db.Actor{}, func(ctx context.Context, tx *db.Tx) error {
		out, err = history.Undo(ctx, tx, d.kinds(), id, dryRun)
		return err
	})
	return out, err
}

func (d *fixture) takeBack(c *history.Change, undoID string) (out history.Undone, err error) {
	d.t.Helper()
	err = d.Write(d.t.Context(), db.Actor{}, func(ctx context.Context, tx *db.Tx) error {
		out, err = history.UndoImport(ctx, tx, d.kinds(), c, undoID)
		return err
	})
	return out, err
}

// thing restores things.
type thing struct {
	d  *fixture
	tx *db.Tx
}

func (r thing) get(ctx context.Context, id string) (any, error) {
	var body string
	err := r.tx.NewRaw("SELECT body FROM things WHERE id = ?", id).Scan(ctx, &body)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, r.d.fail
	}
	return json.RawMessage(body), errors.Join(err, r.d.fail)
}

func (r thing) put(ctx context.Context, id string, to json.RawMessage) error {
	if reason := r.d.blocked[id]; reason != "" {
		return fault.New(fault.Conflict, "%s", reason)
	}
	_, err := r.tx.NewRaw("DELETE FROM things WHERE id = ?", id).Exec(ctx)
	if err == nil && string(to) != "null" {
		_, err = r.tx.NewRaw("INSERT INTO things (id, body) VALUES (?, ?)", id, string(to)).Exec(ctx)
	}
	return err
}

func TestUndo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		on       map[string]string
		effects  []history.Effect
		want     map[string]string
		conflict string
	}{
		"of a creation": {on: map[string]string{"1": `{"a":1}`}, effects: []history.Effect{effect("thing", "1", `null`, `{"a":1}`)}, want: map[string]string{}},
		"of a removal":  {on: map[string]string{}, effects: []history.Effect{effect("thing", "1", `{"a":1}`, `null`)}, want: map[string]string{"1": `{"a":1}`}},
		"leaves fields that were not recorded": {
			on: map[string]string{"1": `{"a":2,"b":7}`}, effects: []history.Effect{effect("thing", "1", `{"a":1}`, `{"a":2}`)},
			want: map[string]string{"1": `{"a":1,"b":7}`},
		},
		"compares what counts": {
			on:      map[string]string{"1": `{"a":"2026-01-01T01:00:00+01:00","l":["b","a"],"version":9,"n":null}`},
			effects: []history.Effect{effect("thing", "1", `{"a":""}`, `{"a":"2026-01-01T00:00:00Z","l":["a","b"],"version":1,"n":[],"z":""}`)},
			want:    map[string]string{"1": `{"a":"","l":["b","a"],"n":null,"version":9}`},
		},
		"goes backwards": {
			on:      map[string]string{"1": `{"a":3}`},
			effects: []history.Effect{effect("thing", "1", `{"a":1}`, `{"a":2}`), effect("thing", "1", `{"a":2}`, `{"a":3}`)},
			want:    map[string]string{"1": `{"a":1}`},
		},
		"of one field of several": {
			on:      map[string]string{"1": `{"a":2,"b":7,"updated_at":"2026-03-03T00:00:00Z"}`},
			effects: []history.Effect{effect("thing", "1", `{"a":1,"b":6,"updated_at":"2026-01-01T00:00:00Z"}`, `{"a":2,"b":6,"updated_at":"2026-02-02T00:00:00Z"}`)},
			want:    map[string]string{"1": `{"a":1,"b":7,"updated_at":"2026-03-03T00:00:00Z"}`},
		},
		"of e-mail addresses, with other phones now": {
			on: map[string]string{"1": `{"handles":[{"kind":"email","value":"b"},{"kind":"phone","value":"2"}]}`},
			effects: []history.Effect{effect("thing", "1",
				`{"handles":[{"kind":"email","value":"a"},{"kind":"phone","value":"1"}]}`, `{"handles":[{"kind":"email","value":"b"},{"kind":"phone","value":"1"}]}`)},
			want: map[string]string{"1": `{"handles":[{"kind":"email","value":"a"},{"kind":"phone","value":"2"}]}`},
		},
		"of a phone, with addresses in an order that kinds alternate in": {
			on: map[string]string{"1": `{"handles":[{"kind":"url","ordinal":0,"value":"u"},{"kind":"email","ordinal":1,"value":"a"},{"kind":"social","ordinal":2,"value":"s"},{"kind":"phone","ordinal":3,"value":"1"}]}`},
			effects: []history.Effect{effect("thing", "1",
				`{"handles":[{"kind":"url","ordinal":0,"value":"u"},{"kind":"email","ordinal":1,"value":"a"},{"kind":"social","ordinal":2,"value":"s"}]}`,
				`{"handles":[{"kind":"url","ordinal":0,"value":"u"},{"kind":"email","ordinal":1,"value":"a"},{"kind":"social","ordinal":2,"value":"s"},{"kind":"phone","ordinal":3,"value":"1"}]}`)},
			want: map[string]string{"1": `{"handles":[{"kind":"url","ordinal":0,"value":"u"},{"kind":"email","ordinal":1,"value":"a"},{"kind":"social","ordinal":2,"value":"s"}]}`},
		},
		"of some tags of several": {
			on: map[string]string{"1": `{"tags":["a","b","d"]}`}, effects: []history.Effect{effect("thing", "1", `{"tags":["a","c"]}`, `{"tags":["a","b"]}`)},
			want: map[string]string{"1": `{"tags":["a","d","c"]}`},
		},
		"of a tag that is gone": {
			on: map[string]string{"1": `{"tags":["a"],"b":1}`}, effects: []history.Effect{effect("thing", "1", `{"tags":["a"],"b":2}`, `{"tags":["a","c"],"b":1}`)},
			conflict: "it was changed since: tags",
		},
		"of the only person left": {
			on: map[string]string{"1": `{"connection_ids":["b"]}`}, effects: []history.Effect{effect("thing", "1", `{"connection_ids":["a"]}`, `{"connection_ids":["a","b"]}`)},
			conflict: "it was changed since: connection_ids",
		},
		"of what changed since":   {on: map[string]string{"1": `{"met_on":3}`}, effects: []history.Effect{effect("thing", "1", `{"met_on":1}`, `{"met_on":2}`)}, conflict: "it was changed since: met_on"},
		"of what is gone":         {on: map[string]string{}, effects: []history.Effect{effect("thing", "1", `{"a":1}`, `{"a":2}`)}, conflict: "it no longer exists"},
		"of what came back":       {on: map[string]string{"1": `{"a":1}`}, effects: []history.Effect{effect("thing", "1", `{"a":1}`, `null`)}, conflict: "it exists again"},
		"of an unknown kind":      {on: map[string]string{}, effects: []history.Effect{effect("ghost", "1", `null`, `{}`)}, conflict: "this version cannot restore a ghost"},
		"of an order that counts": {on: map[string]string{"1": `{"l":[{"a":1},{"a":2}]}`}, effects: []history.Effect{effect("thing", "1", `{}`, `{"l":[{"a":2},{"a":1}]}`)}, conflict: "it was changed since: l"},
	} {
		d := newFixture(t, c.on, c.effects...)
		before := maps.Clone(c.on)
		dry, err := d.undo("chg_1", true)
		if err != nil || dry.ChangeID != "" || !maps.Equal(before, d.things()) || d.count() != 1 {
			t.Errorf("dry run %s: %+v, %v, %v", name, dry, d.things(), err)
		}
		got, err := d.undo("chg_1", false)
		if err != nil || !cmp.Equal(got.Restored, dry.Restored) || !cmp.Equal(got.Conflicts, dry.Conflicts) {
			t.Errorf("undo %s: %+v, %v", name, got, err)
			continue
		}
		if c.conflict != "" {
			fields, changed := strings.CutPrefix(c.conflict, "it was changed since: ")
			if len(got.Conflicts) != 1 || got.Conflicts[0].Reason != c.conflict || got.ChangeID != "" || !maps.Equal(before, d.things()) ||
				changed != slices.Equal(got.Conflicts[0].Fields, []string{fields}) {
				t.Errorf("undo %s: %+v", name, got)
			}
			continue
		}
		if got.ChangeID == "" || d.change("chg_1").UndoneBy != got.ChangeID || d.change(got.ChangeID).Undoes != "chg_1" || !maps.Equal(c.want, d.things()) {
			t.Errorf("undo %s: %+v, %v", name, got, d.things())
		}
		if again, err := d.undo("chg_1", false); err != nil || !again.AlreadyUndone || d.count() != 2 {
			t.Errorf("undo %s again: %+v, %v", name, again, err)
		}
	}
}

// An undo with several conflicts returns all of them, and undoes nothing.
func TestUndoTellsEveryConflict(t *testing.T) {
	t.Parallel()
	d := newFixture(t, map[string]string{"1": `{"a":2}`, "2": `{"a":2}`, "3": `{"a":9}`},
		effect("thing", "1", `{"a":1}`, `{"a":2}`), effect("thing", "2", `{"a":1}`, `{"a":2}`), effect("thing", "3", `{"a":1}`, `{"a":2}`))
	d.blocked["1"] = "other data refers to it now"
	got, err := d.undo("chg_1", false)
	var ids []string
	for _, c := range got.Conflicts {
		ids = append(ids, c.ID)
	}
	if err != nil || !slices.Equal(ids, []string{"3", "1"}) || d.things()["2"] != `{"a":2}` || d.change("chg_1").UndoneBy != "" {
		t.Errorf("%+v, %v, %v", got, d.things(), err)
	}
}

// The objects of an imported change are undone one by one: those changed since stay,
// deleted or already restored ones need nothing, and the rest is undone. What was left can
// be undone later, and the whole undo can itself be undone.
func TestTakeBack(t *testing.T) {
	t.Parallel()
	d := newFixture(t, map[string]string{"1": `{"a":1}`, "2": `{"a":9}`, "4": `{"a":1}`, "5": `{"a":2}`, "6": `{"a":2}`},
		effect("thing", "1", `null`, `{"a":1}`), effect("thing", "2", `null`, `{"a":1}`), effect("thing", "3", `null`, `{"a":1}`),
		effect("thing", "4", `{"a":1}`, `{"a":2}`), effect("thing", "5", `{"a":1}`, `{"a":2}`), effect("thing", "6", `{"a":1}`, `{"a":2}`))
	d.blocked["6"] = "other data refers to it now"
	d.do(func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.NewRaw("UPDATE changes SET import_id = 'imp_1' WHERE id = 'chg_1'").Exec(ctx)
		return err
	})
	imported := func() *history.Change { return d.change("chg_1") }
	takeBack := func(c *history.Change, undoID string, restored, conflicts []string, objects map[string]string) string {
		t.Helper()
		got, err := d.takeBack(c, undoID)
		var was, left []string
		for _, o := range got.Restored {
			was = append(was, o.ID)
		}
		for _, o := range got.Conflicts {
			left = append(left, o.ID)
		}
		if err != nil || !slices.Equal(was, restored) || !slices.Equal(left, conflicts) || !maps.Equal(d.things(), objects) {
			t.Errorf("restored %v, left %v, %v stored, %v", was, left, d.things(), err)
		}
		if made := d.change(got.ChangeID); made != nil && (made.ImportID != undoID || made.Undoes != c.ID) {
			t.Errorf("recorded %+v", made)
		}
		return got.ChangeID
	}
	first := takeBack(imported(), "imp_2", []string{"5", "1"}, []string{"6", "2"}, map[string]string{"2": `{"a":9}`, "4": `{"a":1}`, "5": `{"a":1}`, "6": `{"a":2}`})
	if imported().UndoneBy != "" {
		t.Error("a change that is undone only in part is not in force")
	}
	if none := takeBack(imported(), "imp_3", nil, []string{"6", "2"}, maps.Clone(d.things())); none != "" {
		t.Error("an undo of nothing is recorded")
	}
	delete(d.blocked, "6")
	d.put("2", `{"a":1}`)
	rest := takeBack(imported(), "imp_4", []string{"6", "2"}, nil, map[string]string{"4": `{"a":1}`, "5": `{"a":1}`, "6": `{"a":1}`})
	if imported().UndoneBy != rest || rest == first {
		t.Errorf("undone by %q, not %q", imported().UndoneBy, rest)
	}
	takeBack(d.change(first), "imp_5", []string{"1", "5"}, nil, map[string]string{"1": `{"a":1}`, "4": `{"a":1}`, "5": `{"a":2}`, "6": `{"a":1}`})
	if imported().UndoneBy != "" || d.change(first).UndoneBy == "" {
		t.Error("the restored change is not in force")
	}
}

// However often an undo is undone, each record says whether it is in force.
func TestUndoOfUndos(t *testing.T) {
	t.Parallel()
	d := newFixture(t, map[string]string{"1": `{"a":2}`}, effect("thing", "1", `{"a":1}`, `{"a":2}`))
	last := "chg_1"
	for n := range 6 {
		got, err := d.undo(last, false)
		if err != nil || got.ChangeID == "" {
			t.Fatalf("undo %d: %+v, %v", n, got, err)
		}
		last = got.ChangeID
		if want := fmt.Sprintf(`{"a":%d}`, 1+n%2); d.things()["1"] != want {
			t.Errorf("after undo %d: %s", n, d.things()["1"])
		}
		for by, c := last, d.change(last); ; {
			inForce := c.UndoneBy == ""
			if c.Undoes == "" {
				if inForce != (n%2 == 1) {
					t.Errorf("after undo %d the change is undone by %q (%s)", n, c.UndoneBy, by)
				}
				break
			}
			if under := d.change(c.Undoes); (under.UndoneBy == "") == inForce {
				t.Errorf("after undo %d both %s and what it undoes are in force, or neither", n, c.ID)
			}
			by, c = c.ID, d.change(c.Undoes)
		}
	}
	if s := d.change(last).Summary; s != "Redid: Changed it" {
		t.Errorf("summary %q", s)
	}
}

// A change that a newer version recorded is listed, but neither undone nor forgotten in part.
func TestStatesOfANewerVersionAreRefused(t *testing.T) {
	t.Parallel()
	newer := effect("thing", "1", `{"a":1}`, `{"b":2}`)
	newer.Version = history.StateVersion + 1
	d := newFixture(t, map[string]string{"1": `{"a":2}`}, newer)
	got, err := d.undo("chg_1", false)
	if !fault.Is(err, fault.Unavailable) || !strings.Contains(err.Error(), "newer version") || d.things()["1"] != `{"a":2}` || d.count() != 1 {
		t.Errorf("undo: %+v, %v", got, err)
	}
	c := d.change("chg_1")
	if objects := c.Objects(); len(objects) != 1 || objects[0].Action != history.ActionUpdated || objects[0].Fields != nil {
		t.Errorf("objects: %+v", objects)
	}
	if changed, err := c.Forget(map[string]bool{"con_1": true}); changed || !fault.Is(err, fault.Unavailable) {
		t.Errorf("forget: %t, %v", changed, err)
	}
}

// The objects of a change, and the people whom their states name, are stored with it: a list
// of changes of one of them, and Forget, read no other change.
func TestChangesAreFoundByTheirObjects(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		s := dbtest.Open(t, url, time.Now)
		data := s.Tenant(dbtest.Member(t, s, "maria"), false)
		var person, link, other, tag string
		write := func(draft history.Draft) (changeID string) {
			t.Helper()
			err := data.Write(t.Context(), db.Actor{}, func(ctx context.Context, tx *db.Tx) (err error) {
				changeID, err = history.Record(ctx, tx, draft)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return changeID
		}
		type state map[string]any
		person = write(history.One("a", history.Connection, "con_1", nil, state{"name": "Ana"}))
		link = write(history.One("b", history.Relationship, "rel_1", nil, state{"from_id": "con_1", "to_id": "con_2"}))
		other = write(history.One("c", history.Connection, "con_2", nil, state{"bio": "knows con_1"}))
		tag = write(history.One("d", history.Note, "not_1", state{"connection_ids": []string{"con_1", "con_3"}}, state{"connection_ids": []string{"con_3"}}))
		list := func(q history.Query) (ids []string) {
			t.Helper()
			q.Limit = 10
			changes, err := history.ListChanges(t.Context(), data, q)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range changes {
				ids = append(ids, c.ID)
			}
			return ids
		}
		for name, c := range map[string]struct {
			q    history.Query
			want []string
		}{
			"about a person":      {history.Query{ConnectionID: "con_1"}, []string{tag, link, person}},
			"about another":       {history.Query{ConnectionID: "con_2"}, []string{other, link}},
			"of the person":       {history.Query{ObjectIDs: []string{"con_1"}}, []string{person}},
			"of several objects":  {history.Query{ObjectIDs: []string{"con_2", "not_1"}}, []string{tag, other}},
			"of nothing recorded": {history.Query{ObjectIDs: []string{"con_9"}}, nil},
		} {
			if diff := cmp.Diff(c.want, list(c.q)); diff != "" {
				t.Errorf("%s:\n%s", name, diff)
			}
		}
		err := data.Write(t.Context(), db.Actor{}, func(ctx context.Context, tx *db.Tx) error { return history.Forget(ctx, tx, []string{"con_1"}) })
		if err != nil {
			t.Fatal(err)
		}
		// Its own change keeps the id and no state; the others don't name it any more.
		if left := list(history.Query{ConnectionID: "con_1"}); !slices.Equal(left, []string{person}) {
			t.Errorf("after it is forgotten: %v", left)
		}
		all, err := history.ListChanges(t.Context(), data, history.Query{Limit: 10})
		if err != nil || !all[3].Final || !all[2].Final || all[1].Final || strings.Contains(string(all[0].Effects[0].Before), "con_1") {
			t.Errorf("%+v, %v", all, err)
		}
	})
}

func TestUndoRefusals(t *testing.T) {
	t.Parallel()
	d := newFixture(t, map[string]string{}, effect("thing", "1", `null`, `{}`))
	d.keep(history.Change{ID: "final", Final: true, Summary: "Deleted Ana for good", Effects: d.change("chg_1").Effects})
	d.keep(history.Change{ID: "empty"})
	d.keep(history.Change{ID: "torn", Effects: []history.Effect{effect("thing", "1", `[]`, `null`)}})
	for id, code := range map[string]fault.Code{"final": fault.Invalid, "empty": fault.Invalid, "nobody": fault.NotFound} {
		if _, err := d.undo(id, false); !fault.Is(err, code) {
			t.Errorf("%s: %v", id, err)
		}
	}
	if _, err := d.undo("final", false); !strings.Contains(err.Error(), "was deleted for good") || strings.Contains(err.Error(), "Ana") {
		t.Errorf("final: %v", err)
	}
	if _, err := d.undo("torn", false); err == nil {
		t.Error("a torn record was undone")
	}
	d.fail = errors.New("outage")
	if _, err := d.undo("chg_1", false); !errors.Is(err, d.fail) {
		t.Errorf("outage: %v", err)
	}
	if d.change("final").Undoable() || d.change("empty").Undoable() || !d.change("chg_1").Undoable() {
		t.Error("undoable")
	}
}
