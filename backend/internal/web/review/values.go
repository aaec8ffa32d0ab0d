package review

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// objectRow is what a change did to one object, in words for people.
type objectRow struct {
	// Kind is the kind of object, Name what the member calls it; empty if not known. Path
	// leads to the page of a person who exists; empty for others.
	Kind, Name, Path string
	// Did says what happened.
	Did    string
	Fields []fieldRow
}

// fieldRow is a field that was changed, with its values before and after in words for
// people; empty for none.
type fieldRow struct{ Label, Before, After string }

// objectRow returns one object of a change. Values are cut off after so many characters.
func (v *request) objectRow(names *objectNames, o history.Object, e history.Effect, most int) objectRow {
	r := recordedOf(e)
	row := objectRow{Kind: kindWord(o.Kind), Name: names.nameOf(o.ID, r), Did: actionWord(o.Action)}
	if names.people[o.ID] != "" {
		row.Path = v.To(page.PathPeople + "/" + o.ID)
	}
	if about := v.about(names, r); about != "" { // the text is among the fields
		row.Name = "about " + about
	}
	for _, f := range e.Changed() {
		whole := f.Before == nil || f.After == nil
		if hiddenField(f.Name) || whole && (f.Name == "connection_ids" || f.Name == "name" && row.Name != "") {
			continue // they are in the name of the object
		}
		row.Fields = append(row.Fields, fieldRow{
			Label: fieldWord(f.Name), Before: text.Truncate(v.words(names, f.Name, f.Before), most), After: text.Truncate(v.words(names, f.Name, f.After), most),
		})
	}
	return row
}

// about returns the names of the people whom a note, an interaction or a reminder is about.
func (v *request) about(names *objectNames, r recorded) string {
	var out []string
	for _, connectionID := range r.ConnectionIDs {
		if name := names.person(connectionID); name != "" {
			out = append(out, name)
		}
	}
	return strings.Join(out, ", ")
}

// hiddenField reports whether a field is hidden, because its value means nothing to people.
func hiddenField(name string) bool {
	switch name {
	case "external_key", "normal_name", "source_keys", "member_id":
		return true
	}
	return false
}

// actionWord says what happened to an object.
func actionWord(action string) string {
	switch action {
	case history.ActionCreated:
		return "added"
	case history.ActionRestored:
		return "brought back"
	case history.ActionRemoved:
		return "removed"
	case history.ActionUpdated:
		return "changed"
	}
	return action // archived and merged are words for people
}

// words returns a recorded value in words for people; empty for none.
func (v *request) words(names *objectNames, field string, value any) string {
	switch x := value.(type) {
	case string:
		if field == "photo" && x != "" {
			return "a photo" // its id means nothing to people
		}
		return v.stringWords(names, x)
	case bool:
		if x {
			return "yes"
		}
		return "no"
	case float64:
		number := strconv.FormatFloat(x, 'f', -1, 64)
		if _, unit, found := strings.Cut(field, "_"); found && (unit == "days" || unit == "minutes") {
			return number + " " + unit
		}
		return number
	case []any:
		var parts []string
		for _, item := range x {
			if part := v.words(names, field, item); part != "" {
				parts = append(parts, part)
			}
		}
		return strings.Join(parts, ", ")
	case map[string]any:
		return v.recordWords(names, field, x)
	}
	return ""
}

// stringWords returns the name of what an id stands for, a time in the member's time zone,
// and all other text as it is.
func (v *request) stringWords(names *objectNames, s string) string {
	switch {
	case id.Valid(id.Connection, s):
		return cmp.Or(names.person(s), deletedPerson)
	case id.Valid(id.Group, s):
		if name := names.groups[s]; name != "" {
			return name
		}
		return "a deleted group"
	}
	if at, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return v.Format().Clock(at.In(v.Zone))
	}
	return s
}

// withLabel returns a value with its label behind it, if it has one.
func withLabel(value, label string) string {
	if label == "" {
		return value
	}
	return value + " (" + label + ")"
}

// recordWords returns one entry of a list: an address, a job, a date, or another.
func (v *request) recordWords(names *objectNames, field string, record map[string]any) string {
	part := func(key string) string { s, _ := record[key].(string); return s }
	number := func(key string) int { n, _ := record[key].(float64); return int(n) }
	switch field {
	case "emails", "phones", "urls", "handles":
		return withLabel(part("value"), part("label"))
	case "kept":
		return part("name")
	case "related":
		return strings.ReplaceAll(people.Relation{Type: part("type"), Label: part("label")}.Word(), "_", " ") + ": " + part("name")
	case "accounts":
		return strings.TrimSpace(people.Account{Service: part("service")}.Shown() + " " + part("handle"))
	case "addresses":
		return strings.ReplaceAll(people.Address{
			Label: part("label"), Street: part("street"), Locality: part("locality"), Region: part("region"), Postcode: part("postcode"), Country: part("country"), Text: part("text"),
		}.String(), "\n", ", ")
	case "positions":
		words := strings.Join(slices.DeleteFunc([]string{part("title"), part("organization")}, func(s string) bool { return s == "" }), " at ")
		if from, to := part("started_on"), part("ended_on"); from+to != "" {
			words += " (" + v.Format().PartialDay(from) + "–" + v.Format().PartialDay(to) + ")"
		}
		return words
	case "dates":
		label := part("label")
		if label == "" {
			label = part("kind")
		}
		about, _ := record["about"].(bool)
		return label + " " + v.Format().PartialDay(people.ImportantDate{Year: number("year"), Month: number("month"), Day: number("day"), About: about}.String())
	}
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(record)) {
		if words := v.words(names, field, record[key]); words != "" && key != "id" {
			parts = append(parts, words)
		}
	}
	return strings.Join(parts, " ")
}
