package rpc_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/db/dbtest"
)

const (
	archivePeople = "/kith.connections.v1.ConnectionService/ArchiveConnections"
	deletePerson  = "/kith.connections.v1.ConnectionService/DeleteConnection"
	mergePeople   = "/kith.connections.v1.ConnectionService/MergeConnections"
	linkPeople    = "/kith.connections.v1.ConnectionService/LinkConnections"
	duplicates    = "/kith.connections.v1.ConnectionService/FindDuplicates"
	listChanges   = "/kith.account.v1.AccountService/ListChanges"
)

// added creates a person and returns their id and the change's.
func (b *bundle) added(t *testing.T, body string) (id, changeID string) {
	t.Helper()
	got := b.call(t, create, body)
	id, _ = got.at("connection", "id").(string)
	changeID, _ = got.at("change_id").(string)
	if id == "" || changeID == "" {
		t.Fatalf("create %s: %v", body, got.body)
	}
	return id, changeID
}

// size is the length of a list in an answer.
func (a answer) size(path ...any) int {
	list, _ := a.at(path...).([]any)
	return len(list)
}

func TestChangesAreListedAndUndone(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		id, added := b.added(t, `{"name":"Ana Lopez","emails":["ana@x.example"]}`)
		changed := b.call(t, update, `{"id":"`+id+`","bio":"b","add_phones":["+48 22 555 0100"],"organization":"Helios"}`)
		other := dbtest.Token(t, b.store, b.member, b.rpcs.Scopes()...)
		b.call(t, addNote, `{"connection_ids":["`+id+`"],"body":"n"}`, "Authorization", "Bearer "+other)

		all := b.call(t, listChanges, `{}`)
		if all.size("changes") != 3 || all.at("has_more") != false || all.at("changes", 0, "tool") != "add_note" || all.at("changes", 0, "actor") != "test" ||
			all.at("changes", 0, "summary") != "Added a note (Ana Lopez)" || all.at("changes", 1, "actor") != nil ||
			all.at("changes", 2, "summary") != "Added Ana Lopez" || all.at("changes", 2, "undoable") != nil || all.at("changes", 1, "objects") != nil {
			t.Errorf("all: %v", all.body)
		}
		object := b.call(t, listChanges, fmt.Sprintf(`{"change_id":%q}`, changed.at("change_id"))).at("changes", 0, "objects", 0)
		if want := "map[action:updated fields:[bio phones positions] id:" + id + " kind:connection]"; fmt.Sprint(object) != want {
			t.Errorf("what changed: %v, want %s", object, want)
		}
		if mine := b.call(t, listChanges, `{"mine":true}`); mine.size("changes") != 2 {
			t.Errorf("mine: %v", mine.body)
		}
		about := `"connection_id":"` + id + `","limit":2`
		if of := b.call(t, listChanges, `{`+about+`}`); of.size("changes") != 2 || of.at("has_more") != true || of.at("changes", 0, "tool") != "add_note" {
			t.Errorf("of the person: %v", of.body)
		} else if next := b.call(t, listChanges, fmt.Sprintf(`{%s,"cursor":%q}`, about, of.at("next_cursor"))); next.at("changes", 0, "id") != added || next.at("has_more") != false {
			t.Errorf("the next page: %v", next.body)
		}

		blocked := b.call(t, undoChange, `{"change_id":"`+added+`"}`)
		if blocked.size("conflicts") != 1 || blocked.at("conflicts", 0, "id") != id || blocked.at("change_id") != nil || blocked.at("restored_count") != 0.0 {
			t.Errorf("what was changed since: %v", blocked.body)
		}
		dry := b.call(t, undoChange, fmt.Sprintf(`{"change_id":%q,"dry_run":true}`, changed.at("change_id")))
		done := b.call(t, undoChange, fmt.Sprintf(`{"change_id":%q}`, changed.at("change_id")))
		if dry.at("change_id") != nil || dry.at("restored_count") != 1.0 || done.at("change_id") == nil || done.at("restored", 0, "id") != id {
			t.Errorf("dry %v, done %v", dry.body, done.body)
		}
		again := b.call(t, undoChange, fmt.Sprintf(`{"change_id":%q}`, changed.at("change_id")))
		if again.at("already_undone") != true || again.at("change_id") != nil {
			t.Errorf("again: %v", again.body)
		}
		for name, got := range map[string]answer{"blocked": blocked, "dry": dry, "done": done, "again": again} {
			for _, list := range []string{"restored", "conflicts"} {
				if _, present := got.at(list).([]any); !present {
					t.Errorf("%s has no list %s: %v", name, list, got.body)
				}
			}
		}
		after := b.call(t, get, `{"id":"`+id+`","include":["record"]}`)
		if after.at("connection", "bio") != nil || after.size("connection", "phones") != 0 || after.at("connection", "version") != 3.0 {
			t.Errorf("after the undo: %v", after.body)
		}
		latest := b.call(t, listChanges, `{"limit":1}`)
		if latest.at("changes", 0, "undoes") != changed.at("change_id") || latest.at("changes", 0, "tool") != "undo_change" {
			t.Errorf("the undo's record: %v", latest.body)
		}
	})
}

