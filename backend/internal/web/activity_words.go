package web

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/text"
)

// recorded are the fields of a recorded state that name an object to people. A state
// may have none of them.
type recorded struct {
	Name, Text, Body, Summary string
	FromID, ToID              string
}

// objectNames are the names of the objects of one change.
type objectNames struct {
	// people are the names of the connections that exist.
	people map[string]string
	states map[string]recorded
}

// namesIn looks up the names of the objects of a change that are shown: people by their
// stored name, all others by what was recorded.
func (v *request) namesIn(ctx context.Context, c *history.Change, restored []history.Object, conflicts []history.Conflict) (objectNames, error) {
	shown := map[string]bool{}
	for _, o := range restored {
		shown[o.ID] = true
	}
	for _, o := range conflicts {
		shown[o.ID] = true
	}
	names := objectNames{states: map[string]recorded{}}
	var persons []string
	for _, e := range c.Effects {
		if !shown[e.ID] {
			continue
		}
		var r recorded
		for _, state := range []json.RawMessage{e.Before, e.After} { // the later state counts
			if len(state) > 0 {
				_ = json.Unmarshal(state, &r) // a state of another shape has no name for people
			}
		}
		names.states[e.Kind+e.ID] = r
		persons = append(persons, e.ID, r.FromID, r.ToID)
	}
	persons = slices.DeleteFunc(persons, func(one string) bool { return !id.Valid(id.Connection, one) })
	slices.Sort(persons)
	var err error
	names.people, err = people.ListNames(ctx, v.data(), slices.Compact(persons))
	return names, err
}

// maxName is how much of a note is shown as its name, in characters.
const maxName = 60

func (n objectNames) row(kind, objectID, words string) effectRow {
	r := n.states[kind+objectID]
	row := effectRow{Kind: kindWord(kind), Text: words}
	for _, name := range []string{n.people[objectID], r.Name, r.Text, r.Body, r.Summary} {
		if name = text.Line(name); name != "" && row.Name == "" {
			row.Name = text.Truncate(name, maxName)
		}
	}
	if from, to := n.people[r.FromID], n.people[r.ToID]; from != "" && to != "" {
		row.Name = from + " and " + to
	}
	return row
}

// kindWord returns the word for a kind of object.
func kindWord(kind string) string {
	words := map[string]string{
		history.Connection: "Person", history.Membership: "Groups of", history.Note: "Note",
		history.Interaction: "Interaction", history.Group: "Group", history.Reminder: "Reminder",
		history.Relationship: "Relation", history.Profile: "Your profile", history.Settings: "Your settings",
	}
	if word, ok := words[kind]; ok {
		return word
	}
	return "Something"
}

// effectText says what an undo does to an object.
func effectText(o history.Object) string {
	switch o.Action {
	case history.ActionRemoved:
		return "will be removed"
	case history.ActionCreated, history.ActionRestored:
		return "will be brought back"
	case history.ActionArchived:
		return "will be archived"
	case history.ActionMerged:
		return "will be merged again"
	}
	return "will be as before" + whichFields(o.Kind, o.Fields)
}

// conflictText says why an object cannot be restored.
func conflictText(c history.Conflict) string {
	if len(c.Fields) > 0 {
		return "changed again since" + whichFields(c.Kind, c.Fields)
	}
	reason := idWithKind.ReplaceAllString(c.Reason, "$1")
	return idPattern.ReplaceAllStringFunc(reason, func(objectID string) string {
		prefix, _, _ := strings.Cut(objectID, "_")
		return map[string]string{
			id.Connection: "somebody", id.Note: "a note", id.Interaction: "an interaction", id.Group: "a group",
			id.Reminder: "a reminder", id.Relationship: "a relation",
		}[prefix]
	})
}

// idPattern finds the ids of objects in a reason, idWithKind those that are followed by
// the kind of the object.
var (
	idPattern  = regexp.MustCompile(`\b(?:con|not|int|grp|rem|rel)_[0-9A-Z]{26}\b`)
	idWithKind = regexp.MustCompile(idPattern.String() + ` is (an? )`)
)

func objectIDs(reason string) []string { return idPattern.FindAllString(reason, -1) }

// whichFields names fields in words for people, after a sentence about them. A page.Field
// that is not in the list keeps the name that tools use. A membership has only one
// field.
func whichFields(kind string, fields []string) string {
	if kind == history.Membership || len(fields) == 0 {
		return ""
	}
	special := map[string]string{
		"archived_at": "whether it is archived", "avatar_url": "picture", "body": "text", "cadence_days": "how often to be in touch",
		"connection_id": "whom it is about", "connection_ids": "whom it is about", "due_on": "due date", "duration_minutes": "how long it took",
		"emails": "e-mail addresses", "field_visibility": "who sees what", "from_id": "who is related",
		"handles": "addresses", "listed": "whether it is listed", "location_text": "place", "merged_into": "whom it was merged into",
		"met_how": "how you met", "met_on": "when you met", "occurred_at": "when it was", "organization": "organisation", "phones": "phone numbers",
		"positions": "job", "snoozed_until": "until when it is snoozed", "starts_on": "first date", "timezone": "time zone", "to_id": "who is related", "urls": "links",
		"visibility": "who sees it",
	}
	var words []string
	for _, name := range fields {
		word, ok := special[name]
		if !ok {
			word = strings.ReplaceAll(name, "_", " ")
		}
		if !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return " (" + strings.Join(words, ", ") + ")"
}
