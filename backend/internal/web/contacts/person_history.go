package contacts

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/web/page"
	accountv1 "github.com/kith-crm/kith/proto/gen/kith/account/v1"
	organizev1 "github.com/kith-crm/kith/proto/gen/kith/organize/v1"
)

// writingRow says who wrote a fact, and when.
type writingRow struct {
	Label, Before, After string
	// Who is the name of the agent or token; empty for the member.
	Who  string
	Tool string
	At   time.Time
}

// maxWritings is how many changes are searched for those of a section.
const maxWritings = 50

// recordedField is a field of a recorded state.
type recordedField struct{ name, label string }

// recordedFields are the fields of the states of a person that a section shows.
func recordedFields(section string) []recordedField {
	return map[string][]recordedField{
		sectionName: {
			{"name", "Name"}, {"nickname", "Nickname"}, {"location", "Place"}, {"met_how", "How you met"}, {"met_on", "When you met"}, {"deceased_on", "Died"}, {"starred", "Starred"},
			{"archived_at", "Archived"},
		},
		sectionParts:     {{"name_parts", "Parts of the name"}},
		sectionWays:      {{"handles", "Ways to reach them"}},
		sectionAccounts:  {{"accounts", "Messengers and networks"}},
		sectionAddresses: {{"addresses", "Addresses"}},
		sectionPositions: {{"positions", "Positions"}},
		sectionDates:     {{"dates", "Dates"}},
		sectionGroups:    {{"tags", "Tags"}, {"groups", "Groups"}},
		sectionCadence:   {{"cadence_days", "Days between contacts"}, {"snoozed_until", "Not before"}},
		sectionFields:    {{"fields", "Custom fields"}},
		sectionAbout:     {{"bio", "About"}, {"kept", "From files"}},
		sectionRelations: {{"type", "Relation"}, {"related", "Not in Kith"}},
	}[section]
}

// writings returns who wrote what a section shows, the latest first, from the changes that
// list_changes finds for the person.
func (v *request) writings(connectionID, section string) ([]writingRow, error) {
	fields := recordedFields(section)
	if fields == nil {
		return nil, noSuchThing()
	}
	found, err := v.Changes.ListChanges(v.Ctx, &accountv1.ListChangesRequest{ConnectionId: &connectionID, Limit: new(int32(maxWritings))})
	if err != nil || len(found.GetChanges()) == 0 {
		return nil, err
	}
	ids := people.IDs(found.GetChanges(), (*accountv1.Change).GetId)
	changes, err := history.ListChanges(v.Ctx, v.Data(), history.Query{IDs: ids, Limit: len(ids)})
	if err != nil {
		return nil, err
	}
	r := reader{connectionID: connectionID, section: section, zone: v.Zone, format: v.Format()}
	if r.names, err = v.namesFor(section, changes); err != nil {
		return nil, err
	}
	var rows []writingRow
	for _, c := range changes {
		for _, e := range c.Effects {
			for _, f := range fields {
				row := writingRow{Label: f.label, Before: r.value(e, e.Before, f.name), After: r.value(e, e.After, f.name), At: c.CreatedAt.In(v.Zone)}
				if row.Before == row.After {
					continue
				}
				if c.CredentialID != "" || c.CredentialName != "" {
					row.Who = cmp.Or(oauth.ShownName(c.CredentialName), "an application without a name")
					row.Tool = strings.ReplaceAll(c.Tool, "_", " ")
				}
				rows = append(rows, row)
			}
		}
	}
	return rows, nil
}

// namesFor returns the names of the objects that states of the section name by ids.
func (v *request) namesFor(section string, changes []history.Change) (map[string]string, error) {
	names := map[string]string{}
	switch section {
	case sectionGroups:
		list, err := v.Groups.ListGroups(v.Ctx, &organizev1.ListGroupsRequest{})
		for _, g := range list.GetGroups() {
			names[g.GetId()] = g.GetName()
		}
		return names, err
	case sectionRelations:
		var ids []string
		for _, c := range changes {
			for _, e := range c.Effects {
				for _, state := range []json.RawMessage{e.Before, e.After} {
					var r people.Relationship
					if e.Kind == history.Relationship && json.Unmarshal(state, &r) == nil {
						ids = append(ids, r.FromID, r.ToID)
					}
				}
			}
		}
		return people.ListNames(v.Ctx, v.Data(), slices.DeleteFunc(distinct(ids), func(one string) bool { return !id.Valid(id.Connection, one) }))
	}
	return names, nil
}

