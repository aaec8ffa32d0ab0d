package organize_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/change"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/organize"
	"github.com/kith-crm/kith/backend/internal/text"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// writer keeps groups and memberships in memory, as the store does within a
// transaction.
type writer struct {
	groups   []organize.Group
	people   map[string]organize.Membership
	retagged []string
	changes  []change.Draft
}

// groups returns groups with these names and the ids grp_1, grp_2 and so on.
func groups(names ...string) (out []organize.Group) {
	for i, name := range names {
		out = append(out, organize.Group{ID: fmt.Sprintf("grp_%d", i+1), Name: name, FoldedName: text.Fold(name), CadenceDays: 30, Version: 1, People: 4})
	}
	return out
}

func (w *writer) Now() time.Time { return noon }

func (w *writer) ListGroups(context.Context) ([]organize.Group, error) {
	return slices.Clone(w.groups), nil
}

func (w *writer) InsertGroup(_ context.Context, g *organize.Group) error {
	g.ID = fmt.Sprintf("grp_%d", len(w.groups)+1)
	w.groups = append(w.groups, *g)
	return nil
}

func (w *writer) ReplaceGroup(_ context.Context, g *organize.Group) error {
	at := slices.IndexFunc(w.groups, func(other organize.Group) bool { return other.ID == g.ID })
	if w.groups[at].Version != g.Version-1 {
		return fault.New(fault.Conflict, "%s was changed", g.ID)
	}
	w.groups[at] = *g
	return nil
}

func (w *writer) ListMemberships(_ context.Context, ids []string) (out []organize.Membership, err error) {
	for _, id := range ids {
		m, ok := w.people[id]
		if !ok {
			return nil, fault.New(fault.NotFound, "there is no connection %s", id)
		}
		out = append(out, m)
	}
	return out, nil
}

func (w *writer) ReplaceMemberships(_ context.Context, people []organize.Membership, retagged []string) error {
	for _, m := range people {
		w.people[m.ConnectionID] = m
	}
	w.retagged = retagged
	return nil
}

func (w *writer) Record(_ context.Context, d change.Draft) (string, error) {
	w.changes = append(w.changes, d)
	return fmt.Sprintf("chg_%d", len(w.changes)), nil
}

func TestSave(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		patch   organize.Patch
		want    string // id, name, description, interval, version
		created bool
		writes  bool
	}{
		"a new one":                 {organize.Patch{Name: new(" Chess\n club "), Description: new(" On\x00 Fridays "), CadenceDays: new(7)}, "grp_3 Chess club|On Fridays|7|1", true, true},
		"a new one, name alone":     {organize.Patch{Name: new("Chess")}, "grp_3 Chess||0|1", true, true},
		"by name":                   {organize.Patch{Name: new("BOOK CLÚB"), CadenceDays: new(7)}, "grp_1 Book club||7|2", false, true},
		"by id":                     {organize.Patch{ID: "grp_2", Description: new("x")}, "grp_2 Rowers|x|30|2", false, true},
		"a new name":                {organize.Patch{ID: "grp_2", Name: new("Sailors")}, "grp_2 Sailors||30|2", false, true},
		"another spelling":          {organize.Patch{ID: "grp_2", Name: new("ROWERS")}, "grp_2 ROWERS||30|2", false, true},
		"no interval":               {organize.Patch{ID: "grp_2", CadenceDays: new(0), ExpectedVersion: new(int32(1))}, "grp_2 Rowers||0|2", false, true},
		"nothing, by name":          {organize.Patch{Name: new("book club")}, "grp_1 Book club||30|1", false, false},
		"nothing, by id":            {organize.Patch{ID: "grp_1", Name: new("Book club"), CadenceDays: new(30)}, "grp_1 Book club||30|1", false, false},
		"nothing, with the version": {organize.Patch{ID: "grp_1", ExpectedVersion: new(int32(1))}, "grp_1 Book club||30|1", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &writer{groups: groups("Book club", "Rowers")}
			got, err := organize.Save(t.Context(), w, c.patch)
			if err != nil {
				t.Fatal(err)
			}
			g := got.Group
			if is := fmt.Sprintf("%s %s|%s|%d|%d", g.ID, g.Name, g.Description, g.CadenceDays, g.Version); is != c.want || got.Created != c.created {
				t.Errorf("%s, created %v", is, got.Created)
			}
			if (got.ChangeID != "") != c.writes || (len(w.changes) == 1) != c.writes {
				t.Fatalf("%q, %d changes", got.ChangeID, len(w.changes))
			}
			if !c.writes {
				return
			}
			e := w.changes[0].Effects[0]
			if e.Kind != organize.GroupObject || e.ID != g.ID || (e.Before == nil) != c.created || w.changes[0].Summary == "" || !g.UpdatedAt.Equal(noon) {
				t.Errorf("recorded %+v", e)
			}
			if stored := w.groups[slices.IndexFunc(w.groups, func(o organize.Group) bool { return o.ID == g.ID })]; stored != *g || stored.FoldedName != text.Fold(g.Name) {
				t.Errorf("on file: %+v", stored)
			}
		})
	}
}

