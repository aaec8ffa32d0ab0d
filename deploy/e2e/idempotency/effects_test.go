package idempotency

import (
	"fmt"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// effects returns what is stored for a member: how often each mark occurs.
func effects(t *testing.T, a harness.Agent) map[string]int {
	t.Helper()
	found := map[string]int{}
	pages(t, a, "list_timeline", harness.Arguments{"limit": 50}, func(page map[string]any) {
		for _, entry := range harness.At[[]any](t, page, "entries") {
			found[harness.At[string](t, entry, "text")]++
		}
	})
	pages(t, a, "search_connections", harness.Arguments{"sort": "name", "limit": 50}, func(page map[string]any) {
		for _, hit := range harness.At[[]any](t, page, "hits") {
			found[harness.At[string](t, hit, "name")]++
		}
	})
	return found
}

// pages calls a tool for all of its pages.
func pages(t *testing.T, a harness.Agent, tool string, args harness.Arguments, each func(page map[string]any)) {
	t.Helper()
	for more := true; more; {
		page := a.Call(t, tool, args)
		each(page)
		if more = harness.At[bool](t, page, "has_more"); more {
			args["cursor"] = harness.At[string](t, page, "next_cursor")
		}
	}
}

// checkOnce fails the test unless each answered write is stored once, and each unanswered
// write at most once.
func checkOnce(t *testing.T, writes []*idempotentWrite, done map[string]int) {
	t.Helper()
	unanswered, undone, late := 0, 0, 0
	for _, w := range writes {
		n := done[w.mark]
		if n > 1 || n == 0 && w.first.text != "" {
			t.Errorf("%s was sent %d times, answered %q, and is stored %d times", w.tool, w.attempts, w.first.text, n)
		}
		if w.first.text == "" {
			unanswered++
			undone += 1 - n
		}
		if w.first.replayed {
			late++
		}
	}
	t.Logf("%d writes were never answered, %d of them had no effect; for %d the first answer received was a replay", unanswered, undone, late)
}

// books are the member's credits as get_account and the database report them.
type books struct {
	harness.Ledger
	allowance, used, remaining int
	prices                     map[string]int
	changes                    map[string]int // recorded ones, by tool
}

func readBooks(t *testing.T, a harness.Agent) books {
	t.Helper()
	account := a.Call(t, "get_account", harness.Arguments{"include": []string{"prices"}})
	number := func(name string) int { return int(harness.At[float64](t, account, "credits", name)) }
	b := books{
		Ledger: a.Service.ReadLedger(t), allowance: number("allowance"), used: number("used"), remaining: number("remaining"),
		prices: map[string]int{}, changes: map[string]int{},
	}
	for _, price := range harness.At[[]any](t, account, "prices") {
		b.prices[harness.At[string](t, price, "tool")] = int(harness.At[float64](t, price, "credits"))
	}
	pages(t, a, "list_changes", harness.Arguments{"limit": 50}, func(page map[string]any) {
		for _, change := range harness.At[[]any](t, page, "changes") {
			b.changes[harness.At[string](t, change, "tool")]++
		}
	})
	return b
}

// check fails the test unless each effect is charged and recorded once, and nothing else.
func (b books) check(t *testing.T, writes []*idempotentWrite, done map[string]int) {
	t.Helper()
	price, changes := b.prices["create_connection"], map[string]int{"create_connection": 1} // the connection that the other writes are about
	for _, w := range writes {
		price += done[w.mark] * b.prices[w.tool]
		changes[w.tool] += done[w.mark]
	}
	want := harness.Ledger{Balance: b.allowance - price, Entries: b.allowance - price, Allowances: 1, Calls: len(done), Spent: price}
	if b.Ledger != want {
		t.Errorf("the ledger is %+v, want %+v", b.Ledger, want)
	}
	if b.used != price || b.remaining != b.allowance-price {
		t.Errorf("get_account says that %d are used and %d left of %d; the effects cost %d", b.used, b.remaining, b.allowance, price)
	}
	if fmt.Sprint(b.changes) != fmt.Sprint(changes) {
		t.Errorf("the changes are %v, want %v", b.changes, changes)
	}
}

// checkReplays sends every write once more. A write that took effect gets its first answer
// again; only the others take effect now.
func (r *crashRound) checkReplays(t *testing.T, clients int, writes []*idempotentWrite, done map[string]int) {
	t.Helper()
	r.each(t, clients, writes, func(w *idempotentWrite) error {
		again, err := r.send(t.Context(), w)
		if err != nil {
			return err
		}
		if was := done[w.mark] == 1; again.replayed != was {
			return fmt.Errorf("%s is stored: %v, replayed: %v: %s", w.tool, was, again.replayed, again.text)
		}
		if w.first.text != "" && again.text != w.first.text {
			return fmt.Errorf("%s was answered\n%s\nand is now\n%s", w.tool, w.first.text, again.text)
		}
		return nil
	}).Wait()
	for mark, n := range effects(t, r.agent) {
		if n != 1 {
			t.Errorf("%s is stored %d times", mark, n)
		}
	}
}