// Each answer of a write says what it did, in the words of list_changes, and so does the undo.
func TestWritesSayWhatTheyDid(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		ana, ben := b.made(t, `{"name":"Ana Lopez"}`), b.made(t, `{"name":"Ben Okri"}`)
		both := idsOf(t, ana, ben)
		undone := func(changeID any) answer { return b.call(t, undoChange, fmt.Sprintf(`{"change_id":%q}`, changeID)) }
		note := b.call(t, addNote, `{"connection_ids":`+idsOf(t, ana)+`,"body":"n"}`)
		cases := []struct {
			got  answer
			want string
		}{
			{b.call(t, create, `{"name":"Cleo Dahl"}`), "Added Cleo Dahl"},
			{note, "Added a note (Ana Lopez)"},
			{b.call(t, logCall, `{"connection_ids":`+idsOf(t, ben)+`,"kind":"call"}`), "Logged: call (Ben Okri)"},
			{b.call(t, createReminder, `{"text":"Call","due_on":"2999-01-01","connection_id":"`+ana+`"}`), ""},
			{b.call(t, createReminder, `{"text":"Call","due_on":"2030-01-01","connection_id":"`+ana+`"}`), "Added a reminder: Call (Ana Lopez)"},
			{b.call(t, setCadence, `{"connection_ids":`+both+`,"days":30}`), "Set the keep-in-touch interval of Ana Lopez and Ben Okri"},
			{b.call(t, setCadence, `{"connection_ids":`+both+`,"days":60,"dry_run":true}`), ""},
			{undone(note.at("change_id")), "Undid: Added a note (Ana Lopez)"},
			{undone(note.at("change_id")), ""},
		}
		for _, c := range cases {
			summary, _ := c.got.at("summary").(string)
			if summary != c.want {
				t.Errorf("%q, want %q: %v", summary, c.want, c.got.body)
			}
			if c.want == "" {
				continue
			}
			if listed := b.call(t, listChanges, fmt.Sprintf(`{"change_id":%q}`, c.got.at("change_id"))); listed.at("changes", 0, "summary") != c.want {
				t.Errorf("list_changes says %v, want %q", listed.at("changes", 0, "summary"), c.want)
			}
		}
		blind := dbtest.Token(t, b.store, b.member, "account", "write")
		if got := b.call(t, undoChange, fmt.Sprintf(`{"change_id":%q}`, cases[0].got.at("change_id")), "Authorization", "Bearer "+blind); got.at("change_id") == nil ||
			strings.Contains(fmt.Sprint(got.at("summary")), "Cleo") {
			t.Errorf("a credential that reads no people: %v", got.body)
		}
	})
}

