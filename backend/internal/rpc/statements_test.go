package rpc_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
)

// statements counts the statements of a database by their first word.
type statements struct {
	mu    sync.Mutex
	count map[string]int
}

// Observe implements db.QueryObserver.
func (s *statements) Observe(_ context.Context, sent db.Statement, _ string, _ time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count[sent.Operation()]++
}

// reset forgets the statements so far.
func (s *statements) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count = map[string]int{}
}

// line returns the number of statements, and how many there were of each kind.
func (s *statements) line(row string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum, kinds := 0, []string{}
	for _, operation := range slices.Sorted(maps.Keys(s.count)) {
		sum += s.count[operation]
		kinds = append(kinds, fmt.Sprint(operation, " ", s.count[operation]))
	}
	return fmt.Sprintf("%-44s %2d  %s\n", row, sum, strings.Join(kinds, ", "))
}

// toolCall is a line of testdata/calls.jsonl: a call of a tool whose cost is recorded. In
// its arguments, {name}, {misspelt}, {email}, {organization} and "{person}" are those of a
// person, "{other}" is the id of another one, {n} is the number of the call, {flip} and
// {flop} are true and false, and the other way round in the next call, "{days}" is a
// changing number, {rows} are lines of a file, and "{made}" is what Before returned.
type toolCall struct {
	Row, Tool string
	Arguments json.RawMessage
	Before    *struct {
		Tool      string
		Arguments json.RawMessage
		Keep      string // path in the answer
		Once      bool   // for all calls, not for each; benchmarks repeat calls
	}
}

func toolCalls(t *testing.T) []toolCall {
	t.Helper()
	file, err := os.Open("testdata/calls.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	var list []toolCall
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var c toolCall
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		list = append(list, c)
	}
	return list
}

// TestStatementsPerTool compares the number of statements of each tool, at 200 people, with
// a golden file: a tool that needs one more must be meant to. The statements that find the
// credential and charge the credits count, too; writes have an idempotency key.
func TestStatementsPerTool(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		watch := &statements{count: map[string]int{}}
		s, err := db.Open(t.Context(), db.Config{URL: url, Queries: watch})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		b := serve(t, s, time.Now)
		b.member = dbtest.Member(t, s, "maria")
		b.bearer = dbtest.Token(t, s, b.member, b.rpcs.Scopes()...)
		words := b.furnish(t)
		missing := map[string]bool{}
		for _, tool := range b.rpcs.Tools() {
			missing[tool.Tool.Name] = true
		}
		var got strings.Builder
		for n, c := range toolCalls(t) {
			b.count(t, watch, c, words, n)
			got.WriteString(watch.line(c.Row))
			delete(missing, c.Tool)
		}
		for tool := range missing {
			t.Errorf("add a call of %s to testdata/calls.jsonl", tool)
		}
		compareStatements(t, filepath.Join("testdata", "statements", s.Engine()+".txt"), got.String())
	})
}

// furnish gives the member a network of 200 people, and returns the words of calls.
func (b *bundle) furnish(t *testing.T) *strings.Replacer {
	t.Helper()
	var ids []string
	for i := range 200 {
		tag, place := "colleague", "Berlin, Germany"
		switch {
		case i < 50:
			tag = "fifty"
		case i >= 150:
			tag = "shelf"
		}
		if i%4 == 0 {
			place = "Porto, Portugal"
		}
		ids = append(ids, b.made(t, fmt.Sprintf(
			`{"name":"Ana Number%d","organization":"Works %d","title":"Engineer","emails":["ana.%d@people.example"],"tags":[%q,"alumni"],"location":%q}`, i, i/10, i, tag, place)))
	}
	fifty := strings.Join(ids[:50], `","`)
	for _, c := range [][2]string{
		{saveGroup, `{"name":"Circle","cadence_days":90}`},
		{updateMembership, `{"connection_ids":["` + fifty + `"],"add_groups":["Circle"]}`},
		{setCadence, `{"connection_ids":["` + fifty + `"],"days":30}`},
		{addNote, `{"connection_ids":["` + ids[60] + `"],"body":"about tides, for Works 6"}`},
		{logCall, `{"connection_ids":["` + ids[60] + `","` + ids[61] + `"],"kind":"call","occurred_at":"2026-01-05T10:00:00Z"}`},
		{linkPeople, `{"from_id":"` + ids[60] + `","to_id":"` + ids[61] + `","type":"friend"}`},
		{createReminder, `{"text":"call","due_on":"2031-01-01","connection_id":"` + ids[60] + `"}`},
	} {
		if got := b.call(t, c[0], c[1]); got.status != http.StatusOK {
			t.Fatalf("%s %s: %v", c[0], c[1], got.body)
		}
	}
	b.show(t, b.member, page("Maria", account.Public))
	return strings.NewReplacer("{person}", ids[60], "{other}", ids[61], "{name}", "Ana Number60", "{misspelt}", "Ana Nubmer60", "{email}", "ana.60@people.example",
		"{organization}", "Works 6", "{username}", "maria", "{today}", time.Now().UTC().Format(time.DateOnly), `"{flip}"`, "true", `"{flop}"`, "false",
		"{flip}", "true", "{flop}", "false", `"{days}"`, "60", "{rows}", `Ana\n`)
}

// count makes the call and leaves its statements in watch. A reading tool is called twice,
// and the second call counts: the first one may bring an index up to date.
func (b *bundle) count(t *testing.T, watch *statements, c toolCall, words *strings.Replacer, n int) {
	t.Helper()
	send := func(tool, arguments string) answer {
		rule, _ := b.rpcs.Tool(tool)
		arguments = words.Replace(strings.ReplaceAll(arguments, "{n}", strconv.Itoa(n)))
		call := b.call
		if rule.Writes {
			call = b.withNewKey
		}
		got := call(t, rule.Procedure, arguments)
		if got.status != http.StatusOK {
			t.Fatalf("%s: %s %s: %v", c.Row, tool, arguments, got.body)
		}
		return got
	}
	arguments := string(c.Arguments)
	if c.Before != nil {
		var made any = send(c.Before.Tool, string(c.Before.Arguments)).body
		for step := range strings.SplitSeq(c.Before.Keep, ".") {
			made = made.(map[string]any)[step] //nolint:forcetypeassert // otherwise the path is wrong
		}
		value, err := json.Marshal(made)
		if err != nil {
			t.Fatal(err)
		}
		arguments = strings.ReplaceAll(arguments, `"{made}"`, string(value))
	}
	if rule, _ := b.rpcs.Tool(c.Tool); !rule.Writes {
		send(c.Tool, arguments)
	} else if err := b.credits.Flush(t.Context()); err != nil { // it writes nobody else's charges
		t.Fatal(err)
	}
	watch.reset()
	send(c.Tool, arguments)
}

// withNewKey is withKey with a key of its own for each call.
func (b *bundle) withNewKey(t *testing.T, procedure, body string, headers ...string) answer {
	t.Helper()
	return b.withKey(t, rand.Text(), procedure, body, headers...)
}

func compareStatements(t *testing.T, path, got string) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got); if the change is meant, rewrite it with -update:\n%s", path, diff)
	}
}
