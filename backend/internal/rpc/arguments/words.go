package arguments

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"buf.build/go/protovalidate"
	"github.com/kith-crm/kith/backend/internal/text"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// sentence says which rule a field breaks. Rules about a whole message have their
// sentence in the contract.
func sentence(field string, in protoreflect.MessageDescriptor, v *protovalidate.Violation, today string) string {
	if field == "" {
		return v.Proto.GetMessage()
	}
	out := field + " " + rule(v, rulesOf(in, v.Proto.GetField().GetElements()), today)
	if v.Proto.GetRuleId() == "repeated.max_items" && strings.HasSuffix(field, "ids") && in.Fields().ByName("selection") != nil {
		out += "; for more, pass the selection of a search_connections answer"
	}
	return out
}

// rulesOf returns the rules of the field that a path leads to, or of the entries of
// a list; nil when there are none.
func rulesOf(in protoreflect.MessageDescriptor, path []*validate.FieldPathElement) *validate.FieldRules {
	var rules *validate.FieldRules
	for _, element := range path {
		fd := in.Fields().ByName(protoreflect.Name(element.GetFieldName()))
		if fd == nil {
			return nil
		}
		rules, _ = protovalidate.ResolveFieldRules(fd)
		if element.GetSubscript() != nil {
			rules = rules.GetRepeated().GetItems()
		}
		if in = fd.Message(); in == nil {
			break
		}
	}
	return rules
}

// rule returns the end of the sentence.
func rule(v *protovalidate.Violation, rules *validate.FieldRules, today string) string {
	id := v.Proto.GetRuleId()
	kind, _, _ := strings.Cut(id, ".")
	switch kind {
	case "required":
		return "is required"
	case "string", "bytes":
		return stringRule(id, v, rules.GetString(), today)
	case "repeated":
		return listRule(id, v, rules.GetRepeated())
	case "int32":
		return "must be " + wholeNumbers(rules.GetInt32())
	case "double":
		return "must be " + numbers(rules.GetDouble())
	case "timestamp":
		return "must be after " + rules.GetTimestamp().GetGt().AsTime().Format(time.RFC3339)
	default:
		return v.Proto.GetMessage()
	}
}

func stringRule(id string, v *protovalidate.Violation, rules *validate.StringRules, today string) string {
	switch id {
	case "string.min_len":
		if rules.GetMinLen() == 1 {
			return "must not be empty; leave it out instead"
		}
		return fmt.Sprintf("must have at least %d characters", rules.GetMinLen())
	case "string.max_len":
		return fmt.Sprintf("must have at most %d characters; it has %d", rules.GetMaxLen(), len([]rune(v.FieldValue.String())))
	case "string.in":
		return "must be " + oneOf(rules.GetIn())
	case "string.email", "string.email_empty":
		return "must be an e-mail address such as ana@example.com"
	case "string.pattern":
		return "must " + patternWords(rules.GetPattern(), v.FieldValue.String(), today)
	default:
		return v.Proto.GetMessage()
	}
}

func listRule(id string, v *protovalidate.Violation, rules *validate.RepeatedRules) string {
	switch id {
	case "repeated.min_items":
		if rules.GetMinItems() == 1 {
			return "must have at least one entry"
		}
		return fmt.Sprintf("must have at least %d entries", rules.GetMinItems())
	case "repeated.max_items":
		return fmt.Sprintf("must have at most %d entries; there are %d", rules.GetMaxItems(), v.FieldValue.List().Len())
	case "repeated.unique":
		return "must not have an entry twice"
	default:
		return v.Proto.GetMessage()
	}
}

func wholeNumbers(rules *validate.Int32Rules) string {
	switch low, high := rules.HasGte(), rules.HasLte(); {
	case low && high:
		return fmt.Sprintf("between %d and %d", rules.GetGte(), rules.GetLte())
	case low:
		return fmt.Sprintf("%d or more", rules.GetGte())
	case high:
		return fmt.Sprintf("%d or less", rules.GetLte())
	default:
		return "within 32 bits"
	}
}

func numbers(rules *validate.DoubleRules) string {
	return fmt.Sprintf("between %g and %g", rules.GetGte(), rules.GetLte())
}

func oneOf(values []string) string {
	if len(values) == 1 {
		return values[0]
	}
	return "one of " + strings.Join(values, ", ")
}

// exampleTime shows how a time is written.
const exampleTime = "2026-11-20T15:04"

// mismatch says what a field accepts instead of a JSON value that cannot be decoded.
func mismatch(fd protoreflect.FieldDescriptor, value json.RawMessage) string {
	switch fd.Kind() {
	case protoreflect.StringKind:
		if kindOf(value) == "a string" {
			return "has a character that is not valid Unicode"
		}
		return "must be a string, not " + shown(value)
	case protoreflect.BoolKind:
		return "must be true or false, not " + shown(value)
	case protoreflect.DoubleKind, protoreflect.FloatKind:
		return "must be a number" + bounds(fd) + ", not " + shown(value)
	case protoreflect.BytesKind:
		return "must be a string in base64"
	case protoreflect.EnumKind:
		var names []string
		for i := range fd.Enum().Values().Len() {
			names = append(names, string(fd.Enum().Values().Get(i).Name()))
		}
		return "must be " + oneOf(names)
	case protoreflect.MessageKind, protoreflect.GroupKind:
		if fd.Message().Name() == "Timestamp" {
			return "must be a time such as " + exampleTime
		}
		return "must be an object"
	default:
		return "must be a whole number" + bounds(fd) + ", not " + shown(value)
	}
}

// bounds returns the bounds of a number; empty where the contract has none.
func bounds(fd protoreflect.FieldDescriptor) string {
	rules, err := protovalidate.ResolveFieldRules(fd)
	switch {
	case err != nil || rules == nil:
		return ""
	case rules.HasInt32():
		return " " + wholeNumbers(rules.GetInt32())
	case rules.HasDouble():
		return " " + numbers(rules.GetDouble())
	default:
		return ""
	}
}

// kindOf returns the kind of a JSON value.
func kindOf(value json.RawMessage) string {
	switch strings.TrimLeft(string(value), " \t\r\n")[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 'n':
		return "null"
	case 't', 'f':
		return "true or false"
	default:
		return "a number"
	}
}

// maxShown bounds how much of a value an answer quotes, in characters.
const maxShown = 40

// shown returns a value as an answer quotes it.
func shown(value json.RawMessage) string {
	switch kind := kindOf(value); kind {
	case "an object", "a list":
		return kind
	case "a string":
		var s string
		_ = json.Unmarshal(value, &s) // it is a string
		return fmt.Sprintf("%q", text.Truncate(s, maxShown))
	default:
		return text.Truncate(strings.TrimSpace(string(value)), maxShown)
	}
}
