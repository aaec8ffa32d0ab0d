package page

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

// keptContent is the content of the page that keeps what was typed into a form when it cannot be
// handled: the session has ended, or another one began.
type keptContent struct {
	// Action is where the form goes, SignIn the address to sign in first; empty if the member is signed in.
	Action, SignIn string
	// Hidden are all values of the form, Typed those that a person typed.
	Hidden, Typed []keptValue
}

type keptValue struct{ Name, Label, Text string }

// keepTyped shows a page with what was typed, from where it can be sent again, and returns true. It
// returns false if nothing was typed. Nothing is stored: the page itself has the values, without
// passwords and files.
func (v *Request) keepTyped(title string) bool {
	content := keptContent{Action: v.R.URL.RequestURI()}
	for _, name := range slices.Sorted(maps.Keys(v.R.PostForm)) {
		if name == TokenField || strings.Contains(name, "password") || strings.HasPrefix(name, "confirm_") {
			continue
		}
		for _, text := range v.R.PostForm[name] {
			one := keptValue{Name: name, Label: typedLabel(name), Text: text}
			content.Hidden = append(content.Hidden, one)
			if one.Label != "" && strings.TrimSpace(text) != "" {
				content.Typed = append(content.Typed, one)
			}
		}
	}
	if len(content.Typed) == 0 {
		return false
	}
	p := Page{Title: title}
	if v.Login == nil {
		content.SignIn = v.SignIn(v.pageToReturnTo())
	} else {
		p.Area = areaOf(v.pathInArea())
	}
	p.Content = content
	v.Render(http.StatusForbidden, "kept", p)
	return true
}

// typedLabel returns the label of a field into which people type; empty for one that they choose, or
// that is hidden.
func typedLabel(name string) string {
	name = strings.TrimPrefix(name, "edit_")
	if strings.HasPrefix(name, "seen.") || strings.HasPrefix(name, "group.") || strings.HasPrefix(name, "row-") || strings.HasPrefix(name, "visibility") {
		return ""
	}
	name, _, _ = strings.Cut(name, ".")
	switch name {
	case "act", "action", "agent", "allow", "asks", "back", "cadence", "change", "code", "connection", "days", "decision", "due_on", "entry", "expected_version", "expires", "from", "host", "id",
		"kind", "last", "link", "number", "occurred_at", "other", "page", "passkey", "past", "pinned", "preset", "recurrence", "reminder", "remove", "request", ReturnParameter, "scope",
		"section", "seen", "selection", "setup", "show", "start", "to", "tool", "type":
		return ""
	case "with":
		return "Other people"
	}
	return Label(name)
}
