package catalog

import "strings"

// Recipe is a task that an agent does with several tools: a prompt of MCP, and a part of the guides.
type Recipe struct {
	// Name in snake_case, unique.
	Name string
	// Title and Description are for people.
	Title, Description string
	Arguments          []RecipeArgument
	// Tools are those without which the recipe does not work.
	Tools []string
	// text is what the person asks the agent to do. It has the names of arguments in braces.
	text string
}

// RecipeArgument is a text that the person gives with a recipe.
type RecipeArgument struct {
	Name, Description string
	// Default is used without a value; a person must give a value if it is "".
	Default string
	// Values are what clients offer; other values are allowed.
	Values []string
}

// Text returns what the person asks for, as Markdown. Arguments without a value have their default, or their
// name in angle brackets.
func (r Recipe) Text(values map[string]string) string {
	text := make([]string, 0, 2*len(r.Arguments))
	for _, a := range r.Arguments {
		value := strings.TrimSpace(values[a.Name])
		if value == "" {
			value = a.Default
		}
		if value == "" {
			value = "<" + a.Name + ">"
		}
		text = append(text, "{"+a.Name+"}", value)
	}
	return strings.NewReplacer(text...).Replace(r.text)
}

// Recipes returns the recipes, in the order in which they are listed.
func Recipes() []Recipe {
	return []Recipe{{
		Name: "morning_brief", Title: "Morning brief", Description: "What is due, whom to get back to, and whom you meet.",
		Arguments: []RecipeArgument{{"days", "Days ahead", "7", []string{"0", "1", "7", "14", "30"}}},
		Tools:     []string{"list_due"},
		text: `Brief me on my network.

1. Call list_due with days {days}: overdue reminders first, then birthdays, then people I am losing touch with.
2. If you can see my calendar, find today's guests with resolve_people and call prepare_meeting with their ids.
3. Answer in at most ten lines: what is overdue, what is today, whom to write to and a first sentence for each.
4. Ask which reminders are done, then call complete_reminder. Change nothing else.`,
	}, {
		Name: "after_meeting", Title: "After a meeting", Description: "Log a meeting, keep what was said, and remind yourself of what follows.",
		Arguments: []RecipeArgument{
			{"people", "Names of the people you met", "", nil},
			{"notes", "What was said, and what follows", "ask me", nil},
		},
		Tools: []string{"resolve_people", "log_interaction"},
		text: `I met {people}. What was said: {notes}.

1. Call resolve_people with all names at once. If a name is ambiguous, ask me; if someone is new, ask before create_connection.
2. Call log_interaction once with all of them and a summary of two sentences.
3. Call add_note for facts worth remembering for years, such as a family, a plan or a preference; not for what the summary has.
4. Call update_connection for a new job, address or number, and create_reminder for each thing that I promised.
5. Tell me in one line each what you wrote. undo_change with its change_id reverts it.`,
	}, {
		Name: "clean_up", Title: "Clean up", Description: "Merge duplicates, fill gaps and tidy tags, step by step.",
		Arguments: []RecipeArgument{{"part", "What to clean up", "everything", []string{"everything", "duplicates", "missing details", "tags", "organizations"}}},
		Tools:     []string{"search_connections", "find_duplicates"},
		text: `Clean up my network: {part}. Show me each step before you change anything, at most ten people at a time.

1. Duplicates: call find_duplicates, show each pair with what differs, and call merge_connections for the pairs that I confirm.
2. Missing details: call search_connections with missing (email, phone, organization or birthday), the closest people first, and ask me for what I know; then update_connection.
3. Tags: call list_groups, name tags that mean the same, and call rename_tag for those that I confirm.
4. Organizations: name those that are written in two ways, and call update_organization for those that I confirm.
5. End with what was changed and how to undo it: undo_change takes each change_id.`,
	}, {
		Name: "import", Title: "Import contacts", Description: "Import a file with a dry run first, then merge duplicates.",
		Arguments: []RecipeArgument{{"source", "Where the file comes from", "a file", []string{"Google Contacts", "LinkedIn", "Outlook", "iCloud", "Monica", "a file"}}},
		Tools:     []string{"import_file", "get_job"},
		text: `Import my contacts from {source}. Ask me for the file, if I did not attach it.

1. Call import_file with dry_run true, and get_job with its task_id until it ends.
2. Tell me how many people would be created, updated and skipped, and which rows fail and why. Ask what to do on a match (on_match), and whether to tag them.
3. After I agree, call import_file again without dry_run and wait with get_job.
4. Call find_duplicates and show the pairs; merge_connections only what I confirm.
5. Tell me the import_id: undo_change with it takes the whole import back.`,
	}}
}
