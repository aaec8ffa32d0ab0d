package web

import (
	"slices"

	"github.com/kith-crm/kith/proto/catalog"
)

// scopeChoice is one checkbox of a form.
type scopeChoice struct {
	Name    string
	Words   catalog.Words
	Checked bool
}

// scopeChoices are the choices of a form about scopes: each group, and whether to add,
// change and delete things in the groups.
type scopeChoices struct {
	Groups []scopeChoice
	// Write is the choice of adding, changing and deleting; nil if it was not
	// requested.
	Write *scopeChoice
	Error string
}

// choicesOf returns the choices between scopes; the chosen ones are checked.
func choicesOf(scopes []string, chosen func(scope string) bool) scopeChoices {
	var choices scopeChoices
	for _, scope := range scopes {
		choice := scopeChoice{Name: scope, Words: catalog.ScopeWords(scope), Checked: chosen(scope)}
		if scope == catalog.ScopeWrite {
			choices.Write = &choice
			continue
		}
		choices.Groups = append(choices.Groups, choice)
	}
	return choices
}

// scopeNames describes scopes: the titles of the groups, and whether their content may
// be changed.
type scopeNames struct {
	Groups   []string
	Readonly bool
	// Adds is set if it may add, but change and delete nothing.
	Adds bool
}

func namesOf(scopes []string) scopeNames {
	names := scopeNames{Readonly: !slices.Contains(scopes, catalog.ScopeWrite)}
	for _, scope := range scopes {
		if title := catalog.ScopeWords(scope).Title; scope != catalog.ScopeWrite && !slices.Contains(names.Groups, title) {
			names.Groups = append(names.Groups, title)
		}
	}
	return names
}
