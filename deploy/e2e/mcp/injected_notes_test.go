// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/mcp -run TestInjectedNotes

package mcp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

const (
	injectedNotes = "testdata/injected-notes.json"
	// injectedAnswers shows what models read: results of tools/call, as they are sent, with
	// ids, times and selections replaced.
	injectedAnswers = "testdata/injected-notes.golden"
)

// injected is a note that pretends to be instructions, JSON or the service itself.
type injected struct {
	Name string
	Note string
	// Shown is the stored text, if it differs from the note.
	Shown string
	// Find is a word of the note to search for.
	Find string
}

// TestInjectedNotes stores notes that pretend to be instructions, JSON or the service
// itself, and reads them: each is one string in both blocks of the answer, equal to what is
// stored, in a field that text_by_others names.
func TestInjectedNotes(t *testing.T) {
	var notes []injected
	data, err := os.ReadFile(injectedNotes)
	if err != nil || json.Unmarshal(data, &notes) != nil || len(notes) != 20 {
		t.Fatalf("%s has %d notes: %v", injectedNotes, len(notes), err)
	}
	harness.EachTopology(t, func(t *testing.T, s *harness.Service) {
		var golden strings.Builder
		agent := s.NewMember(t).Agent(t)
		for i, note := range notes {
			fmt.Fprintf(&golden, "## %d. %s\n", i+1, note.Name)
			person := agent.Create(t, harness.Arguments{"name": fmt.Sprintf("Note Case%02d", i+1)})
			agent.Call(t, "add_note", harness.Arguments{"connection_ids": []string{person}, "body": note.Note})
			stored := cmp.Or(note.Shown, note.Note)
			for _, read := range []struct {
				tool, field string
				arguments   harness.Arguments
			}{
				{"get_connection", "body", harness.Arguments{"id": person, "include": []string{"notes"}}},
				{"list_timeline", "text", harness.Arguments{"connection_id": person}},
				{"search_connections", "snippet", harness.Arguments{"query": note.Find}},
			} {
				result := agent.Post(t, harness.ToolCall(t, read.tool, read.arguments)).Reply(t).Result
				checkInjected(t, read.tool, read.field, result, stored)
				fmt.Fprintf(&golden, "%s\n%s\n", read.tool, settled(result))
			}
		}
		compareGolden(t, injectedAnswers, golden.String())
	})
}

// checkInjected checks the result of a call that reads a note in a field.
func checkInjected(t *testing.T, tool, field string, result json.RawMessage, stored string) {
	t.Helper()
	var read struct {
		Content           []struct{ Text string }
		StructuredContent json.RawMessage
	}
	if err := json.Unmarshal(result, &read); err != nil || len(read.Content) != 1 {
		t.Fatalf("%s: %v\n%s", tool, err, result)
	}
	if read.Content[0].Text != string(read.StructuredContent) {
		t.Errorf("%s: the blocks differ:\n%s", tool, result)
	}
	decoder := json.NewDecoder(bytes.NewReader(read.StructuredContent))
	var begin []any
	for range 2 {
		token, err := decoder.Token()
		if err != nil {
			t.Fatal(err)
		}
		begin = append(begin, token)
	}
	var answer map[string]any
	if err := json.Unmarshal(read.StructuredContent, &answer); err != nil {
		t.Fatal(err)
	}
	named := harness.At[[]any](t, answer, "text_by_others")
	if begin[1] != "text_by_others" || !slices.Contains(named, any(field)) {
		t.Errorf("%s begins with %v: %v, without %s", tool, begin[1], named, field)
	}
	texts := textsOf(answer, field)
	if !slices.ContainsFunc(texts, func(text string) bool { return isOrCut(text, stored) }) {
		t.Errorf("%s has %q in %s, want %q", tool, texts, field, stored)
	}
}

// isOrCut reports whether a text is the stored one, or a part of it with an ellipsis at the
// ends that were cut.
func isOrCut(text, stored string) bool {
	part := strings.TrimSuffix(strings.TrimPrefix(text, "…"), "…")
	oneLine := strings.Join(strings.Fields(stored), " ") // as snippets are
	return text == stored || part != "" && (part != text && strings.Contains(stored, part) || strings.Contains(oneLine, part))
}

// textsOf returns the texts of the members with a name, at any depth.
func textsOf(value any, name string) []string {
	var texts []string
	switch v := value.(type) {
	case map[string]any:
		if text, ok := v[name].(string); ok {
			texts = append(texts, text)
		}
		for _, inside := range v {
			texts = append(texts, textsOf(inside, name)...)
		}
	case []any:
		for _, inside := range v {
			texts = append(texts, textsOf(inside, name)...)
		}
	}
	return texts
}

var (
	anyID        = regexp.MustCompile(`\b([a-z]{3})_[a-z]{2}\d{3}[a-z]{2}\d{3}\b`)
	anyTime      = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d[.\d]*)?Z`)
	anySelection = regexp.MustCompile(`(selection\\?":\\?")[^"\\]+`)
	anyRemaining = regexp.MustCompile(`"remaining":\d+`)
)

// settled returns a result without the parts that differ between runs.
func settled(result json.RawMessage) string {
	out := anyID.ReplaceAllString(string(result), "${1}_0")
	out = anyTime.ReplaceAllString(out, "2026-11-23T00:00:00Z")
	out = anySelection.ReplaceAllString(out, "${1}sel")
	return anyRemaining.ReplaceAllString(out, `"remaining":1`)
}

// compareGolden compares text with a golden file, which -update rewrites.
func compareGolden(t *testing.T, file, text string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v (go test -update writes it)", err)
	}
	if want := string(golden); text != want {
		at := 0
		for at < min(len(text), len(want)) && text[at] == want[at] {
			at++
		}
		t.Errorf("%s is stale from byte %d on (go test -update writes it): got\n%.300s\nwant\n%.300s", file, at, text[at:], want[at:])
	}
}
