package web

import (
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/web/page"
	"github.com/kith-crm/kith/proto/catalog"
)

// allowForm has the inputs of a form that says what an agent may do: a preset, and the areas
// that it applies to.
type allowForm struct {
	// Prefix begins the ids of the inputs; empty if the page has one such form.
	Prefix  string
	Presets []presetChoice
	Areas   []scopeChoice
	// Reads are the areas in a few words.
	Reads []string
	// Writes is set if one of the presets permits more than reading.
	Writes bool
	// Field is the field with the error: scope, preset or days.
	Field, Error string
}

// presetChoice is a radio button.
type presetChoice struct {
	Value       oauth.Preset
	Label, Hint string
	Checked     bool
}

// Wrong returns the error of a field.
func (f allowForm) Wrong(field string) string {
	if field != f.Field {
		return ""
	}
	return f.Error
}

// refill puts what was chosen into the form, with the error of a field.
func (f *allowForm) refill(ticked []string, preset oauth.Preset, field, mistake string) {
	for i := range f.Areas {
		f.Areas[i].Checked = slices.Contains(ticked, f.Areas[i].Name)
	}
	for i := range f.Presets {
		f.Presets[i].Checked = f.Presets[i].Value == preset
	}
	f.Field, f.Error = field, mistake
}

// allowFormOf returns a form with the presets and the areas of the scopes; ticked are the areas
// that are chosen so far.
func allowFormOf(format page.Format, scopes, ticked []string, presets []oauth.Preset, chosen oauth.Preset) allowForm {
	form := allowForm{Areas: choicesOf(scopes, func(s string) bool { return slices.Contains(ticked, s) }).Groups}
	for _, area := range form.Areas {
		reads := area.Words.Title
		if area.Name == "connections" {
			reads += " (and export them all)"
		}
		form.Reads = append(form.Reads, reads)
	}
	for _, p := range presets {
		form.Writes = form.Writes || p != oauth.PresetRead
		form.Presets = append(form.Presets, presetWords(format, p, scopes, p == chosen))
	}
	return form
}

func presetWords(format page.Format, p oauth.Preset, scopes []string, checked bool) presetChoice {
	choice := presetChoice{Value: p, Checked: checked}
	switch p {
	case oauth.PresetRead:
		choice.Label, choice.Hint = "Read only", "It can’t change anything."
	case oauth.PresetAdd:
		var adds []string
		for _, added := range [][2]string{{"connections", "people"}, {"timeline", "notes"}, {"timeline", "logged contacts"}, {"reminders", "reminders"}} {
			if slices.Contains(scopes, added[0]) {
				adds = append(adds, format.Text(added[1]))
			}
		}
		choice.Label, choice.Hint = "Read and add", format.Text("It also adds %s. It can’t change, merge, import or delete.", format.And(adds))
	case oauth.PresetAll:
		var does []string
		for _, scope := range scopes {
			if words := catalog.ScopeWords(scope).Does; words != "" {
				does = append(does, format.Text(words))
			}
		}
		choice.Label, choice.Hint = "Everything it asks for", format.Text("It may also %s.", strings.Join(does, "; "))
		if len(does) == 0 {
			choice.Hint = ""
		}
	}
	return choice
}