// An undo that would link an object to a person who was merged into another since is refused, and names the merge. Once the merge
// is undone, it restores everything.
func TestUndoKeepsOffMergedPeople(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		ana, anna, ben := b.made(t, `{"name":"Ana Lopez"}`), b.made(t, `{"name":"Anna Lopez"}`), b.made(t, `{"name":"Ben Okri"}`)
		about := `"connection_ids":` + idsOf(t, anna)
		note := b.call(t, addNote, `{`+about+`,"body":"n"}`).at("note", "id")
		gone := b.call(t, addNote, `{`+about+`,"body":"m"}`).at("note", "id")
		met := b.call(t, logCall, `{`+about+`,"kind":"call"}`).at("interaction", "id")
		reminder := b.call(t, createReminder, `{"text":"Call","due_on":"2030-01-01","connection_id":"`+anna+`"}`).at("reminder", "id")
		b.call(t, saveGroup, `{"name":"Friends"}`)
		b.call(t, updateMembership, `{`+about+`,"add_groups":["Friends"]}`)
		changes := []answer{
			b.call(t, updateNote, fmt.Sprintf(`{"id":%q,"connection_ids":%s}`, note, idsOf(t, ben))),
			b.call(t, deleteEntry, fmt.Sprintf(`{"id":%q}`, gone)),
			b.call(t, deleteEntry, fmt.Sprintf(`{"id":%q}`, met)),
			b.call(t, updateReminder, fmt.Sprintf(`{"id":%q,"connection_id":%q}`, reminder, ben)),
			b.call(t, updateMembership, `{`+about+`,"remove_groups":["Friends"]}`),
		}
		merged := b.call(t, mergePeople, `{"into_id":"`+ana+`","from_ids":`+idsOf(t, anna)+`,"dry_run":false}`)
		if merged.at("change_id") == nil {
			t.Fatal(merged.body)
		}
		undo := func(c answer) answer {
			return b.call(t, undoChange, fmt.Sprintf(`{"change_id":%q}`, c.at("change_id")))
		}
		for _, c := range changes {
			if got := undo(c); got.at("change_id") != nil || got.size("conflicts") != 1 || got.at("conflicts", 0, "change_id") != merged.at("change_id") ||
				got.at("conflicts", 0, "reason") != anna+", whom it is about, was merged into "+ana+" since" {
				t.Errorf("the undo of %v: %v", c.at("summary"), got.body)
			}
		}
		if got := undo(merged); got.at("change_id") == nil {
			t.Fatal(got.body)
		}
		for _, c := range changes {
			if got := undo(c); got.at("change_id") == nil {
				t.Errorf("the undo of %v after that of the merge: %v", c.at("summary"), got.body)
			}
		}
		if got := b.call(t, list, `{"connection_id":"`+anna+`"}`); got.size("entries") != 3 {
			t.Errorf("her entries: %v", got.body)
		}
	})
}

// An undo compares fields one by one: what other calls changed since stays, and a conflict
// names the field and the latest change of it.
func TestUndoIsFieldByField(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		id, _ := b.added(t, `{"name":"Ana Lopez","emails":["ana@x.example"],"phones":["+48 22 555 0100"],"tags":["a"]}`)
		changed := func(fields string) string {
			t.Helper()
			return fmt.Sprint(b.call(t, update, `{"id":"`+id+`",`+fields+`}`).at("change_id"))
		}
		title := changed(`"title":"Pianist"`)
		emails := changed(`"emails":["ana@y.example"]`)
		tags := changed(`"add_tags":["b"]`)
		later := changed(`"phones":["+48 22 555 0101"],"add_tags":["c"],"bio":"x"`)
		for _, changeID := range []string{title, emails, tags} {
			if done := b.call(t, undoChange, `{"change_id":"`+changeID+`"}`); done.size("conflicts") != 0 || done.at("change_id") == nil {
				t.Errorf("%v", done.body)
			}
		}
		got := b.call(t, get, `{"id":"`+id+`"}`)
		if got.at("connection", "title") != nil || fmt.Sprint(got.at("connection", "emails")) != "[ana@x.example]" || fmt.Sprint(got.at("connection", "tags")) != "[a c]" ||
			fmt.Sprint(got.at("connection", "phones")) != "[+48 22 555 0101]" || got.at("connection", "bio") != "x" {
			t.Errorf("after the undos: %v", got.body)
		}
		last := changed(`"phones":["+48 22 555 0102"]`)
		changed(`"bio":"y"`)
		changed(`"nickname":"An"`)
		refused := b.call(t, undoChange, `{"change_id":"`+later+`"}`)
		if refused.size("conflicts") != 1 || refused.at("conflicts", 0, "reason") != "it was changed since: bio, phones" || refused.at("change_id") != nil {
			t.Errorf("refused: %v", refused.body)
		}
		b.call(t, undoChange, fmt.Sprintf(`{"change_id":%q}`, refused.at("conflicts", 0, "change_id")))
		refused = b.call(t, undoChange, `{"change_id":"`+later+`"}`)
		if refused.at("conflicts", 0, "reason") != "it was changed since: phones" || refused.at("conflicts", 0, "change_id") != last {
			t.Errorf("refused: %v, want %s", refused.body, last)
		}
	})
}

