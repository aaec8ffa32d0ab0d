package schema

import (
	"bytes"
	"net/mail"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// allows reports whether a decoded JSON value is valid under the schema.
func (n *node) allows(value any) bool {
	if len(n.Enum) > 0 && !n.enumerates(value) {
		return false
	}
	switch v := value.(type) {
	case string:
		return n.Type == typeString && n.allowsString(v)
	case int:
		return n.allowsNumber(float64(v))
	case float64:
		return n.allowsNumber(v)
	case bool:
		return n.Type == typeBoolean
	case []any:
		return n.Type == typeArray && n.allowsItems(v)
	case map[string]any:
		return n.Type == typeObject && n.allowsProperties(v)
	default:
		return false
	}
}

func (n *node) enumerates(value any) bool {
	text, err := json.Marshal(value)
	return err == nil && slices.ContainsFunc(n.Enum, func(allowed jsontext.Value) bool { return bytes.Equal(allowed, text) })
}

func (n *node) allowsString(s string) bool {
	length := utf8.RuneCountInString(s)
	if length < n.MinLength || (n.MaxLength != nil && length > *n.MaxLength) {
		return false
	}
	if n.Pattern != "" {
		pattern, err := regexp.Compile(n.Pattern)
		if err != nil || !pattern.MatchString(s) {
			return false
		}
	}
	switch n.Format {
	case "date-time":
		_, err := time.Parse(time.RFC3339, s)
		return err == nil
	case "date":
		_, err := time.Parse(time.DateOnly, s)
		return err == nil
	case "email":
		address, err := mail.ParseAddress(s)
		return err == nil && address.Address == s
	case "uri":
		u, err := url.Parse(s)
		return err == nil && u.IsAbs()
	default:
		return true
	}
}

func (n *node) allowsNumber(f float64) bool {
	switch {
	case n.Type != typeNumber && (n.Type != typeInteger || f != float64(int64(f))):
		return false
	case n.Minimum != nil && f < *n.Minimum, n.Maximum != nil && f > *n.Maximum:
		return false
	case n.ExclusiveMinimum != nil && f <= *n.ExclusiveMinimum, n.ExclusiveMaximum != nil && f >= *n.ExclusiveMaximum:
		return false
	default:
		return true
	}
}

func (n *node) allowsItems(items []any) bool {
	if len(items) < n.MinItems || (n.MaxItems != nil && len(items) > *n.MaxItems) {
		return false
	}
	for i, item := range items {
		if n.Items != nil && !n.Items.allows(item) {
			return false
		}
		if n.UniqueItems && slices.ContainsFunc(items[:i], func(other any) bool { return reflect.DeepEqual(item, other) }) {
			return false
		}
	}
	return true
}

// allowsProperties refuses unknown names: the catalogue's input schemas are closed.
func (n *node) allowsProperties(object map[string]any) bool {
	for _, name := range n.Required {
		if _, there := object[name]; !there {
			return false
		}
	}
	for name, value := range object {
		property, known := n.Properties[name]
		if !known || !property.allows(value) {
			return false
		}
	}
	return true
}
