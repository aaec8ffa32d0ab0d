package mcp

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/kith-crm/kith/edge/internal/upstream"
)

func TestAnswerIsRepeatedAsText(t *testing.T) {
	t.Parallel()
	for _, src := range []string{
		`{}`,
		`{"a": 1, "b" :[ 1 , 2 ] }`,
		`{"a b":"c  d"}`,
		`{"a":"\"x\" \\ \n \u0022"}`,
		`{"a":"\\"  ,"b":"\\\""}`,
		"{\n\t\"a\":\r\"\u2028é😀\"\n}",
		`{"number":1.50,"large":12345678901234567890}`,
	} {
		checkAnswer(t, []byte(src))
	}
}

func TestBrokenAnswers(t *testing.T) {
	t.Parallel()
	for _, src := range []string{``, `[]`, `"a"`, `{"a`, `{"a":"b\`, "{\"a\":\"\n\"}", `{"a\"}`, `{} {}`} {
		if _, ok := toolResult(upstream.Answer{Body: []byte(src)}, nil); ok {
			t.Errorf("%q is accepted", src)
		}
	}
}

// checkAnswer compares both forms of an answer with encoding/json's compact one.
func checkAnswer(t *testing.T, src []byte) {
	t.Helper()
	var compact bytes.Buffer
	if json.Compact(&compact, src) != nil || compact.Bytes()[0] != '{' {
		return
	}
	result, ok := toolResult(upstream.Answer{Body: src}, nil)
	if !ok {
		t.Fatalf("%q is refused", src)
	}
	var read struct {
		Content           []struct{ Text string }
		StructuredContent json.RawMessage
	}
	if err := json.Unmarshal(result, &read); err != nil {
		t.Fatalf("%q became %q: %v", src, result, err)
	}
	if read.Content[0].Text != compact.String() || string(read.StructuredContent) != compact.String() {
		t.Errorf("%q became %q, want %q twice", src, result, compact.String())
	}
}

func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{`{"a": "\\\"", "b" : [1, {"c":"\u0000"}]}`, `{"a":"\\"}`, `{"a":[ ]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		if bytes.IndexFunc(src, func(r rune) bool { return r == '\ufffd' }) >= 0 {
			return // bad UTF-8, which the backend does not write
		}
		checkAnswer(t, src)
	})
}
