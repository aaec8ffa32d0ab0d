package rpc_test

import (
	"fmt"
	"strings"
	"testing"
)

const (
	updateNote  = "/kith.timeline.v1.TimelineService/UpdateNote"
	searchNotes = "/kith.timeline.v1.TimelineService/SearchNotes"
	logMany     = "/kith.timeline.v1.TimelineService/LogInteractions"
	updateCall  = "/kith.timeline.v1.TimelineService/UpdateInteraction"
	deleteEntry = "/kith.timeline.v1.TimelineService/DeleteTimelineEntry"
)

func TestUpdateNote(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		ana, ben := b.made(t, `{"name":"Ana"}`), b.made(t, `{"name":"Ben"}`)
		id, _ := b.call(t, addNote, `{"connection_ids":["`+ana+`"],"body":"collects theremins"}`).at("note", "id").(string)
		got := b.call(t, updateNote, `{"id":"`+id+`","body":"collects zithers","pinned":true,"connection_ids":["`+ben+`"],"expected_version":1}`)
		if got.at("note", "body") != "collects zithers" || got.at("note", "version") != 2.0 || got.at("note", "connection_ids", 0) != ben || got.at("change_id") == nil {
			t.Fatalf("changed: %v", got.body)
		}
		if got := b.call(t, searchPath, `{"query":"zithers"}`); got.at("hits", 0, "id") != ben || got.at("hits", 1) != nil {
			t.Errorf("the new words find %v", got.body)
		}
		if got := b.call(t, searchPath, `{"query":"theremins"}`); len(got.at("hits").([]any)) != 0 {
			t.Errorf("the old words find %v", got.body)
		}
		if got := b.call(t, updateNote, `{"id":"`+id+`","pinned":true,"expected_version":2}`); got.at("change_id") != nil || got.at("note", "version") != 2.0 {
			t.Errorf("the same again: %v", got.body)
		}
	})
}

func TestSearchNotes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		ana, ben := b.made(t, `{"name":"Ana"}`), b.made(t, `{"name":"Ben"}`)
		for n := range 4 {
			b.call(t, addNote, `{"connection_ids":["`+ana+`"],"body":"`+fmt.Sprintf("Note %d about Zürich", n)+`"}`)
		}
		b.call(t, logCall, `{"connection_ids":["`+ana+`","`+ben+`"],"kind":"call","summary":"ZURICH, zurich!"}`)
		got := b.call(t, searchNotes, `{"query":"zurich","limit":2}`)
		if got.at("entries", 0, "kind") != "call" || got.at("entries", 0, "participants", 1, "name") == nil || got.at("entries", 1, "text") != "Note 3 about Zürich" ||
			got.at("has_more") != true || got.at("entries", 2) != nil {
			t.Fatalf("found: %v", got.body)
		}
		next, _ := got.at("next_cursor").(string)
		got = b.call(t, searchNotes, `{"query":"zurich","limit":3,"cursor":"`+next+`"}`)
		if got.at("entries", 0, "text") != "Note 2 about Zürich" || got.at("entries", 2, "text") != "Note 0 about Zürich" || got.at("has_more") != false {
			t.Errorf("next page: %v", got.body)
		}
		if got := b.call(t, searchNotes, `{"query":"zurich","connection_id":"`+ben+`"}`); len(got.at("entries").([]any)) != 1 {
			t.Errorf("about one: %v", got.body)
		}
	})
}

