package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"iter"
	"time"

	"github.com/kith-crm/kith/backend/internal/fault"
)

// element is a value in a list or a member of an object, not decoded yet, so that an error
// in one does not affect the others.
type element struct {
	// name is the name of a member; empty in a list.
	name string
	raw  []byte
	// whole is false when the text ends before the value does.
	whole bool
	// values is how many values are in it.
	values int
}

// mostValues limits the values in one element, since an element takes many times more
// space in memory than in the file.
const mostValues = 50_000

// elements calls yield with each value of the list or object that a text begins with,
// or with the objects that follow one another when there is no list (one on each
// line), of each of the texts.
func elements(texts ...[]byte) iter.Seq[element] {
	return func(yield func(element) bool) {
		for _, text := range texts {
			for e := range elementsOf(text) {
				if !yield(e) {
					return
				}
			}
		}
	}
}

func elementsOf(text []byte) iter.Seq[element] {
	return func(yield func(element) bool) {
		at := space(text, 0)
		if at >= len(text) {
			return
		}
		if text[at] == '[' {
			at++
		}
		for at < len(text) {
			if at = separators(text, at); at >= len(text) || text[at] == ']' {
				return
			}
			e := valueAt(text, at)
			at += max(len(e.raw), 1)
			if !yield(e) {
				return
			}
		}
	}
}

// members calls yield with each member of the object that text begins with.
func members(text []byte) iter.Seq[element] {
	return func(yield func(element) bool) {
		at := space(text, 0)
		if at >= len(text) || text[at] != '{' {
			return
		}
		for at++; at < len(text); {
			if at = separators(text, at); at >= len(text) || text[at] == '}' {
				return
			}
			name := valueAt(text, at)
			at = space(text, at+max(len(name.raw), 1))
			if at >= len(text) || text[at] != ':' {
				return
			}
			if at = space(text, at+1); at >= len(text) {
				return
			}
			e := valueAt(text, at)
			at += max(len(e.raw), 1)
			if json.Unmarshal(name.raw, &e.name) == nil && !yield(e) {
				return
			}
		}
	}
}

// space returns the position after the white space at at.
func space(text []byte, at int) int {
	for at < len(text) && bytes.IndexByte([]byte(" \t\r\n"), text[at]) >= 0 {
		at++
	}
	return at
}

// separators returns the position after white space and commas.
func separators(text []byte, at int) int {
	for at < len(text) && bytes.IndexByte([]byte(" \t\r\n,\x1e"), text[at]) >= 0 {
		at++
	}
	return at
}

// valueAt returns the value that begins at at. It looks only at brackets and quotation
// marks.
func valueAt(text []byte, at int) element {
	depth, values := 0, 0
	for i := at; i < len(text); i++ {
		switch text[i] {
		case '"':
			if i = stringEnd(text, i); i < 0 {
				return element{raw: text[at:], values: values}
			}
			values++
		case '{', '[':
			depth++
			values++
			continue
		case '}', ']':
			if depth--; depth < 0 {
				return element{raw: text[at:i], whole: true, values: values}
			}
		case ',', ' ', '\n', '\r', '\t', ':':
			if depth == 0 {
				return element{raw: text[at:i], whole: true, values: values}
			}
			continue
		default:
			if depth == 0 || text[i-1] == ',' || text[i-1] == '[' { // numbers and words of a list
				values++
			}
			continue
		}
		if depth == 0 {
			return element{raw: text[at : i+1], whole: true, values: values}
		}
	}
	return element{raw: text[at:], whole: depth == 0, values: values}
}

// stringEnd returns the position after the string that begins at at, or -1 when the string
// has no end.
func stringEnd(text []byte, at int) int {
	for i := at + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}

// decode decodes an element. Values of a wrong type are left out, and named in the
// warning.
func (e element) decode(into any) (warning string, err error) {
	switch {
	case !e.whole:
		return "", fault.New(fault.Invalid, "the file ends in the middle of it")
	case e.values > mostValues:
		return "", fault.New(fault.Invalid, "it holds more than %d values", mostValues)
	}
	err = json.Unmarshal(e.raw, into)
	var wrong *json.UnmarshalTypeError
	var noTime *time.ParseError
	switch {
	case errors.As(err, &wrong) && wrong.Field != "":
		return shown(wrong.Field) + " was left out: it is no value of its kind", nil
	case errors.As(err, &wrong):
		return "", fault.Wrap(err, fault.Invalid, "it is no object of its kind")
	case errors.As(err, &noTime):
		return "", fault.Wrap(err, fault.Invalid, "%q is no time", shown(noTime.Value))
	case err != nil:
		return "", fault.Wrap(err, fault.Invalid, "it is not valid: %s", shown(err.Error()))
	}
	return "", nil
}

// detectJSON distinguishes Kith's export, Monica's and JSContact.
func detectJSON(text []byte) (string, error) {
	first := text
	if text[0] == '[' {
		first = nil
		for e := range elements(text) {
			first = e.raw
			break
		}
	}
	card := false
	for m := range members(first) {
		switch m.name {
		case "format":
			return JSON, nil
		case "app_version", "account":
			return Monica, nil
		case "@type", "version", "uid", "emails", "phones", "name", "organizations", "members":
			card = true
		}
	}
	switch {
	case card:
		return JSContact, nil
	case len(first) == 0 && text[0] == '[':
		return "", fault.New(fault.Invalid, "the list in the file is empty")
	}
	return "", fault.New(fault.Invalid, "this JSON is no export of Kith or Monica, and no JSContact")
}
