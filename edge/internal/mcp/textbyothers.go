package mcp

import (
	"bytes"
	"slices"
	"strings"

	"github.com/kith-crm/kith/proto/catalog"
)

// othersText lists the fields of a tool's answers that the contract marks as text by others:
// people other than the member may have written it, or it came from a file. The names are JSON
// strings in alphabetical order.
type othersText []string

// newOthersText returns the fields of each tool, by its name.
func newOthersText(c *catalog.Catalog) map[string]othersText {
	all := map[string]othersText{}
	for _, rpc := range c.AllTools() {
		for _, name := range rpc.Tool.TextByOthers {
			all[rpc.Tool.Name] = append(all[rpc.Tool.Name], `"`+name+`"`)
		}
	}
	return all
}

// mark returns the member "text_by_others" of an answer, with the names of the fields that have
// such text, and a comma. It returns nothing for an answer without such text. The answer is JSON
// without white space between tokens.
func (t othersText) mark(answer []byte) []byte {
	var filled []string
	for _, name := range t {
		if hasText(answer, []byte(name+":")) {
			filled = append(filled, name)
		}
	}
	if filled == nil {
		return nil
	}
	return []byte(`"text_by_others":[` + strings.Join(filled, ",") + "],")
}

// hasText reports whether an object in the JSON has a member whose value is a string, a list or an
// object that is not empty. It finds the member by its name and colon: quotes in a JSON string are
// escaped, so no text can look like them.
func hasText(json, member []byte) bool {
	for {
		_, value, found := bytes.Cut(json, member)
		if !found {
			return false
		}
		if len(value) > 1 && strings.IndexByte(`"[{`, value[0]) >= 0 && !slices.Contains([]string{`""`, "[]", "{}"}, string(value[:2])) {
			return true
		}
		json = value
	}
}