func TestRefusalsOfNotes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		ana := b.made(t, `{"name":"Ana"}`)
		id, _ := b.call(t, addNote, `{"connection_ids":["`+ana+`"],"body":"x"}`).at("note", "id").(string)
		call, _ := b.call(t, logCall, `{"connection_ids":["`+ana+`"],"kind":"call"}`).at("interaction", "id").(string)
		const unknownID, nothing = "con_ch541ck879", "not_vk440wx355"
		for name, c := range map[string]struct{ procedure, body, code, says string }{
			"change nothing stored":  {updateNote, `{"id":"` + nothing + `","pinned":true}`, "not_found", nothing},
			"change a stale version": {updateNote, `{"id":"` + id + `","pinned":true,"expected_version":4}`, "aborted", "version 1, not 4"},
			"change to a blank":      {updateNote, `{"id":"` + id + `","body":" \u200b"}`, "invalid_argument", "body: "},
			"change to nobody":       {updateNote, `{"id":"` + id + `","connection_ids":["` + unknownID + `"]}`, "not_found", unknownID},
			"change no interaction":  {updateCall, `{"id":"int_zf775mk147","kind":"call"}`, "not_found", "int_zf775mk147"},
			"leave nobody":           {updateCall, `{"id":"` + call + `","remove_connection_ids":["` + ana + `"]}`, "invalid_argument", "delete_timeline_entry"},
			"nobody took part":       {updateCall, `{"id":"` + call + `","add_connection_ids":["` + unknownID + `"]}`, "not_found", unknownID},
			"a call of tomorrow":     {updateCall, `{"id":"` + call + `","occurred_at":"2999-01-01T00:00:00Z"}`, "invalid_argument", "occurred_at: "},
			"a call of some day":     {updateCall, `{"id":"` + call + `","occurred_at":"2999-01-01"}`, "invalid_argument", "today is " + inDays(0)},
			"a call as a note":       {updateNote, `{"id":"` + call + `","pinned":true}`, "invalid_argument", "this is the id of an interaction"},
			"delete a person":        {deleteEntry, `{"id":"` + ana + `"}`, "invalid_argument", "id must be the id of a note (not_…) or an interaction (int_…)"},
			"search for nothing":     {searchNotes, `{"query":""}`, "invalid_argument", "query"},
			"search about nobody":    {searchNotes, `{"query":"x","connection_id":"` + unknownID + `"}`, "not_found", unknownID},
			"search with a cursor":   {searchNotes, `{"query":"x","cursor":"AAAAAAAAAAAAAAAAAAAA"}`, "invalid_argument", "cursor"},
		} {
			if got := b.call(t, c.procedure, c.body); got.code() != c.code || !strings.Contains(got.message(), c.says) {
				t.Errorf("%s: %v", name, got.body)
			}
		}
	})
}

// contact returns what is computed from a person's interactions: the last contact and the strength.
func (b *bundle) contact(t *testing.T, id string) string {
	t.Helper()
	got := b.call(t, get, `{"id":"`+id+`","include":["record"]}`)
	return fmt.Sprint(got.at("connection", "last_interaction_at"), " ", got.at("connection", "strength"))
}

// A deleted entry is not found anywhere; an undo restores it, with everything derived
// from it.
func TestDeleteTimelineEntry(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		ana, ben := b.made(t, `{"name":"Ana"}`), b.made(t, `{"name":"Ben"}`)
		b.call(t, logCall, `{"connection_ids":["`+ana+`"],"kind":"email","occurred_at":"2020-01-01T10:00:00Z"}`)
		older := b.contact(t, ana)
		call, _ := b.call(t, logCall, `{"connection_ids":["`+ana+`","`+ben+`"],"kind":"call","summary":"about zithers","external_key":"k"}`).at("interaction", "id").(string)
		note, _ := b.call(t, addNote, `{"connection_ids":["`+ben+`"],"body":"collects theremins"}`).at("note", "id").(string)
		before := b.contact(t, ana)
		for _, c := range []struct{ id, word string }{{call, "zithers"}, {note, "theremins"}} {
			all := b.call(t, list, `{}`).size("entries")
			gone := b.call(t, deleteEntry, `{"id":"`+c.id+`"}`)
			change, _ := gone.at("change_id").(string)
			if gone.at("deleted") != true || change == "" {
				t.Fatalf("deleted: %v", gone.body)
			}
			if again := b.call(t, deleteEntry, `{"id":"`+c.id+`"}`); again.at("deleted") != false || again.at("change_id") != nil {
				t.Errorf("deleted again: %v", again.body)
			}
			if got := b.call(t, searchPath, `{"query":"`+c.word+`"}`); got.size("hits") != 0 {
				t.Errorf("%s finds %v", c.word, got.body)
			}
			if got := b.call(t, list, `{}`); got.size("entries") != all-1 {
				t.Errorf("listed: %v", got.body)
			}
			if c.id == call && b.contact(t, ana) != older {
				t.Errorf("contact %s, want %s", b.contact(t, ana), older)
			}
			if got := b.call(t, undoChange, `{"change_id":"`+change+`"}`); got.at("restored", 0, "id") != c.id || got.at("restored", 0, "action") != "restored" {
				t.Fatalf("undone: %v", got.body)
			}
			if got := b.call(t, searchPath, `{"query":"`+c.word+`"}`); got.size("hits") == 0 {
				t.Errorf("%s finds no one after the undo", c.word)
			}
			if got := b.call(t, list, `{}`); got.size("entries") != all || b.contact(t, ana) != before {
				t.Errorf("after the undo: %s, %v", b.contact(t, ana), got.body)
			}
		}
	})
}

