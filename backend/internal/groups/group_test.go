package groups_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/groups"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/text"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// writer is a member's groups on SQLite.
type writer struct {
	*db.Tenant

	t *testing.T
}

// named returns groups with these names and the ids grp_1, grp_2 and so on.
func named(names ...string) (out []groups.Group) {
	for i, name := range names {
		out = append(out, groups.Group{
			ID: fmt.Sprintf("grp_%d", i+1), Name: name, FoldedName: text.Fold(name), CadenceDays: 30, Version: 1, CreatedAt: noon, UpdatedAt: noon,
		})
	}
	return out
}

// newWriter stores groups and people.
func newWriter(t *testing.T, list []groups.Group, members ...groups.Membership) *writer {
	t.Helper()
	s := dbtest.Open(t, dbtest.SQLite(t), func() time.Time { return noon })
	w := &writer{Tenant: s.Tenant(dbtest.Member(t, s, "maria"), false), t: t}
	w.do(func(ctx context.Context, tx *db.Tx) error {
		for _, g := range list {
			g.TenantID = tx.TenantID()
			if _, err := tx.NewInsert().Model(&g).Exec(ctx); err != nil {
				return err
			}
		}
		for _, m := range members {
			c := &people.Connection{ID: m.ConnectionID, Name: m.ConnectionID, Tags: m.Tags, Version: 1, CreatedAt: noon, UpdatedAt: noon}
			if err := people.InsertPeople(ctx, tx, []*people.Connection{c}); err != nil {
				return err
			}
			if err := groups.ReplaceMemberships(ctx, tx, []groups.Membership{m}, nil); err != nil {
				return err
			}
		}
		return nil
	})
	return w
}

// do runs fn in a transaction, which must not fail.
func (w *writer) do(fn func(ctx context.Context, tx *db.Tx) error) {
	w.t.Helper()
	if err := w.Write(w.t.Context(), db.Actor{}, fn); err != nil {
		w.t.Fatal(err)
	}
}

func (w *writer) save(p groups.Patch) (saved groups.Saved, err error) {
	w.t.Helper()
	err = w.Write(w.t.Context(), db.Actor{}, func(ctx context.Context, tx *db.Tx) error {
		saved, err = groups.Save(ctx, tx, p)
		return err
	})
	return saved, err
}

func (w *writer) move(p groups.MembershipPatch) (moved people.Acted, err error) {
	w.t.Helper()
	err = w.Write(w.t.Context(), db.Actor{}, func(ctx context.Context, tx *db.Tx) error {
		moved, err = groups.UpdateMembership(ctx, tx, p)
		return err
	})
	return moved, err
}

// held returns the memberships of people, and those whose tags have changed since.
func (w *writer) held(ids ...string) (members []groups.Membership, retagged []string) {
	w.t.Helper()
	w.do(func(ctx context.Context, tx *db.Tx) (err error) {
		if _, members, err = groups.ListMemberships(ctx, tx, ids); err != nil {
			return err
		}
		list, err := people.ListConnections(ctx, tx, ids)
		for _, c := range list {
			if c.Version > 1 {
				retagged = append(retagged, c.ID)
			}
		}
		return err
	})
	return members, retagged
}

// changes returns what was recorded, the latest first.
func (w *writer) changes() []history.Change {
	w.t.Helper()
	all, err := history.ListChanges(w.t.Context(), w, history.Query{Limit: 100})
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

func TestSave(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		patch   groups.Patch
		want    string // id, name, description, interval, version
		created bool
		writes  bool
	}{
		"a new one":                 {groups.Patch{Name: new(" Chess\n club "), Description: new(" On\x00 Fridays "), CadenceDays: new(7)}, "grp_3 Chess club|On Fridays|7|1", true, true},
		"a new one, name alone":     {groups.Patch{Name: new("Chess")}, "grp_3 Chess||0|1", true, true},
		"by name":                   {groups.Patch{Name: new("BOOK CLÚB"), CadenceDays: new(7)}, "grp_1 Book club||7|2", false, true},
		"by id":                     {groups.Patch{ID: "grp_2", Description: new("x")}, "grp_2 Rowers|x|30|2", false, true},
		"a new name":                {groups.Patch{ID: "grp_2", Name: new("Sailors")}, "grp_2 Sailors||30|2", false, true},
		"another spelling":          {groups.Patch{ID: "grp_2", Name: new("ROWERS")}, "grp_2 ROWERS||30|2", false, true},
		"no interval":               {groups.Patch{ID: "grp_2", CadenceDays: new(0), ExpectedVersion: new(int32(1))}, "grp_2 Rowers||0|2", false, true},
		"nothing, by name":          {groups.Patch{Name: new("book club")}, "grp_1 Book club||30|1", false, false},
		"nothing, by id":            {groups.Patch{ID: "grp_1", Name: new("Book club"), CadenceDays: new(30)}, "grp_1 Book club||30|1", false, false},
		"nothing, with the version": {groups.Patch{ID: "grp_1", ExpectedVersion: new(int32(1))}, "grp_1 Book club||30|1", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWriter(t, named("Book club", "Rowers"))
			got, err := w.save(c.patch)
			if err != nil {
				t.Fatal(err)
			}
			g := got.Group
			shown := g.ID
			if got.Created {
				shown = "grp_3"
			}
			if is := fmt.Sprintf("%s %s|%s|%d|%d", shown, g.Name, g.Description, g.CadenceDays, g.Version); is != c.want || got.Created != c.created {
				t.Errorf("%s, created %v", is, got.Created)
			}
			if (got.ChangeID != "") != c.writes || (len(w.changes()) == 1) != c.writes {
				t.Fatalf("%q, %d changes", got.ChangeID, len(w.changes()))
			}
			if !c.writes {
				return
			}
			e := w.changes()[0].Effects[0]
			if e.Kind != history.Group || e.ID != g.ID || (string(e.Before) == "null") != c.created || w.changes()[0].Summary == "" || !g.UpdatedAt.Equal(noon) {
				t.Errorf("recorded %+v", e)
			}
			w.do(func(ctx context.Context, tx *db.Tx) error {
				stored, err := groups.GetGroup(ctx, tx, g.ID)
				if diff := cmp.Diff(g, stored); diff != "" || stored.FoldedName != text.Fold(g.Name) {
					t.Errorf("stored (-answered +stored):\n%s", diff)
				}
				return err
			})
		})
	}
}

