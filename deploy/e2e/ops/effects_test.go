package ops

import (
	"encoding/csv"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// judge fails the test unless every write was answered, is stored once and charged once, and
// nothing else is stored.
func (w *writer) judge(t *testing.T) {
	t.Helper()
	effects := w.effects(t)
	for _, one := range w.written {
		if n := effects[one.mark]; n != 1 || !one.answered {
			t.Errorf("%s was sent %d times, answered: %v, and is stored %d times", one.tool, one.attempts, one.answered, n)
		}
	}
	if len(effects) != len(w.written) {
		t.Errorf("%d writes left %d effects", len(w.written), len(effects))
	}
	w.checkBooks(t)
}

// effects returns how often each mark of the writer is stored.
func (w *writer) effects(t *testing.T) map[string]int {
	t.Helper()
	found := map[string]int{}
	w.read = w.pages(t, "list_timeline", arguments{"limit": 50}, func(page map[string]any) {
		entries, _ := page["entries"].([]any)
		for _, entry := range entries {
			fields, _ := entry.(map[string]any)
			found[fmt.Sprint(fields["text"])]++
		}
	})
	w.exported = w.pages(t, "export_connections", arguments{"format": "csv", "limit": 200}, func(page map[string]any) {
		lines, err := csv.NewReader(strings.NewReader(fmt.Sprint(page["content"]))).ReadAll()
		must(t, err)
		column := slices.Index(lines[0], "Name")
		for _, line := range lines[1:] {
			found[line[column]]++
		}
	})
	delete(found, companion)
	return found
}

// pages calls a tool for all of its pages, and returns the number of pages.
func (w *writer) pages(t *testing.T, tool string, args arguments, each func(page map[string]any)) (n int) {
	t.Helper()
	for more := true; more; n++ {
		page := w.result(t, tool, args)
		each(page)
		if more, _ = page["has_more"].(bool); more {
			args["cursor"] = page["next_cursor"]
		}
	}
	return n
}

// checkBooks fails the test unless the credits used are the price of the writes and of the
// reads that checked them.
func (w *writer) checkBooks(t *testing.T) {
	t.Helper()
	account := w.result(t, "get_account", arguments{"include": []string{"prices"}})
	prices := map[string]float64{}
	list, _ := account["prices"].([]any)
	for _, one := range list {
		price, _ := one.(map[string]any)
		prices[fmt.Sprint(price["tool"])], _ = price["credits"].(float64)
	}
	want := prices["create_connection"] + float64(w.read)*prices["list_timeline"] + float64(w.exported)*prices["export_connections"]
	for _, one := range w.written {
		want += prices[one.tool]
	}
	credits, _ := account["credits"].(map[string]any)
	if used, _ := credits["used"].(float64); used != want || want == 0 {
		t.Errorf("%v credits are used, want %v", used, want)
	}
}
