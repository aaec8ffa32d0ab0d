package arguments

import (
	"fmt"
	"strings"

	"github.com/kith-crm/kith/backend/internal/text"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// unknownField says that there is no field of a name, and which one may be meant, or
// which ones there are.
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

// nearest returns the field that a name may be a misspelling of: written in another
// case, with few edits, or the beginning or end of one; empty when there is none.
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

// plain is a name in which only letters and digits count.
func plain(name string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(name))
}

// partOf tells whether a long text begins or ends with a short one.
func partOf(short, long string) bool {
	return len(short) > 1 && (strings.HasPrefix(long, short) || strings.HasSuffix(long, short))
}
