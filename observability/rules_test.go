package observability_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// promtool returns the path of promtool, which checks and tests rules.
func promtool(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("promtool is not a part of this repository")
	}
	path, err := exec.LookPath("promtool")
	if err != nil {
		t.Fatal("promtool is missing: `make test` installs it, `go test -short` skips its tests")
	}
	return path
}

func ruleFiles(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no file matches %s: %v", pattern, err)
	}
	return files
}

func readAll(t *testing.T, files []string) string {
	t.Helper()
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		all.Write(text)
	}
	return all.String()
}

func TestRulesAreValid(t *testing.T) {
	t.Parallel()
	args := append([]string{"check", "rules"}, ruleFiles(t, "rules/*.yml")...)
	if out, err := exec.CommandContext(t.Context(), promtool(t), args...).CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
}

func TestRules(t *testing.T) {
	t.Parallel()
	program := promtool(t)
	for _, file := range ruleFiles(t, "rules/tests/*.yml") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			if out, err := exec.CommandContext(t.Context(), program, "test", "rules", file).CombinedOutput(); err != nil {
				t.Errorf("%v:\n%s", err, out)
			}
		})
	}
}

// TestAlerts: each alert has a severity, a runbook page with its three parts, and
// a case in which it fires and one in which it is silent; each page has an alert.
func TestAlerts(t *testing.T) {
	t.Parallel()
	tests := readAll(t, ruleFiles(t, "rules/tests/*.yml"))
	pages := map[string]bool{}
	alerts := regexp.MustCompile(`(?m)^ +- alert: (\w+)$`).Split(readAll(t, ruleFiles(t, "rules/*.yml")), -1)[1:]
	names := regexp.MustCompile(`(?m)^ +- alert: (\w+)$`).FindAllStringSubmatch(readAll(t, ruleFiles(t, "rules/*.yml")), -1)
	if len(names) < 20 {
		t.Fatalf("only %d alerts are read", len(names))
	}
	for i, name := range names {
		alert := name[1]
		if !regexp.MustCompile(`labels: \{severity: (page|ticket)\}`).MatchString(alerts[i]) || !strings.Contains(alerts[i], "summary: ") {
			t.Errorf("%s has no severity or no summary", alert)
		}
		url := regexp.MustCompile(`runbook_url: https://\S+/observability/(runbooks/\w+\.md)\n`).FindStringSubmatch(alerts[i])
		if url == nil {
			t.Errorf("%s has no runbook", alert)
			continue
		}
		pages[url[1]] = true
		for expected, what := range map[string]string{`exp_alerts:\n +- exp_labels:`: "fires", `exp_alerts: \[\]`: "is silent"} {
			if !regexp.MustCompile(`alertname: ` + alert + `\n +eval_time: \w+\n +` + expected).MatchString(tests) {
				t.Errorf("no test has a case in which %s %s", alert, what)
			}
		}
	}
	for _, page := range ruleFiles(t, "runbooks/*.md") {
		text := readAll(t, []string{page})
		if !pages[page] {
			t.Errorf("no alert links to %s", page)
		}
		delete(pages, page)
		for _, part := range []string{"## What users feel\n", "## How to check\n", "## What to do\n"} {
			if !strings.Contains(text, part) {
				t.Errorf("%s has no part %q", page, strings.TrimSpace(part))
			}
		}
		for _, link := range regexp.MustCompile(`\]\((\w+\.md)\)`).FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join("runbooks", link[1])); err != nil {
				t.Errorf("%s leads nowhere: %v", page, err)
			}
		}
	}
	for page := range pages {
		t.Errorf("%s does not exist", page)
	}
}

// TestRulesNameMetrics: every metric in rules, their tests and the runbooks is in the list of
// metrics, or recorded by a rule.
func TestRulesNameMetrics(t *testing.T) {
	t.Parallel()
	listed := readAll(t, []string{metricsList})
	rules := readAll(t, ruleFiles(t, "rules/*.yml"))
	var recorded []string
	for _, name := range regexp.MustCompile(`(?m)record: (\S+)$`).FindAllStringSubmatch(rules, -1) {
		recorded = append(recorded, name[1])
	}
	all := rules + readAll(t, ruleFiles(t, "rules/tests/*.yml")) + readAll(t, ruleFiles(t, "runbooks/*.md"))
	series := regexp.MustCompile(`\bkith_[a-z0-9_:]+`)
	for _, group := range regexp.MustCompile(`(?m)^( +- name:|group_eval_order:).*$`).FindAllString(all, -1) {
		all = strings.ReplaceAll(all, group, "")
	}
	named := slices.Compact(slices.Sorted(slices.Values(series.FindAllString(all, -1))))
	if len(named) < 20 {
		t.Fatalf("only %d metrics are read", len(named))
	}
	for _, name := range named {
		bare := regexp.MustCompile(`_(bucket|count|sum)$`).ReplaceAllString(name, "")
		if !slices.Contains(recorded, name) && !strings.Contains(listed, "| `"+name+"` |") && !strings.Contains(listed, "| `"+bare+"` | histogram |") {
			t.Errorf("%s is neither a metric nor recorded", name)
		}
	}
}
