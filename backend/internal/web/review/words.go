package review

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/groups"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/text"
)

// recorded are the fields of a recorded state that name an object to people. A state
// may have none of them.
type recorded struct {
	Name          string   `json:"name"`
	Text          string   `json:"text"`
	Body          string   `json:"body"`
	Summary       string   `json:"summary"`
	FromID        string   `json:"from_id"`
	ToID          string   `json:"to_id"`
	FirstID       string   `json:"first_id"`
	SecondID      string   `json:"second_id"`
	ConnectionIDs []string `json:"connection_ids"`
}

// recordedOf returns the fields that name the object of an effect; the later state counts.
func recordedOf(e history.Effect) (r recorded) {
	for _, state := range []json.RawMessage{e.Before, e.After} {
		if len(state) > 0 {
			_ = json.Unmarshal(state, &r) // a state of another shape has no name for people
		}
	}
	return r
}

// objectNames are the names of the people and groups that exist, by id. gone are the names of people
// who are in the bin or deleted, as the shown changes recorded them.
type objectNames struct{ people, groups, gone map[string]string }

// deletedPerson stands for the name of a person that is not known any more.
const deletedPerson = "a deleted person"

// person returns the name of a person; empty if not known.
func (n objectNames) person(connectionID string) string {
	return cmp.Or(n.people[connectionID], n.gone[connectionID])
}

// maxNamed is how many people one page looks up.
const maxNamed = 1000

// namesOf looks up the people and the groups that effects name: at most two statements. Those who are
// gone have the name that a change of whole recorded.
func (v *request) namesOf(effects []history.Effect, whole ...history.Change) (objectNames, error) {
	var persons []string
	names, inGroups := objectNames{groups: map[string]string{}, gone: map[string]string{}}, false
	for _, e := range effects {
		persons = append(persons, e.ID)
		for _, state := range []json.RawMessage{e.Before, e.After} {
			persons = append(persons, idPattern.FindAllString(string(state), -1)...)
		}
		inGroups = inGroups || e.Kind == history.Membership
	}
	persons = slices.DeleteFunc(persons, func(one string) bool { return !id.Valid(id.Connection, one) })
	slices.Sort(persons)
	persons = slices.Compact(persons)
	var err error
	if names.people, err = people.ListNames(v.Ctx, v.Data(), persons[:min(len(persons), maxNamed)]); err != nil {
		return names, err
	}
	for _, c := range whole {
		for _, e := range c.Effects {
			if _, wanted := slices.BinarySearch(persons, e.ID); wanted && e.Kind == history.Connection && names.person(e.ID) == "" {
				names.gone[e.ID] = recordedOf(e).Name
			}
		}
	}
	if !inGroups {
		return names, nil
	}
	all, err := groups.ListGroups(v.Ctx, v.Data())
	for _, g := range all {
		names.groups[g.ID] = g.Name
	}
	return names, err
}

// maxName is how much of a note is shown as its name, in characters.
const maxName = 60

// nameOf returns what people call an object: people by their stored name, all others by what
// was recorded; empty if not known.
func (n objectNames) nameOf(objectID string, r recorded) string {
	for _, two := range [][2]string{{r.FromID, r.ToID}, {r.FirstID, r.SecondID}} {
		if two[0] != "" && two[1] != "" {
			return cmp.Or(n.person(two[0]), deletedPerson) + " and " + cmp.Or(n.person(two[1]), deletedPerson)
		}
	}
	for _, name := range []string{n.person(objectID), r.Name, r.Text, r.Body, r.Summary} {
		if name = text.Line(name); name != "" {
			return text.Truncate(name, maxName)
		}
	}
	if id.Valid(id.Connection, objectID) { // such as the groups of a person who is gone
		return deletedPerson
	}
	return ""
}

// effectRow is one object of an undo.
type effectRow struct {
	// Kind is the kind of object, Name what the member calls it; empty if not known.
	Kind, Name string
	Text       string
}

// effectRow returns an object of an undo with words about it.
func (n objectNames) effectRow(kind, objectID string, effects []history.Effect, words string) effectRow {
	var r recorded
	for _, e := range effects {
		if e.Kind == kind && e.ID == objectID {
			r = recordedOf(e)
		}
	}
	return effectRow{Kind: kindWord(kind), Name: n.nameOf(objectID, r), Text: words}
}

// kindWord returns the word for a kind of object.
func kindWord(kind string) string {
	words := map[string]string{
		history.Connection: "Person", history.Membership: "Groups of", history.Organization: "Organisation", history.Note: "Note",
		history.Interaction: "Interaction", history.Group: "Group", history.Reminder: "Reminder",
		history.Relationship: "Relation", history.DistinctPair: "Not the same", history.Profile: "Your profile", history.Settings: "Your settings", history.Field: "Custom field",
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
			id.Connection: "a person", id.Note: "a note", id.Interaction: "an interaction", id.Group: "a group",
			id.Reminder: "a reminder", id.Relationship: "a relation", id.DistinctPair: "a pair of people", id.Field: "a custom field",
		}[prefix]
	})
}

// idPattern finds the ids of objects in a reason, idWithKind those that are followed by
// the kind of the object.
var (
	idPattern  = regexp.MustCompile(`\b(?:con|not|int|grp|rem|rel|dis|fld)_[0-9a-z]{1,10}\b`)
	idWithKind = regexp.MustCompile(idPattern.String() + ` is (an? )`)
)

// whichFields names fields in words for people, after a sentence about them. A field
// that is not in the list keeps the name that tools use. A membership has only one
// field.
func whichFields(kind string, fields []string) string {
	if kind == history.Membership || len(fields) == 0 {
		return ""
	}
	var words []string
	for _, name := range fields {
		if word := fieldWord(name); !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return " (" + strings.Join(words, ", ") + ")"
}

// fieldWord returns the words for a field, as tools spell it.
func fieldWord(name string) string {
	special := map[string]string{
		"archived_at": "whether it is archived", "avatar_url": "picture", "body": "text", "cadence_days": "how often to be in touch",
		"connection_ids": "whom it is about", "deceased_on": "day of death", "due_on": "due date", "duration_minutes": "how long it took",
		"emails": "e-mail addresses", "field_visibility": "who sees what", "from_id": "who is related",
		"listed": "whether it is listed", "location_text": "place", "kept": "what is kept of cards", "merged_into": "whom it was merged into",
		"met_how": "how you met", "met_on": "when you met", "occurred_at": "when it was", "organization": "organisation", "phones": "phone numbers", "related": "relations to people who are not in Kith",
		"positions": "job", "snoozed_until": "until when it is snoozed", "starts_on": "first date", "timezone": "time zone", "to_id": "who is related", "urls": "links",
		"visibility": "who sees it",
	}
	if word, ok := special[name]; ok {
		return word
	}
	return strings.ReplaceAll(name, "_", " ")
}
