package rpc_test

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/account"
	"pgregory.net/rapid"
)

// speaker draws one member's tool calls. Most of them match the schemas.
type speaker struct {
	rt        *rapid.T
	own       *vocabulary
	others    *vocabulary
	dataOwner dataOwner
}

// dataOwner says whose ids and words a call uses.
type dataOwner int

// Whose data the arguments of a call name: callersData is the caller's own, othersData another
// member's wherever an argument allows it, and mixed some of both.
const (
	callersData dataOwner = iota
	othersData
	mixed
)

// arguments draws the arguments of a tool, as JSON.
func (s *speaker) arguments(tool string, input *schema) string {
	object := s.object(tool, input)
	if s.dataOwner != mixed {
		s.helpAlong(tool, input, object)
	}
	if s.upTo(19, "broken") == 19 {
		s.spoil(object)
	}
	data, err := json.Marshal(object)
	if err != nil {
		s.rt.Fatal(err)
	}
	return string(data)
}

// helpAlong fixes arguments that match the schemas but would make most calls fail.
func (s *speaker) helpAlong(tool string, input *schema, object map[string]any) {
	if of, ok := object["id"].(string); ok && object["confirm_name"] != nil && s.upTo(3, "named") == 0 {
		object["confirm_name"] = s.own.nameOf(of)
	}
	if input.Properties["dry_run"] != nil && rapid.Bool().Draw(s.rt, "in earnest") {
		object["dry_run"] = false
	}
	if input.Properties["selection"] != nil && object["selection"] == nil && object["pairs"] == nil {
		s.giveAll(tool, input, object, "connection_ids", "ids", "into_id", "from_ids") // none is required beside it
	}
	if tool == "update_membership" && s.upTo(3, "tag") > 0 {
		s.giveAll(tool, input, object, "add_tags") // one of four lists is required
	}
	if from, ok := object["from_ids"].([]any); ok && len(from) > 1 {
		object["from_ids"] = slices.DeleteFunc(from, func(id any) bool { return id == object["into_id"] })
	}
	delete(object, "wait_seconds") // unknownID works on jobs here
	if tool == "import_file" {     // pass the file in one way, and let the tool detect its format
		for _, other := range []string{kindBytes, "upload_id", kindCharset, "format"} {
			delete(object, other)
		}
		object[kindFile] = s.value(tool, kindFile, input.Properties[kindFile])
	}
	if change := input.Properties["change_id"]; change != nil {
		object["change_id"] = s.value(tool, "change_id", change)
		delete(object, "import_id")
	}
	if tool == "search_connections" && s.upTo(2, "few filters") > 0 { // most values of these are refused
		for _, filter := range []string{"company", "tag", "group", "country", "born", "job_started", "job_ended", "met_through", "met_on_after", "met_on_before", "fields", "sort_field", "mode", "min_score"} {
			delete(object, filter)
		}
	}
	// Random values of these fields seldom match the state, so they are mostly left out.
	for _, guard := range []string{"expected_version", "due_on", "cursor"} {
		if !slices.Contains(input.Required, guard) && s.upTo(3, "leave out "+guard) < 3 {
			delete(object, guard)
		}
	}
}

// giveAll sets those of the fields that the tool has and the object lacks. Lists get one entry.
func (s *speaker) giveAll(tool string, input *schema, object map[string]any, fields ...string) {
	for _, name := range fields {
		field := input.Properties[name]
		if list, _ := object[name].([]any); field == nil || object[name] != nil && (field.Type != "array" || len(list) > 0) {
			continue
		}
		if field.Type != "array" {
			object[name] = s.value(tool, name, field)
			continue
		}
		object[name] = []any{s.value(tool, name, field.Items)}
	}
}

// spoil breaks an object: a field of a wrong type, or an unknown field.
func (s *speaker) spoil(object map[string]any) {
	name := rapid.SampledFrom(append(slices.Sorted(maps.Keys(object)), "tenant_id")).Draw(s.rt, "spoilt")
	object[name] = rapid.SampledFrom([]any{7, "", []any{}, map[string]any{}}).Draw(s.rt, "spoil")
}

func (s *speaker) upTo(most int, label string) int {
	return rapid.IntRange(0, most).Draw(s.rt, label)
}

func (s *speaker) object(tool string, of *schema) map[string]any {
	out := map[string]any{}
	density := rapid.IntRange(1, 3).Draw(s.rt, "density")
	if s.dataOwner == othersData {
		density = 3
	}
	for _, name := range slices.Sorted(maps.Keys(of.Properties)) {
		field := of.Properties[name]
		needed := slices.Contains(of.Required, name) || field.MinItems > 0
		if name == "selection" && s.dataOwner != othersData {
			continue // it can't be combined with ids, and the test has only selections of other members
		}
		if needed || s.upTo(3, "leave out "+name) < density {
			out[name] = s.value(tool, name, field)
		}
	}
	return out
}

