package web

import (
	"slices"

	"github.com/kith-crm/kith/proto/catalog"
)

// scopeWords says in plain words what a tool group is, what reading it shows and
// what writing to it changes.
type scopeWords struct{ Title, Read, Write string }

// wordsOf returns the words of a group. One without words of its own is shown
// under its name.
func wordsOf(group string) scopeWords {
	words, ok := map[string]scopeWords{
		"connections": {"Your people", "Search and read the people in your network, with their addresses, jobs and tags.", "Add people, and change what you keep of them."},
		"timeline":    {"Notes and contacts", "Read your notes and the log of your meetings, calls and messages.", "Add notes, and log meetings, calls and messages."},
		"organize":    {"Groups and tags", "See your groups and tags, and who is in them.", "Make groups, and move people between them."},
		"reminders":   {"Reminders", "See your reminders, birthdays and who is due for a contact.", "Set and complete reminders, and how often to keep in touch."},
		"insights":    {"Insights", "Ask questions of your network: who works where, whom to introduce, how to prepare a meeting.", ""},
		"imports":     {"Imports", "See your imports and what came of them.", "Import people from files."},
		"directory":   {"Member directory", "Search the directory, and read other members' pages as you see them.", "Change your own page, though never to show more of it."},
		"account":     {"Account", "See your plan, your credits, and what was changed in your account.", "Undo changes, and cancel jobs."},
	}[group]
	if !ok {
		words = scopeWords{Title: group, Read: "Use the tools of the group " + group + " that read.", Write: "Use the tools of the group " + group + " that change things."}
	}
	return words
}

// scopeChoice is one check box of a form.
type scopeChoice struct {
	Name    string
	Words   scopeWords
	Checked bool
}

// scopeChoices is what a form asks about scopes: the groups one by one, and
// whether to change things in them.
type scopeChoices struct {
	Groups []scopeChoice
	// Write is the choice of changing things; nil when it was not asked for.
	Write *scopeChoice
	Error string
}

// choicesOf returns the choices between scopes; those chosen are checked.
func choicesOf(scopes []string, chosen func(scope string) bool) scopeChoices {
	var choices scopeChoices
	for _, scope := range scopes {
		choice := scopeChoice{Name: scope, Checked: chosen(scope)}
		if scope == catalog.ScopeWrite {
			choices.Write = &choice
			continue
		}
		choice.Words = wordsOf(scope)
		choices.Groups = append(choices.Groups, choice)
	}
	return choices
}

// scopeNames says what held scopes are: the titles of the groups, and whether
// they may be changed.
type scopeNames struct {
	Groups   []string
	Readonly bool
}

func namesOf(scopes []string) scopeNames {
	names := scopeNames{Readonly: !slices.Contains(scopes, catalog.ScopeWrite)}
	for _, scope := range scopes {
		if title := wordsOf(scope).Title; scope != catalog.ScopeWrite && !slices.Contains(names.Groups, title) {
			names.Groups = append(names.Groups, title)
		}
	}
	return names
}
