package rpc_test

import (
	"fmt"
	"strings"
	"testing"
)

const (
	updateNote  = "/kith.timeline.v1.TimelineService/UpdateNote"
	searchNotes = "/kith.timeline.v1.TimelineService/SearchNotes"
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
		if got := b.call(t, updateNote, `{"id":"`+id+`","pinned":true}`); got.at("change_id") != nil || got.at("note", "version") != 2.0 {
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
		const unknownID, nothing = "con_00000000000000000000000000", "not_00000000000000000000000000"
		for name, c := range map[string]struct{ procedure, body, code, says string }{
			"change nothing on file": {updateNote, `{"id":"` + nothing + `","pinned":true}`, "not_found", nothing},
			"change a stale version": {updateNote, `{"id":"` + id + `","pinned":true,"expected_version":4}`, "aborted", "version 1, not 4"},
			"change to a blank":      {updateNote, `{"id":"` + id + `","body":" \u200b"}`, "invalid_argument", "body: "},
			"change to nobody":       {updateNote, `{"id":"` + id + `","connection_ids":["` + unknownID + `"]}`, "not_found", unknownID},
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
