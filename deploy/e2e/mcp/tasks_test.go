// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/mcp -run TestTasks

package mcp

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"math"
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
)

var update = flag.Bool("update", false, "rewrite the table of tasks and the golden files")

// The limits of a task.
const (
	medianCalls = 2
	medianBytes = 6_000
	mostCalls   = 5
)

// taskTable is the page with the table of tasks, which is between taskMarks.
var (
	taskTable = []string{"deploy", "docs", "agents.md"}
	taskMarks = [2]string{"<!-- tasks -->\n", "<!-- end of tasks -->\n"}
)

// task is the cost of a task.
type task struct {
	Ask   string `json:"ask"`
	Calls int    `json:"calls"`
	Bytes int    `json:"bytes"` // of the structured answers
}

// TestTasks: an agent solves a person's tasks with few calls and short answers, and the
// documentation says how many.
func TestTasks(t *testing.T) {
	harness.EachTopology(t, func(t *testing.T, s *harness.Service) {
		dir := t.TempDir()
		network, measured := filepath.Join(dir, "network.json"), filepath.Join(dir, "measured.json")
		document := harness.Encode(t, sandbox.Build(time.Now().UTC()).Document)
		if err := os.WriteFile(network, []byte(document), 0o600); err != nil {
			t.Fatal(err)
		}
		ada := s.NewMember(t)
		harness.RunNodeTests(t, "tasks.test.mjs", map[string]string{
			"BASE_URL": s.Base, "MCP_PATH": harness.PathCurrent, "MEMBER_TOKEN": ada.Token(t).Bearer, "HELPER_TOKEN": ada.Token(t).Bearer,
			"NETWORK": network, "MEASURED": measured,
		})
		if t.Failed() {
			return
		}
		var got struct {
			Tasks   []task `json:"tasks"`
			Answers []struct {
				Tool  string `json:"tool"`
				Bytes int    `json:"bytes"`
			} `json:"answers"`
		}
		text, err := os.ReadFile(measured)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		largest := map[string]int{}
		for _, one := range got.Answers {
			largest[one.Tool] = max(largest[one.Tool], one.Bytes)
		}
		t.Log("bytes of the largest answer of each tool: ", largest)
		checkTasks(t, got.Tasks)
		checkTaskTable(t, s, got.Tasks)
	})
}

func checkTasks(t *testing.T, tasks []task) {
	t.Helper()
	if len(tasks) < 40 {
		t.Errorf("there are %d tasks, want 40", len(tasks))
	}
	if calls := median(tasks, func(one task) int { return one.Calls }); calls > medianCalls {
		t.Errorf("the median task takes %d calls", calls)
	}
	if bytes := median(tasks, func(one task) int { return one.Bytes }); bytes > medianBytes {
		t.Errorf("the median task takes %d bytes", bytes)
	}
	for _, one := range tasks {
		if one.Calls > mostCalls {
			t.Errorf("%q takes %d calls", one.Ask, one.Calls)
		}
	}
}

// median returns the upper median of an even number of tasks.
func median(tasks []task, of func(task) int) int {
	sorted := slices.SortedFunc(slices.Values(tasks), func(a, b task) int { return cmp.Compare(of(a), of(b)) })
	return of(sorted[len(sorted)/2])
}

// checkTaskTable compares the tasks with the table in the documentation. It allows small
// differences, since some answers are a few bytes longer on some days.
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
	tasks = withMedian(tasks)
	rows := regexp.MustCompile(`(?m)^\| (.+) \| (\d+) \| ([0-9.]+) \|$`).FindAllStringSubmatch(table, -1)
	if len(rows) != len(tasks) {
		t.Fatalf("the table has %d rows, want %d: make update", len(rows), len(tasks))
	}
	for i, row := range rows {
		kilobytes, err := strconv.ParseFloat(row[3], 64)
		if err != nil {
			t.Fatal(err)
		}
		bytes := kilobytes * 1000
		near := math.Abs(bytes-float64(tasks[i].Bytes)) <= max(500, bytes/5)
		if row[1] != tasks[i].Ask || row[2] != strconv.Itoa(tasks[i].Calls) || !near {
			t.Errorf("the table says %q, and %+v was measured: make update", row[0], tasks[i])
		}
	}
}

func tableOf(tasks []task) string {
	var b strings.Builder
	b.WriteString("| Task | Calls | KB |\n| --- | --- | --- |\n")
	for _, one := range withMedian(tasks) {
		fmt.Fprintf(&b, "| %s | %d | %.1f |\n", one.Ask, one.Calls, float64(one.Bytes)/1000)
	}
	return b.String()
}

// withMedian adds the median task as the last row.
func withMedian(tasks []task) []task {
	return append(slices.Clone(tasks), task{
		"Median", median(tasks, func(one task) int { return one.Calls }), median(tasks, func(one task) int { return one.Bytes }),
	})
}
