package catalog

// Words describe in plain language what a scope lets an agent do. The consent page shows
// them, so they name every kind of action: a tool with a new kind of action needs a word
// here.
type Words struct {
	// Title names the scope in a few words.
	Title string
	// Read is what the scope permits by itself.
	Read string
	// Write is what it additionally permits together with ScopeWrite; empty for nothing.
	Write string
	// Does is a short form of Write.
	Does string
}

// Summary returns Read and Write as Markdown, without the title.
func (w Words) Summary() string {
	switch {
	case w.Read == "":
		return w.Write
	case w.Write == "":
		return w.Read
	}
	return w.Read + " With `" + ScopeWrite + "`: " + w.Write
}

// ScopeWords returns the words of a scope. A scope without an entry is described
// by its name.
func ScopeWords(scope string) Words {
	words, ok := map[string]Words{
		"connections": {
			"Your people",
			"Search and read the people in your network, and export all of them, with their addresses, jobs, tags, notes, interactions and reminders.",
			"Add and change people, change and merge organisations, say how they are related, merge duplicates, archive people (they are kept, and leave lists and searches), and delete people (you can restore them for 30 days).",
			"add, change, merge, archive and delete people",
		},
		"timeline": {
			"Notes and contacts",
			"Read your notes and the log of your meetings, calls and messages.",
			"Add and change notes, log meetings, calls and messages, change what was logged, and delete notes and what was logged.",
			"add, change and delete notes and logged contacts",
		},
		"organize": {
			"Groups and tags",
			"See your groups and tags, and who is in them.",
			"Create, change and delete groups, rename tags, and change the groups and tags of people.",
			"change groups and tags",
		},
		"reminders": {
			"Reminders",
			"See your reminders, birthdays and who is due for a contact.",
			"Set, change and complete reminders, and set how often to keep in touch.",
			"set, change and complete reminders",
		},
		"insights": {
			"Insights",
			"Ask questions about your network: who works where, whom to introduce, how to prepare for a meeting.",
			"",
			"",
		},
		"imports": {
			"Imports",
			"See your imports and their results.",
			"Import people from files, which adds people and changes those you have, and prepare semantic search.",
			"import people from files",
		},
		"directory": {
			"Member directory",
			"Search the directory, and read other members' pages as you see them.",
			"Change your own page, though never to show more of it.",
			"change your own page",
		},
		"account": {
			"Account",
			"See your plan, your credits, and the changes in your account.",
			"Set your time zone and language, define and remove custom fields, undo changes and imports, and cancel jobs.",
			"change your settings, undo changes and cancel jobs",
		},
		ScopeWrite: {
			"Add, change and delete things",
			"",
			"Add, change, merge, import and delete things, in the areas of the other scopes.",
			"",
		},
	}[scope]
	if !ok {
		return Words{
			Title: scope, Read: "Use the tools of the group " + scope + " that read.",
			Write: "Use the tools of the group " + scope + " that add, change or delete things.",
			Does:  "use the tools of the group " + scope + " that add, change or delete things",
		}
	}
	return words
}
