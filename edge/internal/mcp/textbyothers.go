package mcp

import (
	"bytes"

	"github.com/kith-crm/kith/proto/catalog"
)

// othersText lists the fields of a tool's answers that the contract marks as text by others:
// people other than the member may have written it, or it came from a file. The names are JSON
// strings in alphabetical order.
type othersText [][]byte

// newOthersText returns the fields of each tool, by its name.
func newOthersText(c *catalog.Catalog) map[string]othersText {
	all := map[string]othersText{}
	for _, rpc := range c.Tools() {
		for _, name := range rpc.Tool.TextByOthers {
			all[rpc.Tool.Name] = append(all[rpc.Tool.Name], []byte(`"`+name+`"`))
		}
	}
	return all
}

// mark returns the member "text_by_others" of an answer, with the names of the fields that have
// such text, and a comma. It returns nothing for an answer without such text.
//
// It finds the names of members by comparing bytes: quotes in a JSON string are escaped, so no
// text can look like a name and a colon.
func (t othersText) mark(answer []byte) []byte {
	var b []byte
	for _, name := range t {
		switch {
		case !hasText(answer, name):
			continue
		case b == nil:
			b = append(make([]byte, 0, 200), `"text_by_others":[`...)
		default:
			b = append(b, ',')
		}
		b = append(b, name...)
	}
	if b == nil {
		return nil
	}
	return append(b, "],"...)
}

// hasText reports whether an object in the JSON has a member with this name, written as a
// JSON string, whose value is not empty.
func hasText(json, name []byte) bool {
	for {
		i := bytes.Index(json, name)
		if i < 0 {
			return false
		}
		json = json[i+len(name):]
		value, isName := bytes.CutPrefix(bytes.TrimLeft(json, " \t\r\n"), []byte(":"))
		if !isName {
			continue
		}
		value = bytes.TrimLeft(value, " \t\r\n")
		if len(value) > 1 && (value[0] == '"' && value[1] != '"' || isFilled(value)) {
			return true
		}
	}
}

// isFilled reports whether a JSON value is a list or an object that is not empty.
func isFilled(value []byte) bool {
	inside := bytes.TrimLeft(value[1:], " \t\r\n")
	return len(inside) > 0 && (value[0] == '[' && inside[0] != ']' || value[0] == '{' && inside[0] != '}')
}