// reader shows recorded states of a person in words.
type reader struct {
	connectionID, section string
	zone                  *time.Location
	format                page.Format
	names                 map[string]string
}

// value returns a field of a state in words; empty if the state has no such value, or is of
// another object.
func (r reader) value(e history.Effect, recorded json.RawMessage, field string) string {
	switch {
	case len(recorded) == 0:
		return ""
	case e.Kind == history.Relationship && field == "type":
		return r.relation(recorded)
	case e.ID != r.connectionID || e.Kind != history.Connection && e.Kind != history.Membership:
		return ""
	}
	var state map[string]json.RawMessage
	if json.Unmarshal(recorded, &state) != nil || len(state[field]) == 0 {
		return ""
	}
	return r.words(field, state[field])
}

// words returns a value in words; empty if the value does not have the field's type.
func (r reader) words(field string, value json.RawMessage) string {
	switch field {
	case "handles":
		return joinRecorded(value, func(h people.Handle) string {
			if h.Label != "" {
				return h.Value + " (" + h.Label + ")"
			}
			return h.Value
		})
	case "name_parts":
		return namePartWords(value)
	case "fields":
		return joinRecorded(value, func(f people.FieldValue) string { return f.Name + ": " + f.Value })
	case "kept":
		return joinRecorded(value, func(k people.Kept) string { return k.Name })
	case "accounts":
		return joinRecorded(value, func(a people.Account) string { return a.Shown() + " " + a.Handle })
	case "related":
		return joinRecorded(value, func(other people.Relation) string {
			return strings.ReplaceAll(other.Word(), "_", " ") + ": " + other.Name
		})
	case "addresses":
		return joinRecorded(value, func(a people.Address) string { return strings.ReplaceAll(a.String(), "\n", ", ") })
	case "positions":
		return joinRecorded(value, positionWords)
	case "dates":
		return joinRecorded(value, func(d people.ImportantDate) string {
			return strings.TrimSpace(cmp.Or(d.Label, d.Kind) + " " + d.String())
		})
	case "tags":
		return joinRecorded(value, func(tag string) string { return tag })
	case "groups":
		return joinRecorded(value, func(group string) string { return cmp.Or(r.names[group], "a deleted group") })
	}
	var decoded any
	if json.Unmarshal(value, &decoded) != nil {
		return ""
	}
	switch typed := decoded.(type) {
	case string:
		if at, err := time.Parse(time.RFC3339, typed); err == nil {
			if at.IsZero() {
				return ""
			}
			return r.format.Day(at.In(r.zone))
		}
		return typed
	case bool:
		return map[bool]string{true: "yes"}[typed]
	case float64:
		return map[bool]string{true: fmt.Sprint(typed)}[typed != 0]
	}
	return ""
}

func namePartWords(value json.RawMessage) string {
	var parts people.NameParts
	if json.Unmarshal(value, &parts) != nil {
		return ""
	}
	var words []string
	for _, part := range parts.All() {
		if *part.Value != "" {
			words = append(words, part.Label+": "+*part.Value)
		}
	}
	return strings.Join(words, ", ")
}

func joinRecorded[T any](value json.RawMessage, words func(T) string) string {
	var list []T
	if json.Unmarshal(value, &list) != nil {
		return ""
	}
	return strings.Join(people.IDs(list, words), ", ")
}

func positionWords(p people.Position) string {
	words := p.Headline()
	if p.StartedOn != "" || p.EndedOn != "" {
		words += " (" + p.StartedOn + "–" + p.EndedOn + ")"
	}
	return words
}

func (r reader) relation(recorded json.RawMessage) string {
	var held people.Relationship
	if json.Unmarshal(recorded, &held) != nil || held.FromID != r.connectionID && held.ToID != r.connectionID {
		return ""
	}
	other := held.SeenFrom(r.connectionID)
	return strings.ReplaceAll(other.Word(), "_", " ") + ": " + cmp.Or(r.names[other.ConnectionID], "a deleted person")
}
