package catalog_test

import (
	"strings"
	"testing"

	"github.com/kith-crm/kith/proto/catalog"
)

// acts maps each tool that writes or exports data to the part of its scope's words that names
// the action.
var acts = map[string]string{
	"create_connection": "Add", "update_connection": "change people", "archive_connections": "archive people", "delete_connection": "delete people (you can restore them for 30 days)",
	"merge_connections": "merge duplicates", "update_organization": "change and merge organisations", "link_connections": "how they are related", "export_connections": "export all",
	"add_note": "Add", "update_note": "change notes", "log_interaction": "log meetings, calls and messages", "log_interactions": "log meetings, calls and messages",
	"update_interaction": "change what was logged", "delete_timeline_entry": "delete notes and what was logged",
	"save_group": "Create, change", "delete_group": "delete groups", "update_membership": "groups and tags of people", "rename_tag": "rename tags",
	"create_reminder": "Set", "update_reminder": "change and complete reminders", "complete_reminder": "complete reminders", "set_cadence": "how often to keep in touch",
	"import_file": "Import people", "embed_objects": "prepare semantic search",
	"update_my_profile": "Change your own page", "update_my_settings": "Set your time zone", "define_field": "custom fields", "undo_change": "undo changes", "cancel_job": "cancel jobs",
}

// The words of a scope name every action of its tools, so that people know what they allow.
func TestWordsNameWhatToolsDo(t *testing.T) {
	t.Parallel()
	c, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	known := 0
	for _, rpc := range c.Tools() {
		act, ok := acts[rpc.Tool.Name]
		if !ok {
			if rpc.Writes {
				t.Errorf("%s writes: name the action in the words of %s", rpc.Tool.Name, rpc.Tool.Group)
			}
			continue
		}
		known++
		words := catalog.ScopeWords(rpc.Tool.Group)
		told := words.Read
		if rpc.Writes {
			told = words.Write
		}
		if !strings.Contains(told, act) {
			t.Errorf("%s: no %q in %q", rpc.Tool.Name, act, told)
		}
	}
	if known != len(acts) {
		t.Errorf("%d of %d tools exist", known, len(acts))
	}
}

func TestEveryScopeHasWords(t *testing.T) {
	t.Parallel()
	c, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, scope := range c.Scopes() {
		if words := catalog.ScopeWords(scope); words.Title == scope || !strings.Contains(words.Summary(), words.Read) || !strings.Contains(words.Summary(), words.Write) || words.Summary() == "" {
			t.Errorf("%s: %+v", scope, words)
		}
	}
	for _, act := range []string{"Add", "change", "merge", "import", "delete"} {
		if words := catalog.ScopeWords(catalog.ScopeWrite); !strings.Contains(words.Write, act) {
			t.Errorf("writing does not name %q: %q", act, words.Write)
		}
	}
	if words := catalog.ScopeWords("future"); words.Title != "future" || !strings.Contains(words.Read, "future") || !strings.Contains(words.Write, "future") {
		t.Errorf("a scope without words: %+v", words)
	}
}
