package arguments

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/kith-crm/kith/backend/internal/id"
)

// kinds are the objects that ids stand for, and the tools that return the ids.
var kinds = map[string]struct{ name, from string }{
	id.Connection:  {"a connection", "search_connections returns ids"},
	id.Note:        {"a note", "search_notes and list_timeline return ids"},
	id.Interaction: {"an interaction", "list_timeline returns ids"},
	id.Group:       {"a group", "list_groups returns ids"},
	id.Reminder:    {"a reminder", "list_due returns ids"},
	id.Change:      {"a change", "list_changes returns ids"},
	id.Import:      {"an import", "get_job returns the import_id of an import"},
	id.File:        {"a file", "the member uploads files on the settings page"},
}

// formats are the words for the patterns of the contract that are not ids.
var formats = map[string]string{
	`^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$`:                                                                    "be a day such as 2026-11-20",
	`^([0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01]))?$`:                                                                 "be a day such as 2026-11-20, or empty",
	`^([0-9]{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12][0-9]|3[01]))?)?)?$`:                                                           "be a date such as 2026-11-20, 2026-11 or 2026, or empty",
	`^([0-9]{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12][0-9]|3[01]))?)?|--(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01]))$`:                 "be a date such as 1990-05-17, --05-17 without the year, 1990-05 or 1990",
	`^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])(T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2}))?$`: "be a day such as 2026-11-20 or a time such as " + exampleTime,
	`^[0-9]{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12][0-9]|3[01]))?)?$`:                                                              "be a date such as 2026-11-20, 2026-11 or 2026",
	`^(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$`:                                                                             "be a day of the year such as 12-31",
	`^[+0-9(][0-9 ()./x-]{2,38}$`:                                                                                            "be a phone number such as +49 30 1234567",
	`^https?://[^\s]+$`:                                                                                                      "be a web address that begins with https:// or http://",
	`^[A-Z]{2}$`:                                                                                                             "be the code of a country, such as DE",
	`^(not|int)_[0-9A-HJKMNP-TV-Z]{26}$`:                                                                                     "be the id of a note (not_…) or an interaction (int_…); list_timeline and search_notes return ids",
	`^[a-z]{3}_[0-9A-HJKMNP-TV-Z]{26}$`:                                                                                      "be an id such as con_01J…: a name is not an id; every tool returns the ids of what it shows",
}

var (
	ofID = regexp.MustCompile(`^\^([a-z]{3})_\[0-9A-HJKMNP-TV-Z\]\{26\}\$$`)
	anID = regexp.MustCompile(`^([a-z]{3})_[0-9A-HJKMNP-TV-Z]{26}$`)
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
	wanted := kinds[m[1]]
	if other := anID.FindStringSubmatch(value); other != nil && kinds[other[1]].name != "" {
		return fmt.Sprintf("be the id of %s (%s_…), and this is the id of %s; %s", wanted.name, m[1], kinds[other[1]].name, wanted.from)
	}
	return fmt.Sprintf("look like %s_01J…: a name is not an id; %s", m[1], wanted.from)
}
