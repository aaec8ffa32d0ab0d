package httpapi_test

import (
	"strings"
	"testing"

	"github.com/kith-crm/kith/edge/internal/httpapi"
)

// ambiguous are bodies that parsers interpret differently.
func ambiguous() map[string]string {
	return map[string]string{
		"duplicate":                 `{"type":"a","type":"b"}`,
		"nested duplicate":          `{"type":"a","x":{"y":1,"y":2}}`,
		"escaped duplicate":         `{"type":"a","\u0074ype":"b"}`,
		"same name in another case": `{"type":"a","TYPE":"b"}`,
		"another case alone":        `{"Type":"b"}`,
		"too deep":                  `{"type":"a","x":` + strings.Repeat("[", 32) + strings.Repeat("]", 32) + `}`,
		"infinite":                  `{"type":"a","x":1e999}`,
		"bad UTF-8":                 "{\"type\":\"\xff\"}",
		"lone surrogate":            `{"type":"\ud800"}`,
		"lone surrogate below":      `{"type":"a","x":["\udc00"]}`,
		"two values":                `{"type":"a"}{}`,
		"byte order mark":           "\xef\xbb\xbf" + `{"type":"a"}`,
		"array":                     `[{"type":"a"}]`,
		"null":                      `null`,
		"nothing":                   ``,
		"comment":                   `{"type":"a"} // x`,
		"open":                      `{"type":"a"`,
	}
}

func TestAmbiguousBodies(t *testing.T) {
	t.Parallel()
	for name, text := range ambiguous() {
		var v struct {
			Type string `json:"type"`
		}
		if fault := httpapi.UnmarshalStrict([]byte(text), &v); fault == nil || fault.Field == "" || fault.Message == "" {
			t.Errorf("Unmarshal of %s: %v", name, fault)
		}
		if fault := httpapi.CheckJSON([]byte(text), "type"); fault == nil || fault.Fields[0].Field == "" || fault.Fields[0].Message == "" {
			t.Errorf("Check of %s: %v", name, fault)
		}
	}
}

func TestUnknownMembers(t *testing.T) {
	t.Parallel()
	const text = `{"type":"a","extra":[1,{"x":1.5e3}]}`
	var v struct {
		Type string `json:"type"`
	}
	if fault := httpapi.UnmarshalStrict([]byte(text), &v); fault == nil || fault.Error() != "extra is not known here" {
		t.Errorf("Unmarshal: %v", fault)
	}
	if fault := httpapi.CheckJSON([]byte(text), "type"); fault != nil {
		t.Errorf("Check: %v", fault)
	}
	if fault := httpapi.UnmarshalStrict([]byte(`{"type":1}`), &v); fault == nil || fault.Error() != "type has the wrong type" {
		t.Errorf("wrong type: %v", fault)
	}
	if fault := httpapi.UnmarshalStrict([]byte(` {"type":"b"} `), &v); fault != nil || v.Type != "b" {
		t.Errorf("%v, %q", fault, v.Type)
	}
}
