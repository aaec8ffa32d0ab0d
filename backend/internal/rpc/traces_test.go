package rpc_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// The lengths of an id's parts: con_ and the 10 characters of those that are made.
const (
	prefixLength = len("con_")
	idLength     = prefixLength + 10
)

// idsIn returns the ids in a text, in their order, with repetitions. It uses no regular
// expression: tests search all data of a member after each call, which took most of their time.
func idsIn(text string) []string {
	var out []string
	for start := 0; ; {
		at := strings.IndexByte(text[start:], '_')
		if at < 0 {
			return out
		}
		at += start
		start = at + 1
		if from, end := at-prefixLength+1, at+1+idLength-prefixLength; from >= 0 && end <= len(text) && isID(text[from:end]) {
			out = append(out, text[from:end])
			start = end
		}
	}
}

func isID(text string) bool {
	if len(text) != idLength || text[prefixLength-1] != '_' {
		return false
	}
	const form = "aaa_aa000aa000"
	for i, c := range []byte(text) {
		if form[i] == 'a' && (c < 'a' || c > 'z') || form[i] == '0' && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// mark returns the unique part of a coined word. Phone numbers have digits instead.
func mark(member, word int) string { return fmt.Sprintf("q%dx%dz", member, word) }

const phonePrefix = "+4822"

func phone(member, word int) string {
	return fmt.Sprintf("%s%03d%04d", phonePrefix, member%1000, word%10000)
}

// marksIn returns the marks in a text.
func marksIn(text string) []string {
	var out []string
	for rest := text; ; {
		at := strings.IndexByte(rest, 'q')
		if at < 0 {
			break
		}
		rest = rest[at:]
		if n := markLength(rest); n > 0 {
			out = append(out, rest[:n])
			rest = rest[n:]
			continue
		}
		rest = rest[1:]
	}
	for rest := text; ; {
		at := strings.Index(rest, phonePrefix)
		if at < 0 || len(rest) < at+len(phone(0, 0)) {
			return out
		}
		rest = rest[at:]
		out = append(out, rest[:len(phone(0, 0))])
		rest = rest[len(phonePrefix):]
	}
}

// markLength returns the length of the mark at the beginning of a text; 0 for none.
func markLength(text string) int {
	i, ends := 1, []byte("xz")
	for _, end := range ends {
		from := i
		for i < len(text) && text[i] >= '0' && text[i] <= '9' {
			i++
		}
		if i == from || i == len(text) || text[i] != end {
			return 0
		}
		i++
	}
	return i
}

// traces returns what gives a member away: the ids and the marks in texts.
func traces(texts ...string) map[string]bool {
	found := map[string]bool{}
	for _, text := range texts {
		for _, trace := range slices.Concat(idsIn(text), marksIn(text)) {
			found[trace] = true
		}
	}
	return found
}

func TestTraces(t *testing.T) {
	t.Parallel()
	const id = "con_oh347yu338"
	for text, want := range map[string][]string{
		"":                          nil,
		"__con_x_" + id + "_" + id:  {id, id},
		`{"id":"` + id + `"}`:       {id},
		id[:len(id)-1]:              nil,
		"Con" + id[3:]:              nil,
		"q1x2z qq3x4z@x qx1z q5x":   {"q1x2z", "q3x4z"},
		"q1xq1x22zq":                {"q1x22z"},
		phone(7, 12) + "+4822123":   {"+48220070012"},
		"tel:" + phone(1234, 20000): {"+48222340000"},
	} {
		if got := append(idsIn(text), marksIn(text)...); !slices.Equal(got, want) {
			t.Errorf("%q: %q", text, got)
		}
	}
}
