package arguments

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/kith-crm/kith/backend/internal/text"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// unknownField says that there is no field with a name, and which field may be meant, or
// which fields there are.
func unknownField(parent, name string, fields protoreflect.FieldDescriptors) string {
	out := fmt.Sprintf("%q is not an argument of this tool", text.Truncate(name, maxShown))
	if parent != "" {
		out = fmt.Sprintf("%q is not a field of %s", text.Truncate(name, maxShown), parent)
	}
	if near := cmp.Or(nearest(name, fields), synonym(name, fields)); near != "" {
		return fmt.Sprintf("%s; did you mean %q?", out, near)
	}
	if setter := setters[plain(name)]; setter != "" && parent == "" {
		return fmt.Sprintf("%s; %s", setter, out)
	}
	if fields.Len() == 0 {
		return out + "; it takes none"
	}
	return out + "; there are " + listed(fields)
}

// listed returns the names of fields, and how many more there are when they are too many
// for one answer.
func listed(fields protoreflect.FieldDescriptors) string {
	const most = 180 // characters
	var out string
	for i := range fields.Len() {
		name := string(fields.Get(i).Name())
		switch {
		case i == 0:
			out = name
		case len(out)+len(name) > most:
			return fmt.Sprintf("%s and %d more in tools/list", out, fields.Len()-i)
		default:
			out += ", " + name
		}
	}
	return out
}

// neighbours are the fields that have the value of an argument of another tool, in the same form.
var neighbours = map[string][]string{
	"connection_id": {"connection_ids"}, "id": {"ids"}, "cadence_days": {"days"}, "days": {"cadence_days"}, "date": {"occurred_at"}, "occurred_at": {"date"},
	"due_date": {"due_on"},
}

// neighbour returns the field that a caller means by an argument of another tool, and the value in the
// form of that field; nil when there is none. A birthday is an important date.
func neighbour(name string, value json.RawMessage, fields protoreflect.FieldDescriptors) (protoreflect.FieldDescriptor, json.RawMessage) {
	for _, other := range neighbours[name] {
		if fd := fields.ByName(protoreflect.Name(other)); fd != nil {
			return fd, value
		}
	}
	if name != "birthday" || kindOf(value) != "a string" {
		return nil, value
	}
	for _, dates := range []protoreflect.Name{"add_important_dates", "important_dates"} {
		if fd := fields.ByName(dates); fd != nil {
			return fd, fmt.Appendf(nil, `[{"kind":"birthday","date":%s}]`, value)
		}
	}
	return nil, value
}

// setters say which tool sets what other tools have no argument for.
var setters = map[string]string{
	"cadence": "set_cadence sets how often to be in touch, in days", "cadencedays": "set_cadence sets how often to be in touch, in days",
	"birthday": "update_connection sets it, in important_dates", "reminder": "create_reminder sets one", "remindon": "create_reminder sets one",
	"groups": "update_membership changes them, in add_groups and remove_groups", "addgroups": "update_membership changes them, in add_groups and remove_groups",
	"relationship": "link_connections sets it", "archived": "archive_connections sets it",
}

// synonyms are the fields that callers mean by names of other products, the first that a
// tool has.
var synonyms = map[string][]string{
	"q": {"query"}, "search": {"query"}, "keywords": {"query"}, "text": {"query", "body"}, "firstname": {"query", "name"}, "lastname": {"query", "name"},
	"fullname": {"name", "query"}, "email": {"query"}, "phone": {"query"}, "city": {"location"}, "place": {"location"}, "address": {"location"},
	"employer": {"company", "organization"}, "company": {"organization"}, "role": {"title"}, "jobtitle": {"title"}, "category": {"tag"}, "label": {"tag"},
	"contact": {"connection_id", "connection_ids", "id"}, "contactid": {"connection_id", "connection_ids", "id"}, "contactids": {"connection_ids", "ids"},
	"person": {"connection_id", "connection_ids", "id"}, "personid": {"connection_id", "connection_ids", "id"}, "people": {"connection_ids", "ids"},
	"content": {"body", "summary"}, "note": {"body", "summary"}, "notes": {"summary", "bio"}, "description": {"summary", "bio"}, "message": {"text", "body"},
	"date": {"occurred_at", "due_on", "met_on"}, "time": {"occurred_at", "due_on"}, "when": {"occurred_at", "due_on"}, "duedate": {"due_on"},
	"type": {"kind"}, "frequency": {"days"}, "interval": {"days"}, "duration": {"duration_minutes"}, "max": {"limit"}, "count": {"limit"}, "pagesize": {"limit"},
	"page": {"cursor"}, "offset": {"cursor"}, "orderby": {"sort"}, "from": {"since"}, "to": {"until"},
	"since": {"last_contact_after"}, "until": {"last_contact_before"}, "before": {"until"}, "after": {"since"},
}

// nearest returns the field that a name may be a misspelling of: the name differs in case
// or by few edits, or is the beginning or end of the field's name. It is empty when there
// is none.
func nearest(name string, fields protoreflect.FieldDescriptors) string {
	wanted, best, least := plain(name), "", 0
	for i := range fields.Len() {
		field := string(fields.Get(i).Name())
		has := plain(field)
		limit := max(len(has), len(wanted)) / 3
		edits := text.Distance([]rune(wanted), has, limit)
		near := edits <= limit || partOf(wanted, has) || partOf(has, wanted)
		if near && (best == "" || edits < least) {
			best, least = field, edits
		}
	}
	return best
}

// synonym returns the field that is meant by another product's name; empty when there is
// none.
func synonym(name string, fields protoreflect.FieldDescriptors) string {
	for _, field := range synonyms[plain(name)] {
		if fields.ByName(protoreflect.Name(field)) != nil {
			return field
		}
	}
	return ""
}

// plain returns a name with nothing but its letters and digits.
func plain(name string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(name))
}

// partOf reports whether a long text begins or ends with a short one.
func partOf(short, long string) bool {
	return len(short) > 1 && (strings.HasPrefix(long, short) || strings.HasSuffix(long, short))
}
