package arguments

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/kith-crm/kith/backend/internal/id"
)

// kinds are the objects that ids stand for, what returns the ids, and a tool that takes
// them.
var kinds = map[string]struct{ name, from, to string }{
	id.Connection:  {"a connection", "search_connections returns ids", "get_connection"},
	id.Note:        {"a note", "search_notes and list_timeline return ids", "update_note"},
	id.Interaction: {"an interaction", "list_timeline returns ids", "update_interaction"},
	id.Group:       {"a group", "list_groups returns ids", "save_group"},
	id.Reminder:    {"a reminder", "list_due returns ids", "update_reminder"},
	id.Change:      {"a change", "list_changes returns ids", "undo_change"},
	id.Import:      {"an import", "get_job of an import returns ids", "undo_change"},
	id.File:        {"a file", "uploads on the settings page return ids", "import_file"},
}

// formats are the words for the patterns of the contract that are not ids.
var formats = map[string]string{
	`^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$`:                                                                             "be a day such as 2026-11-20",
	`^([0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01]))?$`:                                                                          "be a day such as 2026-11-20, or empty",
	`^([0-9]{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12][0-9]|3[01]))?)?)?$`:                                                                    "be a date such as 2026-11-20, 2026-11 or 2026, or empty",
	`^([0-9]{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12][0-9]|3[01]))?)?|--(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])|about [0-9]{4}|[0-9]{4}~)$`: "be a date such as 1990-05-17, --05-17 without the year, 1990-05, 1990 or about 1990",
	`^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])(T[0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?(Z|[+-][0-9]{2}:[0-9]{2})?)?$`:      "be a day such as 2026-11-20 or a time such as " + exampleTime,
	`^[0-9]{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12][0-9]|3[01]))?)?$`:                                                                       "be a date such as 2026-11-20, 2026-11 or 2026",
	`^(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$`:                                                                                      "be a day of the year such as 12-31",
	`^[+0-9(][0-9 ()./x-]{2,38}$`:                                                                                                     "be a phone number such as +49 30 1234567",
	`^https?://[^\s]+$`:                                                                                                               "be a web address that begins with https:// or http://",
	`^[A-Z]{2}$`:                                                                                                                      "be the code of a country, such as DE",
	`^(not|int)_[0-9a-z]{1,10}$`:                                                                                                      "be the id of a note (not_…) or an interaction (int_…); list_timeline and search_notes return ids",
	`^[a-z]{3}_[0-9a-z]{1,10}$`:                                                                                                       "be an id: a name is not an id; tools return ids such as con_k7m2qx of what they show",
}

var (
	ofID = regexp.MustCompile(`^\^([a-z]{3})_\[0-9a-z\]\{1,10\}\$$`)
	anID = regexp.MustCompile(`^([a-z]{3})_[0-9a-z]{1,10}$`)
)

// patternWords says what a text must be to match a pattern of the contract. For the
// pattern of a date it also names today's date: callers try words such as "tomorrow".
func patternWords(pattern, value, today string) string {
	m := ofID.FindStringSubmatch(pattern)
	if m == nil {
		words := formats[pattern]
		if strings.Contains(pattern, "[0-9]{4}") {
			return words + "; today is " + today
		}
		if words != "" {
			return words
		}
		return "match the pattern " + pattern
	}
	return notTheID(m[1], value)
}

// notTheID says why a text is not the id of an object of a kind: it is the id of another
// kind, a damaged id, or no id at all.
func notTheID(kind, value string) string {
	wanted := kinds[kind]
	returned := fmt.Sprintf("%s such as %s_k7m2qx", wanted.from, kind)
	if other := anID.FindStringSubmatch(value); other != nil && kinds[other[1]].name != "" {
		return fmt.Sprintf("be the id of %s; this is the id of %s, which %s takes; %s", wanted.name, kinds[other[1]].name, kinds[other[1]].to, returned)
	}
	if strings.HasPrefix(value, kind+"_") {
		return fmt.Sprintf("be the whole id of %s: %s_ and up to 10 small letters and digits; %s", wanted.name, kind, returned)
	}
	return fmt.Sprintf("be the id of %s: a name is not an id; %s", wanted.name, returned)
}
