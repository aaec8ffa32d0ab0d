// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/mcp -run TestTasks

package mcp

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/deploy/e2e/harness"
	"github.com/kith-crm/kith/sandbox"
	"github.com/tiktoken-go/tokenizer"
)

var update = flag.Bool("update", false, "rewrite the table of tasks and the golden files")

// The limits of tasks, and of the texts of their answers in tokens of o200k_base.
const (
	fewestTasks  = 100
	medianCalls  = 2
	mostCalls    = 5
	medianTokens = 450
	mostTokens   = 3_000
)

// taskTable is the page with the table of tasks, which is between taskMarks.
var (
	taskTable = []string{"deploy", "docs", "agents.md"}
	taskMarks = [2]string{"<!-- tasks -->\n", "<!-- end of tasks -->\n"}
)

// task is what a model reads while it solves a task.
type task struct {
	Ask     string   `json:"ask"`
	Answers []answer `json:"answers"`
}

// answer is the answer to a call.
type answer struct {
	Tool   string `json:"tool"`
	Text   string `json:"text"`
	tokens int
}

// tokens returns the tokens of all answers.
func (one task) tokens() int {
	sum := 0
	for _, answer := range one.Answers {
		sum += answer.tokens
	}
	return sum
}

// TestTasks: an agent solves a person's tasks with few calls and short answers, and the
// documentation says how many.
func TestTasks(t *testing.T) {
	harness.EachTopology(t, func(t *testing.T, s *harness.Service) {
		tasks := playTasks(t, s, nil)
		if t.Failed() {
			return
		}
		checkTasks(t, tasks)
		checkTaskTable(t, s, tasks)
	})
}

// playTasks plays the tasks as a new member of the service.
func playTasks(t *testing.T, s *harness.Service, settings map[string]string) []task {
	t.Helper()
	dir := t.TempDir()
	network, measured := filepath.Join(dir, "network.json"), filepath.Join(dir, "measured.json")
	document := harness.Encode(t, sandbox.Build(time.Now().UTC()).Document)
	if err := os.WriteFile(network, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	ada := s.NewMember(t)
	all := map[string]string{
		"BASE_URL": s.Base, "MCP_PATH": harness.PathCurrent, "MEMBER_TOKEN": ada.Token(t).Bearer, "HELPER_TOKEN": ada.Token(t).Bearer,
		"NETWORK": network, "MEASURED": measured,
	}
	maps.Copy(all, settings)
	harness.RunNodeTests(t, "tasks.test.mjs", all)
	return readTasks(t, measured)
}

// readTasks reads the tasks that the scripts played, and counts the tokens of their answers.
func readTasks(t *testing.T, file string) []task {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var tasks []task
	if err := json.Unmarshal(text, &tasks); err != nil {
		t.Fatal(err)
	}
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range tasks {
		for i := range one.Answers {
			if one.Answers[i].tokens, err = codec.Count(one.Answers[i].Text); err != nil {
				t.Fatal(err)
			}
		}
	}
	return tasks
}

func checkTasks(t *testing.T, tasks []task) {
	t.Helper()
	if len(tasks) < fewestTasks {
		t.Errorf("there are %d tasks, want %d", len(tasks), fewestTasks)
	}
	calls, _, tokens := medians(tasks)
	if calls > medianCalls || tokens > medianTokens {
		t.Errorf("the median task takes %d calls, and the median answer %d tokens", calls, tokens)
	}
	for _, one := range tasks {
		if len(one.Answers) > mostCalls {
			t.Errorf("%q takes %d calls", one.Ask, len(one.Answers))
		}
		for _, answer := range one.Answers {
			if answer.tokens > mostTokens {
				t.Errorf("%q: an answer of %s has %d tokens", one.Ask, answer.Tool, answer.tokens)
			}
		}
	}
}

// medians returns the calls and the tokens of the median task, and the tokens of the median answer.
func medians(tasks []task) (calls, tokens, ofAnswer int) {
	var allCalls, allTokens, answers []int
	for _, one := range tasks {
		allCalls, allTokens = append(allCalls, len(one.Answers)), append(allTokens, one.tokens())
		for _, answer := range one.Answers {
			answers = append(answers, answer.tokens)
		}
	}
	return median(allCalls), median(allTokens), median(answers)
}

// median returns the upper median of an even number of values.
func median(values []int) int {
	slices.Sort(values)
	return values[len(values)/2]
}

// checkTaskTable compares the tasks with the table in the documentation. It allows small
// differences, since some answers are a few tokens longer on some days.
func checkTaskTable(t *testing.T, s *harness.Service, tasks []task) {
	t.Helper()
	file := harness.Repository(taskTable...)
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(page), taskMarks[0])
	table, after, closed := strings.Cut(rest, taskMarks[1])
	if !found || !closed {
		t.Fatalf("%s has no marks for the table of tasks", file)
	}
	if *update {
		if s.Topology == harness.SQLite {
			written := before + taskMarks[0] + tableOf(tasks) + taskMarks[1] + after
			if err := os.WriteFile(file, []byte(written), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	want := rowsOf(tasks)
	got := regexp.MustCompile(`(?m)^\| (.+) \| (\d+) \| (\d+) \|$`).FindAllStringSubmatch(table, -1)
	if len(got) != len(want) {
		t.Fatalf("the table has %d rows, want %d: make update", len(got), len(want))
	}
	for i, row := range got {
		tokens, err := strconv.Atoi(row[3])
		if err != nil {
			t.Fatal(err)
		}
		near := max(tokens-want[i].tokens, want[i].tokens-tokens) <= max(120, tokens/5)
		if row[1] != want[i].ask || row[2] != strconv.Itoa(want[i].calls) || !near {
			t.Errorf("the table says %q, and %+v was measured: make update", row[0], want[i])
		}
	}
}

func tableOf(tasks []task) string {
	var b strings.Builder
	b.WriteString("| Task | Calls | Tokens |\n| --- | --- | --- |\n")
	for _, one := range rowsOf(tasks) {
		fmt.Fprintf(&b, "| %s | %d | %d |\n", one.ask, one.calls, one.tokens)
	}
	return b.String()
}

// row is a row of the table.
type row struct {
	ask           string
	calls, tokens int
}

// rowsOf returns the rows of the table. The last ones are the medians.
func rowsOf(tasks []task) []row {
	var rows []row
	for _, one := range tasks {
		rows = append(rows, row{one.Ask, len(one.Answers), one.tokens()})
	}
	calls, tokens, ofAnswer := medians(tasks)
	return append(rows, row{"Median task", calls, tokens}, row{"Median answer", 1, ofAnswer})
}