func TestSaveRefuses(t *testing.T) {
	t.Parallel()
	full := make([]string, groups.MaxGroups)
	for i := range full {
		full[i] = fmt.Sprintf("Group %d", i)
	}
	for name, c := range map[string]struct {
		groups []groups.Group
		patch  groups.Patch
		code   fault.Code
		says   string
	}{
		"blank":             {nil, groups.Patch{Name: new(" \u200b")}, fault.Invalid, "name"},
		"one too many":      {named(full...), groups.Patch{Name: new("One more")}, fault.Invalid, "200"},
		"unknown id":        {named("a"), groups.Patch{ID: "grp_yb634ik148"}, fault.NotFound, "grp_yb634ik148"},
		"stale":             {named("a"), groups.Patch{Name: new("a"), ExpectedVersion: new(int32(3))}, fault.Conflict, "version 1"},
		"version of none":   {named("Chess", "Rowers"), groups.Patch{Name: new("Ches"), ExpectedVersion: new(int32(3))}, fault.NotFound, `nearest: "Chess"`},
		"version, no group": {nil, groups.Patch{Name: new("Ches"), ExpectedVersion: new(int32(3))}, fault.NotFound, "save_group"},
		"taken":             {named("Chess", "Rowers"), groups.Patch{ID: "grp_2", Name: new("CHESS")}, fault.AlreadyExists, "grp_1"},
	} {
		w := newWriter(t, c.groups)
		if _, err := w.save(c.patch); !fault.Is(err, c.code) || !strings.Contains(err.Error(), c.says) || len(w.changes()) > 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An error about an unknown name lists the groups that may be meant, three at most.
func TestFindSuggests(t *testing.T) {
	t.Parallel()
	all := named("Investors I trust", "Book club", "Neighbours", "Chess", "Thursday run club", "Mentors", "Cooks")
	for name, want := range map[string]string{
		"Bok club": `; nearest: "Book club"`,
		"invest":   `; nearest: "Investors I trust"`,
		"run club": `; nearest: "Thursday run club"`,
		"Kooks":    `; nearest: "Cooks"`,
	} {
		_, err := groups.Find(all, name)
		if !fault.Is(err, fault.NotFound) || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), `"`) > 8 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUpdateMembership(t *testing.T) {
	t.Parallel()
	members := func() []groups.Membership {
		return []groups.Membership{{ConnectionID: "con_1", GroupIDs: []string{"grp_1"}, Tags: []string{"Friend", "Rower"}}, {ConnectionID: "con_2"}}
	}
	for name, c := range map[string]struct {
		patch    groups.MembershipPatch
		changed  int
		want     string // groups and tags of the two
		retagged string
		effects  string
	}{
		"in":            {groups.MembershipPatch{AddGroups: []string{"book CLUB", "grp_2"}}, 2, "[grp_1 grp_2] [Friend Rower], [grp_1 grp_2] []", "[]", "membership con_1, membership con_2"},
		"one is in":     {groups.MembershipPatch{AddGroups: []string{"Book club"}}, 1, "[grp_1] [Friend Rower], [grp_1] []", "[]", "membership con_2"},
		"both in twice": {groups.MembershipPatch{AddGroups: []string{"grp_1", "Book club"}}, 1, "[grp_1] [Friend Rower], [grp_1] []", "[]", "membership con_2"},
		"out":           {groups.MembershipPatch{RemoveGroups: []string{"grp_1", "Rowers"}}, 1, "[] [Friend Rower], [] []", "[]", "membership con_1"},
		"tags":          {groups.MembershipPatch{AddTags: []string{" friend ", "New"}}, 2, "[grp_1] [Friend New Rower], [] [Friend New]", "[con_1 con_2]", "connection con_1, connection con_2"},
		"tags off":      {groups.MembershipPatch{RemoveTags: []string{"ROWER"}}, 1, "[grp_1] [Friend], [] []", "[con_1]", "connection con_1"},
		"both": {groups.MembershipPatch{RemoveGroups: []string{"grp_1"}, RemoveTags: []string{"rower"}}, 1, "[] [Friend], [] []", "[con_1]",
			"membership con_1, connection con_1"},
		"nothing": {groups.MembershipPatch{RemoveGroups: []string{"Rowers"}, RemoveTags: []string{"x"}}, 0, "[grp_1] [Friend Rower], [] []", "[]", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWriter(t, named("Book club", "Rowers"), members()...)
			c.patch.ConnectionIDs = []string{"con_1", "con_2"}
			got, err := w.move(c.patch)
			if err != nil || len(got.Changed) != c.changed || got.Unchanged != 2-c.changed || (got.ChangeID != "") != (c.changed > 0) {
				t.Fatalf("%+v, %v", got, err)
			}
			held, retagged := w.held("con_1", "con_2")
			one, two := held[0], held[1]
			if is := fmt.Sprintf("%v %v, %v %v", one.GroupIDs, one.Tags, two.GroupIDs, two.Tags); is != c.want || fmt.Sprint(retagged) != c.retagged {
				t.Errorf("%s, retagged %v", is, retagged)
			}
			var effects []string
			for _, d := range w.changes() {
				for _, e := range d.Effects {
					effects = append(effects, e.Kind+" "+e.ID)
				}
			}
			if strings.Join(effects, ", ") != c.effects {
				t.Errorf("effects %v", effects)
			}
		})
	}
}

// The recorded states hold what the call changed and nothing else.
func TestStatesOfMembership(t *testing.T) {
	t.Parallel()
	w := newWriter(t, named("Book club"), groups.Membership{ConnectionID: "con_1", Tags: []string{"a"}})
	_, err := w.move(groups.MembershipPatch{ConnectionIDs: []string{"con_1"}, AddGroups: []string{"grp_1"}, RemoveTags: []string{"A"}})
	if err != nil {
		t.Fatal(err)
	}
	got, _ := json.Marshal(w.changes()[0].Effects)
	want := `[{"kind":"membership","id":"con_1","version":1,"before":{"groups":[]},"after":{"groups":["grp_1"]}},` +
		`{"kind":"connection","id":"con_1","version":1,"before":{"tags":["a"]},"after":{"tags":[]}}]`
	if string(got) != want {
		t.Errorf("got %s", got)
	}
}

func TestUpdateMembershipRefuses(t *testing.T) {
	t.Parallel()
	var many []string
	for n := range 60 {
		many = append(many, fmt.Sprintf("Group %d", n))
	}
	for name, c := range map[string]struct {
		patch groups.MembershipPatch
		code  fault.Code
		says  string
	}{
		"unknown person":  {groups.MembershipPatch{ConnectionIDs: []string{"con_1", "con_9"}, AddTags: []string{"x"}}, fault.NotFound, "con_9"},
		"no such group":   {groups.MembershipPatch{ConnectionIDs: []string{"con_1"}, AddGroups: []string{"Grup 1"}}, fault.NotFound, `"Group 1"`},
		"in and out":      {groups.MembershipPatch{ConnectionIDs: []string{"con_1"}, AddGroups: []string{"group 1"}, RemoveGroups: []string{"grp_2"}}, fault.Invalid, "remove_groups"},
		"on and off":      {groups.MembershipPatch{ConnectionIDs: []string{"con_1"}, AddTags: []string{"x"}, RemoveTags: []string{"X"}}, fault.Invalid, "remove_tags"},
		"a blank tag":     {groups.MembershipPatch{ConnectionIDs: []string{"con_1"}, RemoveTags: []string{"x", " "}}, fault.Invalid, "remove_tags[1]"},
		"too many groups": {groups.MembershipPatch{ConnectionIDs: []string{"con_1"}, AddGroups: many}, fault.Invalid, "50 groups"},
		"too many tags":   {groups.MembershipPatch{ConnectionIDs: []string{"con_1"}, AddTags: many}, fault.Invalid, "add_tags"},
	} {
		w := newWriter(t, named(many...), groups.Membership{ConnectionID: "con_1"})
		if _, err := w.move(c.patch); !fault.Is(err, c.code) || !strings.Contains(err.Error(), c.says) || len(w.changes()) > 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
