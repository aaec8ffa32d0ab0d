package content_test

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/content"
	"github.com/kith-crm/kith/backend/internal/fault"
)

func TestParse(t *testing.T) {
	t.Parallel()
	got, err := content.Parse("BEGIN:VCARD\r\nitem1.EMAIL;TYPE=home,\"a;b:c\";PREF:v@kith.exa\r\n mple\r\n\r\nNOTE:a\\nb: c\n\tdone\nEND:VCARD")
	want := []content.Line{
		{Name: "BEGIN", Value: "VCARD"},
		{Group: "item1", Name: "EMAIL", Parameters: []content.Parameter{{Name: "TYPE", Values: []string{"home", "a;b:c"}}, {Name: "TYPE", Values: []string{"PREF"}}}, Value: "v@kith.example"},
		{Name: "NOTE", Value: `a\nb: cdone`},
		{Name: "END", Value: "VCARD"},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %#v, %v", got, err)
	}
	if line := got[1].String(); line != `item1.EMAIL;TYPE=home,"a;b:c";TYPE=PREF:v@kith.example` {
		t.Errorf("the line is %s", line)
	}
	for name, text := range map[string]string{
		"no colon": "NOTE", "no name": ":x", "too many lines": strings.Repeat("A:\n", content.MaxLines+1), "too many parameters": "A" + strings.Repeat(";B=C", content.MaxParameters+1) + ":",
	} {
		if _, err := content.Parse(text); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWriteLine(t *testing.T) {
	t.Parallel()
	long := "NOTE:" + strings.Repeat("ä€😀", 100)
	var b strings.Builder
	content.WriteLine(&b, long)
	for line := range strings.SplitSeq(strings.TrimSuffix(b.String(), "\r\n"), "\r\n") {
		if len(line) > 75 || !utf8.ValidString(line) {
			t.Errorf("the line %q has %d octets", line, len(line))
		}
	}
	if lines, err := content.Parse(b.String()); err != nil || len(lines) != 1 || lines[0].String() != long {
		t.Errorf("read again, it is %v, %v", lines, err)
	}
	if text := "a\\n,;\nb"; content.Unescape(content.Escape(text)) != text {
		t.Errorf("%q becomes %q", text, content.Unescape(content.Escape(text)))
	}
}

// FuzzParse checks that what Parse reads is written and read again as the same lines.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Vera\r\nEND:VCARD\r\n", "item1.X-A;X-B=\"a:b\";C=d,\"e\":f\\,g", "A;B=\"c:d", "A;=:\"", "a.b.c;;x=,:y\r z", "\ufeffA\r\r:B", "A;B==:C",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		lines, err := content.Parse(text)
		if err != nil {
			return
		}
		var b strings.Builder
		for _, line := range lines {
			content.WriteLine(&b, line.String())
		}
		again, err := content.Parse(b.String())
		if err != nil || !reflect.DeepEqual(again, lines) {
			t.Errorf("%q was read as %#v, and then as %#v, %v", text, lines, again, err)
		}
	})
}
