package review

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/history"
)

func TestEffectsInPlainWords(t *testing.T) {
	t.Parallel()
	for words, object := range map[string]history.Object{
		"will be removed":                      {Kind: "connection", Action: history.ActionRemoved},
		"will be brought back":                 {Kind: "note", Action: history.ActionRestored},
		"will be archived":                     {Kind: "connection", Action: history.ActionArchived},
		"will be merged again":                 {Kind: "connection", Action: history.ActionMerged},
		"will be as before":                    {Kind: "membership", Action: history.ActionUpdated, Fields: []string{"groups"}},
		"will be as before (whom it is about)": {Kind: "note", Action: history.ActionUpdated, Fields: []string{"connection_ids"}},
		"will be as before (e-mail addresses, job, some new field)": {Kind: "connection", Action: history.ActionUpdated, Fields: []string{"emails", "positions", "some_new_field"}},
	} {
		if got := effectText(object); got != words {
			t.Errorf("%+v: %q", object, got)
		}
	}
}

// Ids of objects are never shown to people.
func TestConflictsInPlainWords(t *testing.T) {
	t.Parallel()
	const rest = "ab123cd456"
	for reason, words := range map[string]string{
		"it exists again": "it exists again",
		"con_" + rest + ", whom it is about, no longer exists":                      "a person, whom it is about, no longer exists",
		"other data refers to it now: not_" + rest + " is a note about them":        "other data refers to it now: a note about them",
		"other data refers to it now: rem_" + rest + " is a reminder about them":    "other data refers to it now: a reminder about them",
		"other data refers to it now: int_" + rest + " is an interaction with them": "other data refers to it now: an interaction with them",
		"other data refers to it now: grp_" + rest + " has them in it":              "other data refers to it now: a group has them in it",
		"rel_" + rest + " says the same now, and so does xrel_" + rest + "x":        "a relation says the same now, and so does xrel_" + rest + "x",
	} {
		got := conflictText(history.Conflict{Kind: "connection", ID: "con_" + rest, Reason: reason})
		if got != words {
			t.Errorf("%q became %q", reason, got)
		}
	}
	if got := conflictText(history.Conflict{Kind: "connection", Fields: []string{"met_on", "bio"}}); got != "changed again since (when you met, bio)" {
		t.Errorf("got %q", got)
	}
}

// Objects are shown by their names, people by their current names.
func TestNamesOfObjects(t *testing.T) {
	t.Parallel()
	names := objectNames{people: map[string]string{"con_1": "Ada", "con_2": "Grace"}}
	var effects []history.Effect
	for key, state := range map[[2]string]string{
		{"connection", "con_1"}: `{"name":"Ada who was"}`, {"connection", "con_3"}: `{"name":"Gone"}`, {"note", "not_1"}: `{"body":"One\n  line ` + strings.Repeat("x", 100) + `"}`,
		{"reminder", "rem_1"}: `{"text":"Call","connection_ids":["con_1"]}`, {"relationship", "rel_1"}: `{"from_id":"con_1","to_id":"con_2"}`, {"membership", "con_2"}: `{"groups":[]}`,
	} {
		effects = append(effects, history.Effect{Kind: key[0], ID: key[1], After: json.RawMessage(state)})
	}
	for want, object := range map[string][2]string{
		"Person Ada": {"connection", "con_1"}, "Person Gone": {"connection", "con_3"}, "Note One line " + strings.Repeat("x", 51) + "…": {"note", "not_1"},
		"Reminder Call": {"reminder", "rem_1"}, "Relation Ada and Grace": {"relationship", "rel_1"}, "Groups of Grace": {"membership", "con_2"},
		"Person a deleted person": {"connection", "con_9"}, "Something ": {"spell", "spl_1"}, "Your profile ": {"profile", "mem_1"},
	} {
		if got := names.effectRow(object[0], object[1], effects, ""); got.Kind+" "+got.Name != want {
			t.Errorf("got %q, not %q", got.Kind+" "+got.Name, want)
		}
	}
}
