// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/mcp -run TestWrongCalls

package mcp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

const (
	// wrongCalls has one call on each line, and the call with which a model goes on. $ana, $merged and the like stand for
	// ids, see wrongNetwork; $said stands for the last id of the answer.
	wrongCalls = "testdata/wrong-calls.jsonl"
	// wrongAnswers has the text that a model reads after each call.
	wrongAnswers = "testdata/wrong-calls.golden"
)

// maxRefusal limits one sentence of an answer, in characters.
const maxRefusal = 300

// wrongCall is a call with a mistake.
type wrongCall struct {
	Tool      string
	Arguments json.RawMessage
	Retry     struct {
		Tool      string // the same one if left out
		Arguments json.RawMessage
		Known     []string // what a model knows by itself
	}
	answer string
}

// TestWrongCalls makes calls with the mistakes that models make. Each answer says what is wrong and
// how to fix it, in short sentences, and nothing is changed. One retry is enough, which takes what it needs from the answer.
func TestWrongCalls(t *testing.T) {
	data, err := os.ReadFile(wrongCalls)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	if len(lines) < 80 {
		t.Fatalf("%s has %d calls", wrongCalls, len(lines))
	}
	harness.EachTopology(t, func(t *testing.T, s *harness.Service) {
		agent, names := wrongNetwork(t, s)
		before := agent.Call(t, "list_changes", harness.Arguments{"limit": 1})
		var golden strings.Builder
		var calls []wrongCall
		for _, line := range lines {
			var call wrongCall
			if err := json.Unmarshal([]byte(line), &call); err != nil {
				t.Fatal(err)
			}
			reply := agent.Post(t, harness.ToolCall(t, call.Tool, harness.RawJSON(names.Replace(string(call.Arguments))))).Reply(t)
			call.answer = textOf(t, reply)
			calls = append(calls, call)
			fmt.Fprintf(&golden, "%s %s\n%s\n", call.Tool, harness.Shorten(string(call.Arguments)), refusalOf(t, call.answer))
		}
		after := agent.Call(t, "list_changes", harness.Arguments{"limit": 1})
		if harness.Encode(t, before) != harness.Encode(t, after) {
			t.Errorf("something was changed: %v", after)
		}
		compareGolden(t, wrongAnswers, golden.String())
		for _, call := range calls {
			call.mustMend(t, agent, names)
		}
	})
}

// mustMend makes the retry, which must succeed.
func (c wrongCall) mustMend(t *testing.T, agent harness.Agent, names *strings.Replacer) {
	t.Helper()
	tool := cmp.Or(c.Retry.Tool, c.Tool)
	c.mustHaveSaid(t, tool)
	arguments := string(c.Retry.Arguments)
	if ids := anyID.FindAllString(c.answer, -1); len(ids) > 0 {
		arguments = strings.ReplaceAll(arguments, "$said", ids[len(ids)-1])
	}
	reply := agent.Post(t, harness.ToolCall(t, tool, harness.RawJSON(names.Replace(arguments)))).Reply(t)
	var result harness.ToolResult
	if err := json.Unmarshal(reply.Result, &result); err != nil || reply.Error != nil || result.IsError {
		t.Errorf("after %s %s, which answered %q, %s %s fails: %s%v", c.Tool, c.Arguments, c.answer, tool, arguments, reply.Result, reply.Error)
	}
}

// mustHaveSaid wants the tool and the values of the retry to be in the answer or in the wrong call, unless they are ids that a
// model has, values that it knows, true or false, or days for which the answer shows the form.
func (c wrongCall) mustHaveSaid(t *testing.T, tool string) {
	t.Helper()
	day := regexp.MustCompile(`^(\d{4}-)?\d\d-\d\d$`)
	values := []string{tool}
	for _, leaf := range regexp.MustCompile(`[:[,]\s*(?:"([^"]*)"|(\d+))\s*[],}]`).FindAllStringSubmatch(string(c.Retry.Arguments), -1) {
		values = append(values, leaf[1]+leaf[2])
	}
	said := c.Tool + " " + string(c.Arguments) + " " + c.answer
	for _, value := range values {
		shown := day.MatchString(value) && regexp.MustCompile(`\d\d-\d\d`).MatchString(c.answer)
		if !strings.HasPrefix(value, "$") && !strings.Contains(said, value) && !slices.Contains(c.Retry.Known, value) && !shown {
			t.Errorf("the answer to %s %s does not say %q: %s", c.Tool, c.Arguments, value, c.answer)
		}
	}
}

