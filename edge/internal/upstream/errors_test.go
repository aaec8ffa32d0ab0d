package upstream

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"github.com/google/go-cmp/cmp"
)

func TestViolations(t *testing.T) {
	t.Parallel()
	name := func(s string) *validate.FieldPathElement { return &validate.FieldPathElement{FieldName: &s} }
	index := name("emails")
	index.Subscript = &validate.FieldPathElement_Index{Index: 1}
	key := name("labels")
	key.Subscript = &validate.FieldPathElement_StringKey{StringKey: `a"b`}
	number := name("by_id")
	number.Subscript = &validate.FieldPathElement_IntKey{IntKey: -3}
	flag := name("by_flag")
	flag.Subscript = &validate.FieldPathElement_BoolKey{BoolKey: true}
	count := name("by_count")
	count.Subscript = &validate.FieldPathElement_UintKey{UintKey: 7}
	path := func(elements ...*validate.FieldPathElement) *validate.FieldPath {
		return &validate.FieldPath{Elements: elements}
	}
	list := &validate.Violations{Violations: []*validate.Violation{
		{Field: path(index), Message: new("must be an address")},
		{Field: path(name("a"), key, name("c"))},
		{Field: path(number, flag, count)},
		{Message: new("give at least one")},
	}}
	want := []Field{
		{Path: "emails[1]", Message: "must be an address"},
		{Path: `a.labels["a\"b"].c`},
		{Path: "by_id[-3].by_flag[true].by_count[7]"},
		{Message: "give at least one"},
	}
	if diff := cmp.Diff(want, appendViolations(nil, list)); diff != "" {
		t.Error(diff)
	}
}

func TestRawJSONCopies(t *testing.T) {
	t.Parallel()
	var m raw
	data := []byte(`{"a":1}`)
	if err := (rawJSON{}).Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	data[2] = 'x'
	if string(m.data) != `{"a":1}` {
		t.Errorf("the message shares memory with the buffer: %s", m.data)
	}
	if out, err := (rawJSON{}).Marshal(&m); err != nil || &out[0] == &m.data[0] {
		t.Errorf("the buffer shares memory with the message: %v", err)
	}
	if _, err := (rawJSON{}).Marshal("x"); err == nil {
		t.Error("a foreign type is marshalled")
	}
	if err := (rawJSON{}).Unmarshal(nil, "x"); err == nil {
		t.Error("a foreign type is unmarshalled")
	}
}

// A call that failed because its caller disconnected is not logged as an error.
func TestLogFailure(t *testing.T) {
	t.Parallel()
	gone, leave := context.WithCancel(t.Context())
	leave()
	late, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	for name, tt := range map[string]struct {
		ctx  context.Context
		want string
	}{"here": {t.Context(), "ERROR"}, "gone": {gone, "INFO"}, "too late": {late, "ERROR"}} {
		var log bytes.Buffer
		LogFailure(tt.ctx, slog.New(slog.NewTextHandler(&log, nil)), errors.New("no route to host"))
		if line := log.String(); !strings.Contains(line, "level="+tt.want) || !strings.Contains(line, "no route to host") {
			t.Errorf("%s: %s", name, line)
		}
	}
}