func (s *speaker) value(tool, name string, of *schema) any {
	switch of.Type {
	case "object":
		return s.object(tool, of)
	case "array":
		return s.list(tool, name, of)
	case "boolean":
		return rapid.Bool().Draw(s.rt, name)
	case "integer":
		return s.number(name, of)
	case "number":
		return *of.Minimum + (*of.Maximum-*of.Minimum)*float64(s.upTo(4, name))/4
	case "string":
		return s.text(tool, name, of)
	default:
		s.rt.Fatalf("%s.%s: there is no generator for the type %q", tool, name, of.Type)
		return nil
	}
}

func (s *speaker) list(tool, name string, of *schema) []any {
	out := []any{}
	for range rapid.IntRange(of.MinItems, of.MinItems+2).Draw(s.rt, "entries of "+name) {
		v := s.value(tool, name, of.Items)
		if text, ok := v.(string); !of.UniqueItems || !ok || !slices.Contains(out, any(text)) {
			out = append(out, v)
		}
	}
	return out
}

// number draws one that is small for its bounds, such as a version, or the largest.
func (s *speaker) number(name string, of *schema) int {
	const small = 4
	low, high := 0, 1<<31-1
	if of.Minimum != nil {
		low = int(*of.Minimum)
	}
	if of.Maximum != nil {
		high = int(*of.Maximum)
	}
	n := low + s.upTo(min(small, high-low), name)
	if n == low+small {
		return high
	}
	return n
}

func (s *speaker) text(tool, name string, of *schema) string {
	if len(of.Enum) > 0 {
		return rapid.SampledFrom(of.Enum).Draw(s.rt, name)
	}
	if name == "missing" { // the words of has; the contract does not repeat them
		return rapid.SampledFrom([]string{"email", "phone", "birthday", "note", "tag", "organization"}).Draw(s.rt, name)
	}
	kind := kindOf(tool, name, of)
	from := slices.DeleteFunc(slices.Clone(s.words(kind, name)), func(word string) bool { return !of.takes(word) })
	if len(from) > 0 {
		return rapid.SampledFrom(from).Draw(s.rt, name)
	}
	word := s.own.coin(kind)
	if !of.takes(word) {
		s.rt.Fatalf("%s.%s: %q does not meet its schema: give the generator a kind of text that does", tool, name, word)
	}
	return word
}

// words returns the words that a text is chosen from; none for a new one.
func (s *speaker) words(kind, name string) []string {
	if slices.Contains([]string{kindDay, kindYearDay, kindTime, kindRegion, kindCharset, account.FieldTimezone, account.FieldLocale}, kind) {
		return unknownOf(kind)
	}
	switch n := s.upTo(9, "whose "+name); {
	case s.dataOwner == callersData && (n < 8 || isID(kind+unknownID)):
		return s.own.alive(kind)
	case s.dataOwner == mixed && n < 4:
		return s.own.of(kind)
	case s.dataOwner == othersData && n < 9, s.dataOwner == mixed && n < 7:
		return s.others.shown(kind)
	case n < 9:
		return unknownOf(kind)
	default:
		return nil
	}
}

// The kinds of text that are not named after an id's prefix or a field.
const (
	kindAnyID = "any id"
	kindEntry = "note or interaction"
	kindAny   = "anything"
	kindDay   = "day"
	kindTime  = "time"
	kindEmail = "email"
	kindPhone = "phone"
	kindURL   = "url"
	kindTag   = "tag"
	kindGroup = "group"
	kindFile  = "content"
	kindBytes = "content_base64"

	kindYearDay = "day of the year"
	kindRegion  = "default_region"
	kindCharset = "charset"
)

var oneID = regexp.MustCompile(`^\^([a-z]{3}_)`)

// kindOf says which texts a field takes: those of other fields of its kind, too.
func kindOf(tool, field string, of *schema) string {
	if m := oneID.FindStringSubmatch(of.Pattern); m != nil {
		return m[1]
	}
	switch {
	case strings.HasPrefix(of.Pattern, "^[a-z]{3}_"):
		return kindAnyID
	case strings.HasPrefix(of.Pattern, "^(not|int)_"):
		return kindEntry
	case strings.Contains(of.Pattern, "T[0-9]"):
		return kindTime
	case strings.Contains(of.Pattern, "[0-9]{4}"):
		return kindDay
	case tool == "save_group" && field == "name":
		return kindGroup
	case tool == "update_organization" && strings.HasSuffix(field, "name"):
		return "organization"
	case tool == "rename_tag":
		return kindTag
	case field == "birthday_between":
		return kindYearDay
	}
	for kind, fields := range map[string][]string{
		kindAny:        {"query", "entries", "topic"},
		kindEmail:      {"emails", "add_emails", "remove_emails"},
		kindPhone:      {"phones", "add_phones", "remove_phones"},
		kindURL:        {"urls", "add_urls", "remove_urls"},
		kindTag:        {"tags", "add_tags", "remove_tags"},
		kindGroup:      {"add_groups", "remove_groups"},
		"organization": {"company"},
		"name":         {"confirm_name", "nickname"},
	} {
		if slices.Contains(fields, field) {
			return kind
		}
	}
	return field
}