func TestArchiveDeleteMergeLink(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		ana, _ := b.added(t, `{"name":"Ana Lopez","emails":["ana@x.example"],"organization":"Helios"}`)
		duplicate, _ := b.added(t, `{"name":"Ana Lopes","emails":["ana+two@x.example"],"phones":["+48 22 555 0100"]}`)
		bo, _ := b.added(t, `{"name":"Bo Chen"}`)
		b.call(t, addNote, `{"connection_ids":["`+duplicate+`"],"body":"theremins"}`)

		found := b.call(t, duplicates, `{}`)
		if found.size("pairs") != 1 || found.at("pairs", 0, "score").(float64) < .95 || !strings.HasPrefix(found.at("pairs", 0, "reasons", 0).(string), "same e-mail: ") {
			t.Errorf("duplicates: %v", found.body)
		}
		if none := b.call(t, duplicates, `{"connection_id":"`+bo+`"}`); none.size("pairs") != 0 {
			t.Errorf("of Bo: %v", none.body)
		}

		preview := b.call(t, mergePeople, `{"into_id":"`+ana+`","from_ids":["`+duplicate+`"]}`)
		if preview.at("merged") != false || preview.at("change_id") != nil || preview.size("connection", "emails") != 2 || preview.at("moved") != 1.0 ||
			preview.at("conflicts", 0, "dropped") != "Ana Lopes" {
			t.Errorf("preview: %v", preview.body)
		}
		if still := b.call(t, get, `{"id":"`+duplicate+`"}`); still.at("connection", "archived_at") != nil {
			t.Errorf("the preview archived: %v", still.body)
		}
		merged := b.call(t, mergePeople, `{"into_id":"`+ana+`","from_ids":["`+duplicate+`"],"dry_run":false}`)
		if merged.at("merged") != true || merged.at("change_id") == nil || merged.size("connection", "phones") != 1 {
			t.Fatalf("merged: %v", merged.body)
		}
		if hits := b.call(t, searchPath, `{"query":"theremins"}`); hits.size("hits") != 1 || hits.at("hits", 0, "id") != ana {
			t.Errorf("the note's person: %v", hits.body)
		}
		b.call(t, undoChange, fmt.Sprintf(`{"change_id":%q}`, merged.at("change_id")))
		if hits := b.call(t, searchPath, `{"query":"theremins"}`); hits.size("hits") != 1 || hits.at("hits", 0, "id") != duplicate {
			t.Errorf("after the undo: %v", hits.body)
		}

		linked := b.call(t, linkPeople, `{"from_id":"`+ana+`","to_id":"`+bo+`","type":"manager"}`)
		if linked.at("relationships", 0, "type") != "manager" || linked.at("change_id") == nil {
			t.Errorf("linked: %v", linked.body)
		}
		if seen := b.call(t, get, `{"id":"`+bo+`"}`); seen.at("connection", "relationships", 0, "type") != "report" || seen.at("connection", "relationships", 0, "name") != "Ana Lopez" {
			t.Errorf("seen from the other: %v", seen.body)
		}
		if again := b.call(t, linkPeople, `{"from_id":"`+ana+`","to_id":"`+bo+`","type":"manager"}`); again.at("change_id") != nil {
			t.Errorf("linked again: %v", again.body)
		}

		away := b.call(t, archivePeople, `{"ids":["`+ana+`","`+bo+`"]}`)
		if away.at("changed") != 2.0 || away.at("change_id") == nil {
			t.Errorf("archived: %v", away.body)
		}
		if hits := b.call(t, searchPath, `{"query":"Bo Chen"}`); hits.size("hits") != 0 {
			t.Errorf("an archived person is found: %v", hits.body)
		}
		if by := b.call(t, get, `{"id":"`+bo+`"}`); by.at("connection", "archived_at") == nil {
			t.Errorf("by id: %v", by.body)
		}
		if back := b.call(t, archivePeople, `{"ids":["`+bo+`","`+duplicate+`"],"archived":false}`); back.at("changed") != 1.0 || back.at("unchanged") != 1.0 {
			t.Errorf("brought back: %v", back.body)
		}
		if hits := b.call(t, searchPath, `{"query":"Bo Chen"}`); hits.size("hits") != 1 {
			t.Errorf("a restored person is not found: %v", hits.body)
		}

		gone := b.call(t, deletePerson, `{"id":"`+duplicate+`","confirm_name":" Ana  Lopes "}`)
		if gone.at("deleted") != true || gone.at("notes_deleted") != 1.0 || gone.at("change_id") == nil {
			t.Errorf("deleted: %v", gone.body)
		}
		for _, query := range []string{"Lopes", "theremins"} {
			if hits := b.call(t, searchPath, `{"query":"`+query+`"}`); hits.size("hits") != 0 {
				t.Errorf("%q finds a deleted person: %v", query, hits.body)
			}
		}
		if again := b.call(t, deletePerson, `{"id":"`+duplicate+`","confirm_name":"Ana Lopes"}`); again.code() != "" || again.at("deleted") != false || again.at("change_id") != nil {
			t.Errorf("deleted again: %v", again.body)
		}
		if back := b.call(t, undoChange, fmt.Sprintf(`{"change_id":%q}`, gone.at("change_id"))); back.code() != "" || back.size("restored") != 2 {
			t.Errorf("the deletion is undone: %v", back.body)
		}
		if hits := b.call(t, searchPath, `{"query":"theremins"}`); hits.size("hits") != 1 || hits.at("hits", 0, "id") != duplicate {
			t.Errorf("after the undo of the deletion: %v", hits.body)
		}
	})
}

