package mcp

import (
	"bytes"
	"encoding/json"
	"testing"
)

func TestQuoteJSON(t *testing.T) {
	t.Parallel()
	for _, src := range []string{
		`{}`,
		`{"a": 1, "b" :[ 1 , 2 ] }`,
		`{"a b":"c  d"}`,
		`{"a":"\"x\" \\ \n \u0022"}`,
		`{"a":"\\"  ,"b":"\\\""}`,
		"{\n\t\"a\":\r\"\u2028é😀\"\n}",
	} {
		checkQuoting(t, []byte(src))
	}
}

func TestQuoteReportsBrokenStrings(t *testing.T) {
	t.Parallel()
	for _, src := range []string{`{"a`, `{"a":"b\`, "{\"a\":\"\n\"}", `{"a\"}`} {
		if _, ok := appendQuotedJSON(nil, []byte(src)); ok {
			t.Errorf("%q is quoted as if it were whole", src)
		}
	}
}

// checkQuoting compares the quoted text with encoding/json's compact one.
func checkQuoting(t *testing.T, src []byte) {
	t.Helper()
	var compact bytes.Buffer
	if err := json.Compact(&compact, src); err != nil {
		return
	}
	quoted, ok := appendQuotedJSON([]byte{'"'}, src)
	if !ok {
		t.Fatalf("%q cannot be quoted", src)
	}
	var text string
	if err := json.Unmarshal(append(quoted, '"'), &text); err != nil {
		t.Fatalf("quoted %q = %q: %v", src, quoted, err)
	}
	if text != compact.String() {
		t.Errorf("quoted %q reads %q, want %q", src, text, compact.String())
	}
}

func FuzzQuoteJSON(f *testing.F) {
	for _, seed := range []string{`{"a": "\\\"", "b" : [1, {"c":"\u0000"}]}`, `"\\"`, `[ ]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		if bytes.IndexFunc(src, func(r rune) bool { return r == '\ufffd' }) >= 0 {
			return // bad UTF-8, which the backend does not write
		}
		checkQuoting(t, src)
	})
}
