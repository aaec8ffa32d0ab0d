package ops

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// scale is the divisor of durations.
const scale = 30

var (
	// setting matches a duration that is the value of a setting: `for: 5m`.
	setting = regexp.MustCompile(`(?m)^(\s*[a-z_]+: )([0-9]+)(s|m|h|d)$`)
	// selected matches a duration in an expression: [5m].
	selected = regexp.MustCompile(`(\[)([0-9]+)(s|m|h|d)(?:\])`)
)

// scaled divides every duration in rules or settings.
func scaled(text string) string {
	for pattern, end := range map[*regexp.Regexp]string{setting: "", selected: "]"} {
		text = pattern.ReplaceAllStringFunc(text, func(found string) string {
			part := pattern.FindStringSubmatch(found)
			return part[1] + strconv.FormatInt(divided(part[2], part[3]).Milliseconds(), 10) + "ms" + end
		})
	}
	return text
}

func divided(number, unit string) time.Duration {
	n, _ := strconv.Atoi(number) // digits, by the pattern
	units := map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}
	return time.Duration(n) * units[unit] / scale
}

func TestScaled(t *testing.T) {
	t.Parallel()
	const text = "  for: 5m\n  scrape_interval: 15s\n  expr: |\n    rate(x_rate5m[3d]) > 600 and y - time() < 2 * 86400\n  record: x:ratio_rate5m\n"
	const want = "  for: 10000ms\n  scrape_interval: 500ms\n  expr: |\n    rate(x_rate5m[8640000ms]) > 600 and y - time() < 2 * 86400\n  record: x:ratio_rate5m\n"
	if got := scaled(text); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestRulesAreScaled: every duration in the rules is changed.
func TestRulesAreScaled(t *testing.T) {
	t.Parallel()
	before, after := 0, 0
	duration := regexp.MustCompile(`\[[0-9]+(s|m|h|d)\]|for: [0-9]+(s|m|h|d)\b`)
	for _, text := range rules(t) {
		before += len(duration.FindAllString(text, -1))
		after += len(duration.FindAllString(scaled(text), -1))
	}
	if before < 50 || after != 0 {
		t.Errorf("of %d durations %d are unchanged", before, after)
	}
}

// rules returns the rule files by name.
func rules(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, name := range []string{"recording.yml", "slo.yml", "symptoms.yml"} {
		files[name] = read(t, repository+"/observability/rules/"+name)
	}
	return files
}

// replace replaces texts and fails the test if one is missing.
func replace(t *testing.T, text string, pairs ...string) string {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			t.Fatalf("there is no %q in\n%s", pairs[i], text)
		}
		text = strings.ReplaceAll(text, pairs[i], pairs[i+1])
	}
	return text
}
