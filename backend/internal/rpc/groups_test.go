package rpc_test

import (
	"fmt"
	"strings"
	"testing"
)

const (
	listGroups       = "/kith.organize.v1.OrganizeService/ListGroups"
	saveGroup        = "/kith.organize.v1.OrganizeService/SaveGroup"
	deleteGroup      = "/kith.organize.v1.OrganizeService/DeleteGroup"
	updateMembership = "/kith.organize.v1.OrganizeService/UpdateMembership"
)

// made calls create_connection and returns the id.
func (b *bundle) made(t *testing.T, body string) string {
	t.Helper()
	got := b.call(t, create, body)
	id, _ := got.at("connection", "id").(string)
	if id == "" {
		t.Fatalf("create %s: %v", body, got.body)
	}
	return id
}

// Names that differ by a mark which is a letter of its script are different groups, tags
// and people.
func TestNamesOfOtherScripts(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		for _, pair := range [][2]string{{"ハル", "バル"}, {"सुनील", "सनील"}, {"กิตติ", "กตต"}} {
			var people [2]string
			for i, name := range pair {
				got := b.call(t, create, fmt.Sprintf(`{"name":%q,"organization":"Acme","tags":[%q]}`, name, name))
				people[i], _ = got.at("connection", "id").(string)
				if got.at("duplicate_of") != nil || got.at("connection", "tags", 0) != name {
					t.Errorf("%s: %v", name, got.body)
				}
				if got := b.call(t, saveGroup, fmt.Sprintf(`{"name":%q}`, name)); got.at("created") != true {
					t.Errorf("group %s: %v", name, got.body)
				}
			}
			for i, name := range pair {
				if got := b.call(t, searchPath, fmt.Sprintf(`{"tag":[%q]}`, name)); got.at("count") != 1.0 || got.at("hits", 0, "id") != people[i] {
					t.Errorf("tag %s: %v", name, got.body)
				}
			}
		}
		if got := b.call(t, duplicates, `{"min_score":0.85}`); got.size("pairs") != 0 {
			t.Errorf("duplicates: %v", got.body)
		}
	})
}

func TestGroupsAndTags(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		ana, ben := b.made(t, `{"name":"Ana"}`), b.made(t, `{"name":"Ben","tags":["Investor"]}`)
		club := b.call(t, saveGroup, `{"name":" Book  club ","cadence_days":30}`)
		if club.at("group", "name") != "Book club" || club.at("created") != true || club.at("group", "version") != 1.0 || club.at("change_id") == nil {
			t.Fatalf("made: %v", club.body)
		}
		id, _ := club.at("group", "id").(string)
		moved := b.call(t, updateMembership, `{"connection_ids":["`+ana+`","`+ben+`"],"add_groups":["BOOK CLUB"],"add_tags":["investor","Rower"]}`)
		if moved.at("changed") != 2.0 || moved.at("unchanged") != 0.0 || moved.at("change_id") == nil {
			t.Fatalf("moved: %v", moved.body)
		}
		again := b.call(t, updateMembership, `{"connection_ids":["`+ana+`","`+ben+`"],"add_groups":["`+id+`"],"add_tags":["ROWER"]}`)
		if again.at("changed") != 0.0 || again.at("unchanged") != 2.0 || again.at("change_id") != nil {
			t.Errorf("again: %v", again.body)
		}
		person := b.call(t, get, `{"id":"`+ana+`"}`)
		if person.at("connection", "groups", 0) != "Book club" || person.at("connection", "tags", 0) != "Investor" || person.at("connection", "version") != 2.0 {
			t.Errorf("person: %v", person.body)
		}
		for _, query := range []string{`{"query":"rower"}`, `{"query":"book club"}`, `{"query":"ana","group":"book CLUB"}`, `{"query":"ana","group":"` + id + `"}`} {
			if got := b.call(t, searchPath, query); got.at("hits", 0, "id") != ana {
				t.Errorf("%s finds %v", query, got.body)
			}
		}
		lists := b.call(t, listGroups, `{}`)
		if lists.at("groups", 0, "people") != 2.0 || lists.at("groups", 0, "cadence_days") != 30.0 || lists.at("tags", 0, "people") != 2.0 {
			t.Errorf("lists: %v", lists.body)
		}
		renamed := b.call(t, saveGroup, `{"id":"`+id+`","name":"Readers","expected_version":1}`)
		if renamed.at("group", "version") != 2.0 || renamed.at("created") != false || renamed.at("group", "cadence_days") != 30.0 || renamed.at("group", "people") != 2.0 {
			t.Errorf("renamed: %v", renamed.body)
		}
		if got := b.call(t, searchPath, `{"query":"readers"}`); len(got.at("hits").([]any)) != 2 {
			t.Errorf("the new name finds %v", got.body)
		}
		if got := b.call(t, searchPath, `{"query":"club"}`); len(got.at("hits").([]any)) != 0 {
			t.Errorf("the old name finds %v", got.body)
		}
		left := b.call(t, updateMembership, `{"connection_ids":["`+ana+`"],"remove_groups":["Readers"],"remove_tags":["rower","no such"]}`)
		if left.at("changed") != 1.0 {
			t.Errorf("left: %v", left.body)
		}
		if got := b.call(t, searchPath, `{"query":"ana","group":"readers"}`); len(got.at("hits").([]any)) != 0 {
			t.Errorf("a person who left the group is found: %v", got.body)
		}
	})
}

