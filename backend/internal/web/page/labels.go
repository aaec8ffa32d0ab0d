package page

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// entryOf matches the path of an entry of a list, or of a field in it.
var entryOf = regexp.MustCompile(`^(\w+)\[(\d+)\](?:\.(\w+))?$`)

// Label returns what pages call a field of the contract: emails[1] is "E-mail addresses, line 2", and
// positions[0].title is "Title".
func Label(field string) string {
	line := ""
	if m := entryOf.FindStringSubmatch(field); m != nil {
		if field = cmp.Or(m[3], m[1]); m[3] == "" {
			at, _ := strconv.Atoi(m[2]) // digits
			line = fmt.Sprintf(", line %d", at+1)
		}
	}
	field = strings.TrimPrefix(strings.TrimPrefix(field, "add_"), "remove_")
	if label, ok := labels()[field]; ok {
		return label + line
	}
	words := strings.ReplaceAll(field, "_", " ")
	if words == "" {
		return ""
	}
	return strings.ToUpper(words[:1]) + words[1:] + line
}

// labels are the labels of fields whose names in the contract are not words for people.
func labels() map[string]string {
	return map[string]string{
		"bio": "About", "birthday_between": "Birthday between", "body": "Note", "cadence_overdue": "Keeping in touch", "company": "Organisation",
		"connection_id": "Person", "connection_ids": "People", "created_after": "Added after", "date": "Date", "days": "Days between contacts", "due_on": "Day",
		"emails": "E-mail addresses", "deceased_on": "Died", "ended_on": "Until", "has": "Has", "important_dates": "Important dates", "last_contact_after": "Last contact after",
		"last_contact_before": "Last contact before", "location": "Place", "met_how": "How you met", "met_on": "When you met", "met_on_after": "Met after",
		"met_on_before": "Met before", "missing": "Is missing", "never_contacted": "Ever in touch", "occurred_at": "Day", "organization": "Organisation",
		"phones": "Phone numbers", "query": "Search", "recurrence": "Repeat", "snooze_until": "Not before", "started_on": "From", "summary": "What it was about",
		"text": "What to do", "urls": "Links",
	}
}

// fieldWord finds names of fields of the contract in a sentence.
var fieldWord = regexp.MustCompile(`\b[a-z]+(?:_[a-z]+)+\b`)

// predicate matches a message whose subject is the field.
var predicate = regexp.MustCompile(`^(?:must|is|are|has|have|holds?|lies|needs|takes|contains|contradicts|would)\b`)

// violation returns what is wrong with a field, as a sentence that names the field and others by their
// labels. The message may begin with the name of the field.
func violation(field, message string) FieldError {
	label := Label(field)
	message = strings.TrimPrefix(message, field+" ")
	message = fieldWord.ReplaceAllStringFunc(message, func(word string) string {
		if other, ok := labels()[word]; ok {
			return "“" + other + "”"
		}
		return word
	})
	switch {
	case label == "":
		message = Sentence(message)
	case predicate.MatchString(message):
		message = Sentence(label + " " + message)
	default:
		message = label + ": " + Sentence(message)
	}
	return FieldError{Name: field, Message: message}
}
