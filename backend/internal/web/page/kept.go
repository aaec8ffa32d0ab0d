package page

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

// KeptValue is a value of a form that is sent again. Label is empty unless a person typed it.
type KeptValue struct{ Name, Label, Value string }

// Kept returns the values of the form, without passwords, proofs of who the member is, and files.
func (v *Request) Kept() []KeptValue {
	var kept []KeptValue
	for _, name := range slices.Sorted(maps.Keys(v.R.PostForm)) {
		if name == TokenField || strings.Contains(name, "password") || strings.HasPrefix(name, "confirm_") {
			continue
		}
		for _, value := range v.R.PostForm[name] {
			kept = append(kept, KeptValue{name, typedLabel(name), value})
		}
	}
	return kept
}

// keptContent is the content of the page that keeps what was typed into a form when it cannot be
// handled: the session has ended, or another one began.
type keptContent struct {
	// Action is where the form goes, SignIn the address to sign in first; empty if the member is signed in.
	Action, SignIn string
	// Hidden are all values of the form, Typed those that a person typed.
	Hidden, Typed []KeptValue
}

// keepTyped shows a page with what was typed, from where it can be sent again, and returns true. It
// returns false if nothing was typed. Nothing is stored: the page itself has the values.
func (v *Request) keepTyped(title string) bool {
	content := keptContent{Action: v.R.URL.RequestURI(), Hidden: v.Kept()}
	for _, one := range content.Hidden {
		if one.Label != "" && strings.TrimSpace(one.Value) != "" {
			content.Typed = append(content.Typed, one)
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
	_ = v.Render(http.StatusForbidden, "kept", p)
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