// wrongNetwork creates a member with people in every state, and returns an agent and a replacer of
// the names in wrongCalls by ids.
func wrongNetwork(t *testing.T, s *harness.Service) (harness.Agent, *strings.Replacer) {
	t.Helper()
	agent := s.NewMember(t).Agent(t)
	id := func(tool, object string, arguments harness.Arguments) string {
		return harness.At[string](t, agent.Call(t, tool, arguments), object, "id")
	}
	ana := agent.Create(t, harness.Arguments{"name": "Ana Lopez", "organization": "Helios GmbH", "tags": []string{"investor", "page"}})
	ben := agent.Create(t, harness.Arguments{"name": "Ben Okafor", "organization": "Northwind", "tags": []string{"advisor", "page"}})
	merged := agent.Create(t, harness.Arguments{"name": "Anna Lopes"})
	agent.Call(t, "merge_connections", harness.Arguments{"into_id": ana, "from_ids": []string{merged}, "dry_run": false})
	archived := agent.Create(t, harness.Arguments{"name": "Archie Stone"})
	agent.Call(t, "archive_connections", harness.Arguments{"ids": []string{archived}})
	binned := agent.Create(t, harness.Arguments{"name": "Binny Moss"})
	agent.Call(t, "delete_connection", harness.Arguments{"id": binned, "confirm_name": "Binny Moss"})
	agent.Call(t, "save_group", harness.Arguments{"name": "Climate Tech"})
	of := func(a harness.Agent, tag string) string {
		return harness.At[string](t, a.Call(t, "search_connections", harness.Arguments{"tag": []string{tag}}), "selection")
	}
	stale := of(agent, "advisor")
	agent.Create(t, harness.Arguments{"name": "Another Advisor", "tags": []string{"advisor"}})
	stranger := s.NewMember(t).Agent(t)
	stranger.Create(t, harness.Arguments{"name": "Bob Stone", "tags": []string{"investor"}})
	selection := of(agent, "investor")
	agent.Call(t, "import_file", harness.Arguments{"filename": "people.csv", "content": "Name\nImogen Port", "dry_run": true, "wait_seconds": 20})
	page := agent.Call(t, "search_connections", harness.Arguments{"tag": []string{"page"}, "limit": 1})
	return agent, strings.NewReplacer(
		"$ana", ana, "$ben", ben, "$merged", merged, "$archived", archived, "$binned", binned,
		"$note", id("add_note", "note", harness.Arguments{"connection_ids": []string{ana}, "body": "hello"}),
		"$interaction", id("log_interaction", "interaction", harness.Arguments{"connection_ids": []string{ana}, "kind": "call"}),
		"$reminder", id("create_reminder", "reminder", harness.Arguments{"text": "x", "due_on": "2031-01-01"}),
		"$selection", selection, "$stale", stale, "$other", of(stranger, "investor"), "$tampered", selection[:len(selection)-4]+"AAAA",
		"$cursor", harness.At[string](t, page, "next_cursor"),
	)
}

// textOf returns the text that a model reads after a refused call.
func textOf(t *testing.T, reply harness.Reply) string {
	t.Helper()
	if reply.Error != nil {
		return reply.Error.Message
	}
	var result harness.ToolResult
	if err := json.Unmarshal(reply.Result, &result); err != nil || !result.IsError {
		t.Errorf("a wrong call was accepted: %s", reply.Result)
		return ""
	}
	return result.Text()
}

// refusalOf returns an answer without the parts that differ between runs, after it checked that it may help a model.
func refusalOf(t *testing.T, text string) string {
	t.Helper()
	for _, word := range []string{"internal", "protovalidate", "our side", "SQL"} {
		if strings.Contains(text, word) {
			t.Errorf("%q does not help a model", text)
		}
	}
	lines := strings.Split(text, "\n")
	slices.Sort(lines[1:]) // an object's members have no order
	for i, line := range lines {
		if n := utf8.RuneCountInString(line); n > maxRefusal {
			t.Errorf("%d characters: %s", n, line)
		}
		line = anyID.ReplaceAllString(line, "${1}_0")
		lines[i] = "  " + strings.ReplaceAll(line, time.Now().UTC().Format(time.DateOnly), "TODAY")
	}
	return strings.Join(lines, "\n")
}
