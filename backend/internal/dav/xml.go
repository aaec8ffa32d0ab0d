package dav

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"

	"github.com/kith-crm/kith/backend/internal/fault"
)

// The bounds of the XML in a request.
const (
	maxDepth    = 32
	maxElements = 10_000
	maxXMLName  = 255 // bytes of a name with its namespace, which answers repeat
)

// The namespaces of properties.
const (
	spaceDAV     = "DAV:"
	spaceCardDAV = "urn:ietf:params:xml:ns:carddav"
	spaceCalDAV  = "urn:ietf:params:xml:ns:caldav"
	spaceServer  = "http://calendarserver.org/ns/"
)

// element is an element of a request.
type element struct {
	name       xml.Name
	attributes []xml.Attr
	text       string
	children   []*element
	characters []byte // of text, while it is read: comments split it into any number of parts
}

// parseXML reads the root element of a document; nil for an empty text. It fails with fault.Invalid if the text is not well-formed, has
// a document type, or exceeds maxDepth, maxElements or maxXMLName.
func parseXML(text []byte) (*element, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	decoder := xml.NewDecoder(bytes.NewReader(text))
	root := &element{}
	open := []*element{root}
	for count := 0; ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fault.New(fault.Invalid, "the body is not well-formed XML")
		}
		top := open[len(open)-1]
		switch token := token.(type) {
		case xml.Directive:
			return nil, fault.New(fault.Invalid, "the body has a document type or another declaration, which is not allowed")
		case xml.StartElement:
			if count++; count > maxElements || len(open) > maxDepth {
				return nil, fault.New(fault.Invalid, "the body has more than %d elements, or more than %d within each other", maxElements, maxDepth)
			}
			if len(token.Name.Space)+len(token.Name.Local) > maxXMLName {
				return nil, fault.New(fault.Invalid, "an element has a name of more than %d bytes, with its namespace", maxXMLName)
			}
			e := &element{name: token.Name, attributes: token.Copy().Attr}
			top.children = append(top.children, e)
			open = append(open, e)
		case xml.EndElement:
			top.text, top.characters = string(top.characters), nil
			open = open[:len(open)-1]
		case xml.CharData:
			top.characters = append(top.characters, token...)
		}
	}
	if len(root.children) != 1 {
		return nil, fault.New(fault.Invalid, "the body needs one root element")
	}
	return root.children[0], nil
}

// is reports whether the element has a name.
func (e *element) is(space, local string) bool {
	return e != nil && e.name == xml.Name{Space: space, Local: local}
}

// child returns the first child with a name, or nil.
func (e *element) child(space, local string) *element {
	if e == nil {
		return nil
	}
	for _, c := range e.children {
		if c.is(space, local) {
			return c
		}
	}
	return nil
}

// count returns how many elements are within the element.
func (e *element) count() int {
	n := len(e.children)
	for _, c := range e.children {
		n += c.count()
	}
	return n
}

// attribute returns the value of an attribute without a namespace; empty for none.
func (e *element) attribute(name string) string {
	if e == nil {
		return ""
	}
	for _, a := range e.attributes {
		if a.Name.Space == "" && a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// escapeXML returns a text as the content of an element or an attribute. Characters that XML cannot hold become U+FFFD.
func escapeXML(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder never fails
	return b.String()
}

// tag returns an element with its content, which is XML.
func tag(name xml.Name, content string) string {
	open, end := name.Local, name.Local
	switch name.Space {
	case spaceDAV:
		open, end = "d:"+open, "d:"+end
	case spaceCardDAV:
		open, end = "card:"+open, "card:"+end
	case spaceCalDAV:
		open, end = "cal:"+open, "cal:"+end
	case spaceServer:
		open, end = "cs:"+open, "cs:"+end
	case "":
	default:
		open, end = "x:"+open+` xmlns:x="`+escapeXML(name.Space)+`"`, "x:"+end
	}
	if content == "" {
		return "<" + open + "/>"
	}
	return "<" + open + ">" + content + "</" + end + ">"
}

const (
	xmlHead = `<?xml version="1.0" encoding="utf-8"?>` + "\n"
	spaces  = ` xmlns:d="DAV:" xmlns:card="urn:ietf:params:xml:ns:carddav" xmlns:cal="urn:ietf:params:xml:ns:caldav" xmlns:cs="http://calendarserver.org/ns/"`
)
