package catalog_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// written are the names of text fields in answers that cannot have sentences of other people: ids,
// dates, codes, closed sets of words, addresses (which have no spaces), the service's own
// sentences, and the names of the member and of the calling credential.
const written = `
id ids connection_id connection_ids change_id import_id reminder_id last_contact_id source_ids undoes undone_by duplicate_of
date birthday locale merged_into touched due_on ended_on last_contact_on deceased_on met_on occurred_at next_due next_due_on started_on period today timezone
action code fields kind matched_by matched_fields mode_used object outcome recurrence source state tie visibility
of country email emails phones url urls avatar_url poll decide_url username
media_type next_cursor selection entry note detail left_out storage
plan provider model scopes required_scopes tool tools arguments`

// elsewhere are unmarked fields with the name of a marked field of another tool.
var elsewhere = map[string][]string{"get_account": {"name", "reason"}, "get_connection": {"reason"}, "define_field": {"type"}, "list_groups": {"type"}}

// Every text field of an answer is marked as text by others, or listed as not written by others.
func TestTextByOthersIsMarked(t *testing.T) {
	t.Parallel()
	c := load(t)
	known := map[string]bool{}
	for name := range strings.FieldsSeq(written) {
		known[name] = false
	}
	for path, method := range methods(t) {
		rpc, ok := c.Procedure(path)
		if !ok || rpc.Tool == nil {
			continue
		}
		for name := range texts(method.Output(), map[protoreflect.FullName]bool{}) {
			_, fine := known[name]
			switch {
			case slices.Contains(rpc.Tool.TextByOthers, name):
			case fine:
				known[name] = true
			case !slices.Contains(elsewhere[rpc.Tool.Name], name):
				t.Errorf("%s answers with the text %s: set (kith.tool.v1.text_by_others), or list it here if other people cannot write it", rpc.Tool.Name, name)
			}
		}
	}
	for name, used := range known {
		if !used {
			t.Errorf("no answer has the unmarked text %s", name)
		}
	}
}

// texts returns the names of the text fields in a message, at any depth.
func texts(m protoreflect.MessageDescriptor, seen map[protoreflect.FullName]bool) map[string]bool {
	names := map[string]bool{}
	if seen[m.FullName()] || m.FullName() == "google.protobuf.Timestamp" {
		return names
	}
	seen[m.FullName()] = true
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		switch {
		case f.Kind() == protoreflect.StringKind, f.Message() != nil && f.Message().FullName() == "google.protobuf.Struct":
			names[string(f.Name())] = true
		case f.Message() != nil:
			maps.Copy(names, texts(f.Message(), seen))
		}
	}
	return names
}