// An interaction is changed, with the last contact of all who took part before or after.
// A note about a day has its place in the timeline, in a search and in an export by that day.
func TestNoteOfADay(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		ana := b.made(t, `{"name":"Ana Lopez"}`)
		about := `"connection_ids":` + idsOf(t, ana)
		b.call(t, logCall, `{`+about+`,"kind":"call","occurred_at":"2026-01-05","summary":"zithers"}`)
		old := b.call(t, addNote, `{`+about+`,"body":"zithers","date":"2026-01-04"}`)
		b.call(t, addNote, `{`+about+`,"body":"zithers"}`)
		if old.at("note", "on") != "2026-01-04" {
			t.Fatal(old.body)
		}
		for name, got := range map[string]answer{
			"timeline": b.call(t, list, `{"connection_id":"`+ana+`"}`), "search": b.call(t, searchNotes, `{"query":"zithers"}`), "all": b.call(t, list, `{}`),
		} {
			if got.size("entries") != 3 || got.at("entries", 0, "kind") != "note" || got.at("entries", 1, "kind") != "call" || got.at("entries", 2, "on") != "2026-01-04" {
				t.Errorf("%s: %v", name, got.body)
			}
		}
		if span := b.call(t, list, `{"since":"2026-01-04","until":"2026-01-05"}`); span.size("entries") != 1 || span.at("entries", 0, "id") != old.at("note", "id") {
			t.Errorf("of the day: %v", span.body)
		}
		gone := b.call(t, deleteEntry, fmt.Sprintf(`{"id":%q}`, old.at("note", "id")))
		b.call(t, undoChange, fmt.Sprintf(`{"change_id":%q}`, gone.at("change_id")))
		changed := b.call(t, updateNote, fmt.Sprintf(`{"id":%q,"body":"zithers, again"}`, old.at("note", "id")))
		if last := b.call(t, list, `{}`); changed.at("note", "on") != "2026-01-04" || last.at("entries", 2, "on") != "2026-01-04" {
			t.Errorf("restored and changed: %v, %v", changed.body, last.body)
		}
		for _, wrong := range []string{"2999-01-01", "2026-02-30", "yesterday"} {
			if got := b.call(t, addNote, `{`+about+`,"body":"n","date":"`+wrong+`"}`); got.code() != "invalid_argument" || !strings.Contains(fmt.Sprint(got.at("message")), "date") {
				t.Errorf("%s: %v", wrong, got.body)
			}
		}
	})
}

func TestLogInteractions(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		ana, ben := b.made(t, `{"name":"Ana Lopez"}`), b.made(t, `{"name":"Ben Okri"}`)
		b.call(t, setCadence, `{"connection_ids":`+idsOf(t, ana)+`,"days":30}`)
		first := b.call(t, logCall, `{"connection_ids":`+idsOf(t, ana)+`,"kind":"call","occurred_at":"2026-01-05","external_key":"e1"}`).at("interaction", "id")
		calendar := `{"connection_ids":` + idsOf(t, ana) + `,"kind":"email","external_key":"e1"},
			{"connection_ids":` + idsOf(t, ben) + `,"kind":"meeting","occurred_at":"2026-01-07","summary":"zithers","external_key":"e2"},
			{"connection_ids":` + idsOf(t, ana, ben) + `,"kind":"call","occurred_at":"2026-01-06","external_key":"e3"},
			{"connection_ids":` + idsOf(t, ana) + `,"kind":"call","occurred_at":"2026-01-08","external_key":"e3"}`
		got := b.call(t, logMany, `{"interactions":[`+calendar+`]}`)
		if got.size("ids") != 4 || got.at("ids", 0) != first || got.at("ids", 2) != got.at("ids", 3) || got.at("ids", 1) == got.at("ids", 2) || got.at("known") != 2.0 ||
			got.at("next_due") != "2026-02-05" || got.at("summary") != "Logged 2 interactions (Ben Okri, Ana Lopez)" {
			t.Fatalf("logged: %v", got.body)
		}
		if again := b.call(t, logMany, `{"interactions":[`+calendar+`]}`); again.at("known") != 4.0 || again.at("change_id") != nil || fmt.Sprint(again.at("ids")) != fmt.Sprint(got.at("ids")) {
			t.Errorf("again: %v", again.body)
		}
		if entries := b.call(t, list, `{}`); entries.size("entries") != 3 {
			t.Errorf("the timeline: %v", entries.body)
		}
		if contact := b.contact(t, ben); !strings.HasPrefix(contact, "2026-01-07") {
			t.Errorf("the last contact: %s", contact)
		}
		more := `{"connection_ids":` + idsOf(t, ben) + `,"kind":"call"}`
		for body, want := range map[string]string{
			more + `,{"connection_ids":` + idsOf(t, ben) + `,"kind":"call","occurred_at":"2999-01-01"}`: "interactions[1].occurred_at",
			more + `,{"connection_ids":["con_zzzzzzzzzz"],"kind":"call"}`:                               "there is no connection con_zzzzzzzzzz",
		} {
			if wrong := b.call(t, logMany, `{"interactions":[`+body+`]}`); !strings.Contains(fmt.Sprint(wrong.at("message")), want) {
				t.Errorf("%v, want %s", wrong.body, want)
			}
		}
		if entries := b.call(t, list, `{}`); entries.size("entries") != 3 {
			t.Errorf("a call that failed wrote: %v", entries.body)
		}
		if done := b.call(t, undoChange, fmt.Sprintf(`{"change_id":%q}`, got.at("change_id"))); done.at("restored_count") != 2.0 || b.contact(t, ben) != "<nil> <nil>" {
			t.Errorf("undone: %v, %s", done.body, b.contact(t, ben))
		}
	})
}