func TestRefusalsOfActs(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		id, _ := b.added(t, `{"name":"Ana"}`)
		away, _ := b.added(t, `{"name":"Bo"}`)
		b.call(t, archivePeople, `{"ids":["`+away+`"]}`)
		const unknownID = "con_ch541ck879"
		many := strings.Repeat(`"`+unknownID+`",`, 51)
		for name, c := range map[string]struct{ procedure, body, code string }{
			"archive nobody":             {archivePeople, `{"ids":["` + unknownID + `"]}`, "not_found"},
			"archive one and nobody":     {archivePeople, `{"ids":["` + id + `","` + unknownID + `"]}`, "not_found"},
			"archive none":               {archivePeople, `{"ids":[]}`, "invalid_argument"},
			"archive too many":           {archivePeople, `{"ids":[` + many[:len(many)-1] + `]}`, "invalid_argument"},
			"delete another name":        {deletePerson, `{"id":"` + id + `","confirm_name":"ana"}`, "invalid_argument"},
			"delete without a name":      {deletePerson, `{"id":"` + id + `"}`, "invalid_argument"},
			"merge into nobody":          {mergePeople, `{"into_id":"` + unknownID + `","from_ids":["` + id + `"]}`, "not_found"},
			"merge nobody":               {mergePeople, `{"into_id":"` + id + `","from_ids":["` + unknownID + `"]}`, "not_found"},
			"merge with oneself":         {mergePeople, `{"into_id":"` + id + `","from_ids":["` + id + `"],"dry_run":false}`, "invalid_argument"},
			"merge somebody archived":    {mergePeople, `{"into_id":"` + id + `","from_ids":["` + away + `"],"dry_run":false}`, "aborted"},
			"merge none":                 {mergePeople, `{"into_id":"` + id + `","from_ids":[]}`, "invalid_argument"},
			"link oneself":               {linkPeople, `{"from_id":"` + id + `","to_id":"` + id + `","type":"friend"}`, "invalid_argument"},
			"link nobody":                {linkPeople, `{"from_id":"` + id + `","to_id":"` + unknownID + `","type":"friend"}`, "not_found"},
			"link somebody archived":     {linkPeople, `{"from_id":"` + id + `","to_id":"` + away + `","type":"friend"}`, "aborted"},
			"update somebody archived":   {update, `{"id":"` + away + `","bio":"x"}`, "aborted"},
			"note on somebody archived":  {addNote, `{"connection_ids":["` + away + `"],"body":"x"}`, "aborted"},
			"duplicates of nobody":       {duplicates, `{"connection_id":"` + unknownID + `"}`, "not_found"},
			"duplicates of any score":    {duplicates, `{"min_score":0.1}`, "invalid_argument"},
			"undo nothing":               {undoChange, `{}`, "invalid_argument"},
			"undo two things":            {undoChange, `{"change_id":"chg_lt796ft723","import_id":"imp_ov084ub146"}`, "invalid_argument"},
			"undo no change":             {undoChange, `{"change_id":"chg_lt796ft723"}`, "not_found"},
			"undo no import":             {undoChange, `{"import_id":"imp_ov084ub146"}`, "not_found"},
			"changes of no object":       {listChanges, `{"connection_id":"7"}`, "invalid_argument"},
			"changes by a broken cursor": {listChanges, `{"cursor":"AAAAAAAAAAAAAAAAAAAA"}`, "invalid_argument"},
		} {
			before := b.call(t, listChanges, `{"limit":1}`).at("changes", 0, "id")
			if got := b.call(t, c.procedure, c.body); got.code() != c.code {
				t.Errorf("%s: %v", name, got.body)
			}
			if after := b.call(t, listChanges, `{"limit":1}`).at("changes", 0, "id"); after != before {
				t.Errorf("%s is recorded as change %v", name, after)
			}
		}
	})
}