func TestSaveRefuses(t *testing.T) {
	t.Parallel()
	full := make([]string, organize.MaxGroups)
	for i := range full {
		full[i] = fmt.Sprintf("Group %d", i)
	}
	for name, c := range map[string]struct {
		groups []organize.Group
		patch  organize.Patch
		code   fault.Code
		says   string
	}{
		"blank":           {nil, organize.Patch{Name: new(" \u200b")}, fault.Invalid, "name"},
		"one too many":    {groups(full...), organize.Patch{Name: new("One more")}, fault.Invalid, "200"},
		"unknown id":      {groups("a"), organize.Patch{ID: "grp_00000000000000000000000000"}, fault.NotFound, "grp_0000"},
		"stale":           {groups("a"), organize.Patch{Name: new("a"), ExpectedVersion: new(int32(3))}, fault.Conflict, "version 1"},
		"version of none": {groups("Chess", "Rowers"), organize.Patch{Name: new("Ches"), ExpectedVersion: new(int32(3))}, fault.NotFound, `"Chess", "Rowers"`},
		"version, no one": {nil, organize.Patch{Name: new("Ches"), ExpectedVersion: new(int32(3))}, fault.NotFound, "save_group"},
		"taken":           {groups("Chess", "Rowers"), organize.Patch{ID: "grp_2", Name: new("CHESS")}, fault.AlreadyExists, "grp_1"},
	} {
		w := &writer{groups: c.groups}
		if _, err := organize.Save(t.Context(), w, c.patch); !fault.Is(err, c.code) || !strings.Contains(err.Error(), c.says) || len(w.changes) > 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A refusal names the groups that come nearest, three at most.
func TestFindSuggests(t *testing.T) {
	t.Parallel()
	all := groups("Investors I trust", "Book club", "Neighbours", "Chess", "Thursday run club", "Mentors", "Cooks")
	for name, want := range map[string]string{
		"Bok club": `; nearest: "Book club"`,
		"invest":   `; nearest: "Investors I trust"`,
		"run club": `; nearest: "Thursday run club"`,
		"Kooks":    `; nearest: "Cooks"`,
	} {
		_, err := organize.Find(all, name)
		if !fault.Is(err, fault.NotFound) || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), `"`) != 8 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUpdateMembership(t *testing.T) {
	t.Parallel()
	people := func() map[string]organize.Membership {
		return map[string]organize.Membership{
			"con_1": {ConnectionID: "con_1", GroupIDs: []string{"grp_1"}, Tags: []string{"Friend", "Rower"}},
			"con_2": {ConnectionID: "con_2", GroupIDs: []string{}, Tags: []string{}},
		}
	}
	for name, c := range map[string]struct {
		patch    organize.MembershipPatch
		changed  int
		want     string // groups and tags of the two
		retagged string
		effects  string
	}{
		"in":            {organize.MembershipPatch{AddGroups: []string{"book CLUB", "grp_2"}}, 2, "[grp_1 grp_2] [Friend Rower], [grp_1 grp_2] []", "[]", "membership con_1, membership con_2"},
		"one is in":     {organize.MembershipPatch{AddGroups: []string{"Book club"}}, 1, "[grp_1] [Friend Rower], [grp_1] []", "[]", "membership con_2"},
		"both in twice": {organize.MembershipPatch{AddGroups: []string{"grp_1", "Book club"}}, 1, "[grp_1] [Friend Rower], [grp_1] []", "[]", "membership con_2"},
		"out":           {organize.MembershipPatch{RemoveGroups: []string{"grp_1", "Rowers"}}, 1, "[] [Friend Rower], [] []", "[]", "membership con_1"},
		"tags":          {organize.MembershipPatch{AddTags: []string{" friend ", "New"}}, 2, "[grp_1] [Friend Rower New], [] [friend New]", "[con_1 con_2]", "connection con_1, connection con_2"},
		"tags off":      {organize.MembershipPatch{RemoveTags: []string{"ROWER"}}, 1, "[grp_1] [Friend], [] []", "[con_1]", "connection con_1"},
		"both": {organize.MembershipPatch{RemoveGroups: []string{"grp_1"}, RemoveTags: []string{"rower"}}, 1, "[] [Friend], [] []", "[con_1]",
			"membership con_1, connection con_1"},
		"nothing": {organize.MembershipPatch{RemoveGroups: []string{"Rowers"}, RemoveTags: []string{"x"}}, 0, "[grp_1] [Friend Rower], [] []", "[]", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &writer{groups: groups("Book club", "Rowers"), people: people()}
			c.patch.ConnectionIDs = []string{"con_1", "con_2"}
			got, err := organize.UpdateMembership(t.Context(), w, c.patch)
			if err != nil || got.Changed != c.changed || got.Unchanged != 2-c.changed || (got.ChangeID != "") != (c.changed > 0) {
				t.Fatalf("%+v, %v", got, err)
			}
			one, two := w.people["con_1"], w.people["con_2"]
			if is := fmt.Sprintf("%v %v, %v %v", one.GroupIDs, one.Tags, two.GroupIDs, two.Tags); is != c.want || fmt.Sprint(w.retagged) != c.retagged {
				t.Errorf("%s, retagged %v", is, w.retagged)
			}
			var effects []string
			for _, d := range w.changes {
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

// The states hold what the call touched and no more.
func TestStatesOfMembership(t *testing.T) {
	t.Parallel()
	w := &writer{groups: groups("Book club"), people: map[string]organize.Membership{"con_1": {ConnectionID: "con_1", GroupIDs: []string{}, Tags: []string{"a"}}}}
	_, err := organize.UpdateMembership(t.Context(), w, organize.MembershipPatch{ConnectionIDs: []string{"con_1"}, AddGroups: []string{"grp_1"}, RemoveTags: []string{"A"}})
	if err != nil {
		t.Fatal(err)
	}
	effects, err := w.changes[0].Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, _ := json.Marshal(effects)
	want := `[{"kind":"membership","id":"con_1","before":{"Groups":[]},"after":{"Groups":["grp_1"]}},` +
		`{"kind":"connection","id":"con_1","before":{"Tags":["a"]},"after":{"Tags":[]}}]`
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
		patch organize.MembershipPatch
		code  fault.Code
		says  string
	}{
		"nobody":          {organize.MembershipPatch{ConnectionIDs: []string{"con_1", "con_9"}, AddTags: []string{"x"}}, fault.NotFound, "con_9"},
		"no such group":   {organize.MembershipPatch{ConnectionIDs: []string{"con_1"}, AddGroups: []string{"Grup 1"}}, fault.NotFound, `"Group 1"`},
		"in and out":      {organize.MembershipPatch{ConnectionIDs: []string{"con_1"}, AddGroups: []string{"group 1"}, RemoveGroups: []string{"grp_2"}}, fault.Invalid, "remove_groups"},
		"on and off":      {organize.MembershipPatch{ConnectionIDs: []string{"con_1"}, AddTags: []string{"x"}, RemoveTags: []string{"X"}}, fault.Invalid, "remove_tags"},
		"a blank tag":     {organize.MembershipPatch{ConnectionIDs: []string{"con_1"}, RemoveTags: []string{"x", " "}}, fault.Invalid, "remove_tags[1]"},
		"too many groups": {organize.MembershipPatch{ConnectionIDs: []string{"con_1"}, AddGroups: many}, fault.Invalid, "50 groups"},
		"too many tags":   {organize.MembershipPatch{ConnectionIDs: []string{"con_1"}, AddTags: many}, fault.Invalid, "add_tags"},
	} {
		w := &writer{groups: groups(many...), people: map[string]organize.Membership{"con_1": {ConnectionID: "con_1"}}}
		if _, err := organize.UpdateMembership(t.Context(), w, c.patch); !fault.Is(err, c.code) || !strings.Contains(err.Error(), c.says) || len(w.changes) > 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