func TestUpdateInteraction(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		ana, ben, cy := b.made(t, `{"name":"Ana"}`), b.made(t, `{"name":"Ben"}`), b.made(t, `{"name":"Cy"}`)
		call, _ := b.call(t, logCall, `{"connection_ids":["`+ana+`","`+ben+`"],"kind":"call","summary":"about zithers","occurred_at":"2026-01-05T10:00:00Z"}`).at("interaction", "id").(string)
		b.call(t, setCadence, `{"connection_ids":["`+cy+`"],"days":30}`)
		before := [3]string{b.contact(t, ana), b.contact(t, ben), b.contact(t, cy)}
		got := b.call(t, updateCall, `{"id":"`+call+`","kind":"meeting","summary":"about theremins","occurred_at":"2026-01-06","duration_minutes":30,
"add_connection_ids":["`+cy+`","`+ana+`"],"remove_connection_ids":["`+ben+`"]}`)
		change, _ := got.at("change_id").(string)
		if change == "" || got.at("interaction", "kind") != "meeting" || got.at("interaction", "on") != "2026-01-06" || got.at("next_due") != "2026-02-05" ||
			fmt.Sprint(got.at("interaction", "connection_ids")) != fmt.Sprint([]string{min(ana, cy), max(ana, cy)}) || got.at("interaction", "duration_minutes") != 30.0 {
			t.Fatalf("changed: %v", got.body)
		}
		for word, want := range map[string][]any{"theremins": {ana, cy}, "zithers": nil} {
			found := b.call(t, searchPath, `{"query":"`+word+`","sort":"name"}`)
			if found.size("hits") != len(want) || len(want) > 0 && (found.at("hits", 0, "id") != want[0] || found.at("hits", 1, "id") != want[1]) {
				t.Errorf("%s finds %v", word, found.body)
			}
		}
		if none := b.contact(t, ben); none != "<nil> <nil>" || !strings.HasPrefix(b.contact(t, cy), "2026-01-06T12:00:00Z") {
			t.Errorf("contacts: %s, %s", none, b.contact(t, cy))
		}
		if again := b.call(t, updateCall, `{"id":"`+call+`","kind":"meeting","occurred_at":"2026-01-06","add_connection_ids":["`+cy+`"]}`); again.code() != "" || again.at("change_id") != nil {
			t.Errorf("the same again: %v", again.body)
		}
		b.call(t, undoChange, `{"change_id":"`+change+`"}`)
		if after := [3]string{b.contact(t, ana), b.contact(t, ben), b.contact(t, cy)}; after != before {
			t.Errorf("after the undo %v, before %v", after, before)
		}
		if found := b.call(t, searchPath, `{"query":"zithers","sort":"name"}`); found.at("hits", 0, "id") != ana || found.at("hits", 1, "id") != ben {
			t.Errorf("after the undo: %v", found.body)
		}
	})
}
