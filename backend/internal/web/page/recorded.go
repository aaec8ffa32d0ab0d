package page

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// summaries are the sentences in which changes are recorded, and those of what a call would do, which decisions wait for. %s stands for
// names, numbers and other words of the member or of an agent. The first that fits counts. A sentence is recorded in
// English once, and translated where it is shown.
func summaries() []string {
	done := []string{
		"Undid: %s", "Redid: %s", "Logged %s interactions", "Logged: %s", "Changed: %s", "Deleted: %s", "Done: %s", "Dismissed: %s",
		"Added a reminder: %s", "Changed a reminder: %s", "Changed %s reminders", "Added a note", "Changed a note", "Deleted a note",
		"Changed the tags of 1 person", "Changed the tags of %s people", "Changed the groups of 1 person", "Changed the groups of %s people",
		"Changed groups and tags of 1 person", "Changed groups and tags of %s people", "Made the group %s", "Changed the group %s", "Deleted the group %s",
		"Merged the group %s into %s", "Renamed the tag %s to %s", "Removed the tag %s", "Renamed the organization %s to %s", "Merged the organization %s into %s",
		"Changed the organization %s", "Defined the field %s", "Changed the field %s", "Removed the field %s", "Set the photo of %s", "Removed the photo of %s",
		"Set the keep-in-touch interval of %s", "Set the time zone to %s and the locale to %s", "Set the time zone to %s", "Set the locale to %s",
		"Changed the member's own profile", "Linked %s and %s", "Unlinked %s and %s", "Merged %s into %s", "Imported %s", "Brought back %s", "Archived %s",
		"From the calendar %s: %s", "Added %s", "Changed %s", "Deleted %s",
	}
	planned := []string{
		"undo: %s", "redo: %s", "log %s interactions", "log: %s", "change: %s", "delete: %s", "dismiss: %s",
		"add a reminder: %s", "change a reminder: %s", "change %s reminders", "add a note", "change a note", "delete a note",
		"change the tags of 1 person", "change the tags of %s people", "change the groups of 1 person", "change the groups of %s people",
		"change groups and tags of 1 person", "change groups and tags of %s people", "make the group %s", "change the group %s", "delete the group %s",
		"merge the group %s into %s", "rename the tag %s to %s", "remove the tag %s", "rename the organization %s to %s", "merge the organization %s into %s",
		"change the organization %s", "change the field %s", "remove the field %s", "remove the photo of %s",
		"set the keep-in-touch interval of %s", "change the member's own profile", "link %s and %s", "unlink %s and %s", "merge %s into %s", "import %s",
		"bring back %s", "archive %s", "add %s", "change %s", "delete %s",
	}
	counts := []string{"%s logged", "%s changed", "%s removed"} // of a calendar
	return slices.Concat(done, planned, counts)
}

// summaryForm is a sentence, and what matches it.
type summaryForm struct {
	english string
	matches *regexp.Regexp
}

var summaryForms = sync.OnceValue(func() []summaryForm {
	var out []summaryForm
	for _, english := range summaries() {
		out = append(out, summaryForm{english, regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(english), "%s", "(.+?)") + "$")})
	}
	return out
})

// Summary returns the sentence of a change in the language; a sentence that is not known stays as it is.
func (f Format) Summary(english string) string {
	if f.words == nil {
		return english
	}
	for _, form := range summaryForms() {
		parts := form.matches.FindStringSubmatch(english)
		if parts == nil {
			continue
		}
		args := make([]any, len(parts)-1)
		for i, part := range parts[1:] {
			args[i] = part
			switch form.english {
			case "Undid: %s", "Redid: %s", "undo: %s", "redo: %s":
				args[i] = f.Summary(part)
			case "From the calendar %s: %s":
				if i == 1 {
					counts := strings.Split(part, ", ")
					for j, count := range counts {
						counts[j] = f.Summary(count)
					}
					args[i] = strings.Join(counts, ", ")
				}
			case "Logged: %s", "Changed: %s", "Deleted: %s", "log: %s", "change: %s", "delete: %s": // the kind of an interaction
				args[i] = f.Text(part)
			}
		}
		return f.Text(form.english, args...)
	}
	return english
}
