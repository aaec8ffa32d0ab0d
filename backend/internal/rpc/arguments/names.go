package arguments

import (
	"fmt"
	"strings"

	"github.com/kith-crm/kith/backend/internal/text"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// unknownField says that there is no field with a name, and which field may be meant, or
// which fields there are.
func unknownField(parent, name string, fields protoreflect.FieldDescriptors) string {
	out := fmt.Sprintf("%q is not an argument of this tool", text.Truncate(name, maxShown))
	if parent != "" {
		out = fmt.Sprintf("%q is not a field of %s", text.Truncate(name, maxShown), parent)
	}
	if near := nearest(name, fields); near != "" {
		return fmt.Sprintf("%s; did you mean %q?", out, near)
	}
	if fields.Len() == 0 {
		return out + "; it takes none"
	}
	names := make([]string, fields.Len())
	for i := range names {
		names[i] = string(fields.Get(i).Name())
	}
	return out + "; there are " + strings.Join(names, ", ")
}

// nearest returns the field that a name may be a misspelling of: the name differs in case
// or by few edits, or is the beginning or end of the field's name. It is empty when there
// is none.
func nearest(name string, fields protoreflect.FieldDescriptors) string {
	wanted, best, least := plain(name), "", 0
	for i := range fields.Len() {
		field := string(fields.Get(i).Name())
		has := plain(field)
		edits := text.Edits(wanted, has)
		near := edits <= max(len(has), len(wanted))/3 || partOf(wanted, has) || partOf(has, wanted)
		if near && (best == "" || edits < least) {
			best, least = field, edits
		}
	}
	return best
}

// plain returns a name with nothing but its letters and digits.
func plain(name string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(name))
}

// partOf reports whether a long text begins or ends with a short one.
func partOf(short, long string) bool {
	return len(short) > 1 && (strings.HasPrefix(long, short) || strings.HasSuffix(long, short))
}