func TestRefusalsOfGroups(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		ana := b.made(t, `{"name":"Ana"}`)
		club, _ := b.call(t, saveGroup, `{"name":"Book club"}`).at("group", "id").(string)
		b.call(t, saveGroup, `{"name":"Chess"}`)
		const unknownID, noGroup = "con_ch541ck879", "grp_yb634ik148"
		for name, c := range map[string]struct{ procedure, body, code, says string }{
			"neither id nor name":   {saveGroup, `{"description":"x"}`, "invalid_argument", "id of a group, or a name"},
			"blank name":            {saveGroup, `{"name":" \u200b "}`, "invalid_argument", "name: "},
			"an id for a name":      {saveGroup, `{"name":"` + noGroup + `"}`, "invalid_argument", "pass it as id"},
			"long interval":         {saveGroup, `{"name":"x","cadence_days":731}`, "invalid_argument", "cadence_days"},
			"unknown group":         {saveGroup, `{"id":"` + noGroup + `","name":"x"}`, "not_found", noGroup},
			"a version of none":     {saveGroup, `{"name":"Chest","expected_version":1}`, "not_found", `"Chess"`},
			"stale version":         {saveGroup, `{"id":"` + club + `","name":"x","expected_version":7}`, "aborted", "version 1, not 7"},
			"a name that is taken":  {saveGroup, `{"id":"` + club + `","name":"CHESS"}`, "already_exists", "Chess"},
			"nothing to change":     {updateMembership, `{"connection_ids":["` + ana + `"]}`, "invalid_argument", "add_groups"},
			"nobody to change":      {updateMembership, `{"connection_ids":[],"add_tags":["x"]}`, "invalid_argument", "connection_ids"},
			"somebody twice":        {updateMembership, `{"connection_ids":["` + ana + `","` + ana + `"],"add_tags":["x"]}`, "invalid_argument", "connection_ids"},
			"somebody unknown":      {updateMembership, `{"connection_ids":["` + ana + `","` + unknownID + `"],"add_tags":["x"]}`, "not_found", unknownID},
			"group unknown":         {updateMembership, `{"connection_ids":["` + ana + `"],"add_groups":["Bok clubb"]}`, "not_found", `nearest: "Book club"`},
			"group id unknown":      {updateMembership, `{"connection_ids":["` + ana + `"],"add_groups":["` + noGroup + `"]}`, "not_found", noGroup},
			"group to leave":        {updateMembership, `{"connection_ids":["` + ana + `"],"remove_groups":["Rowers"]}`, "not_found", `"Rowers"`},
			"in and out":            {updateMembership, `{"connection_ids":["` + ana + `"],"add_groups":["chess"],"remove_groups":["Chess"]}`, "invalid_argument", "remove_groups"},
			"on and off":            {updateMembership, `{"connection_ids":["` + ana + `"],"add_tags":["É"],"remove_tags":["e"]}`, "invalid_argument", "remove_tags"},
			"blank tag":             {updateMembership, `{"connection_ids":["` + ana + `"],"add_tags":["ok","\u200b"]}`, "invalid_argument", "add_tags[1]"},
			"search in no group":    {searchPath, `{"query":"ana","group":"Rowers"}`, "invalid_argument", `"Rowers"`},
			"search in no group id": {searchPath, `{"query":"ana","group":"` + noGroup + `"}`, "invalid_argument", noGroup},
		} {
			if got := b.call(t, c.procedure, c.body); got.code() != c.code || !strings.Contains(got.message(), c.says) {
				t.Errorf("%s: %v", name, got.body)
			}
		}
		if got := b.call(t, get, `{"id":"`+ana+`"}`); got.at("connection", "version") != 1.0 {
			t.Errorf("a refused call left something: %v", got.body)
		}
	})
}

func TestLimitsOfGroups(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		ana := b.made(t, `{"name":"Ana"}`)
		for n := range 3 {
			var tags []string
			for i := range 20 {
				tags = append(tags, fmt.Sprintf(`"t%d-%d"`, n, i))
			}
			got := b.call(t, updateMembership, `{"connection_ids":["`+ana+`"],"add_tags":[`+strings.Join(tags, ",")+`]}`)
			if want := []string{"", "", "invalid_argument"}[n]; got.code() != want {
				t.Errorf("%d tags: %v", 20*(n+1), got.body)
			}
		}
	})
}

// A deleted group is found by id or name; its people stay, and an undo restores both.
func TestDeleteGroup(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		ana := b.made(t, `{"name":"Ana Lopez"}`)
		b.call(t, saveGroup, `{"name":"Friends","cadence_days":30}`)
		b.call(t, updateMembership, `{"connection_ids":`+idsOf(t, ana)+`,"add_groups":["Friends"]}`)
		gone := b.call(t, deleteGroup, `{"group":"FRIENDS"}`)
		if gone.at("change_id") == nil || gone.at("summary") != "Deleted the group Friends" {
			t.Fatal(gone.body)
		}
		if groups := b.call(t, listGroups, `{}`); groups.size("groups") != 0 {
			t.Errorf("groups: %v", groups.body)
		}
		if again := b.call(t, deleteGroup, `{"group":"Friends"}`); again.code() != "not_found" {
			t.Errorf("again: %v", again.body)
		}
		b.call(t, undoChange, fmt.Sprintf(`{"change_id":%q}`, gone.at("change_id")))
		if groups := b.call(t, listGroups, `{}`); groups.at("groups", 0, "people") != 1.0 || groups.at("groups", 0, "cadence_days") != 30.0 {
			t.Errorf("after the undo: %v", groups.body)
		}
	})
}
