// Run this file alone: deploy/e2e/with-services.sh go test -tags before ./deploy/e2e/mcp -run TestTasksBefore
// It needs the build to compare with: make tasks-before makes it, and runs this file.

//go:build before

package mcp

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// earlierBuild is the environment variable with the path of the build to compare with, which before.sh makes.
const earlierBuild = "KITH_TEST_BEFORE"

// mostOfBefore is how much of the earlier tokens the answers of all tasks may have.
const mostOfBefore = 0.55

// TestTasksBefore plays the tasks against an earlier build and against this one, and compares the tokens that a model reads.
func TestTasksBefore(t *testing.T) {
	earlier := playTasks(t, harness.StartBuild(t, os.Getenv(earlierBuild)), map[string]string{"BEFORE": "1"})
	now := playTasks(t, harness.StartBuild(t, harness.PlainBinary), nil)
	if t.Failed() {
		return
	}
	type pair struct {
		ask                     string
		callsBefore, calls      int
		tokensBefore, tokensNow int
	}
	var pairs []pair
	all, short, same := pair{ask: "All tasks"}, pair{ask: "Those that took at most 5 calls before"}, pair{ask: "Those with the same calls as before"}
	for i, one := range now {
		before := earlier[i]
		p := pair{one.Ask, len(before.Answers), len(one.Answers), before.tokens(), one.tokens()}
		if before.Ask != one.Ask {
			t.Fatalf("%q is compared with %q", one.Ask, before.Ask)
		}
		add := func(sum *pair) {
			sum.callsBefore, sum.calls = sum.callsBefore+p.callsBefore, sum.calls+p.calls
			sum.tokensBefore, sum.tokensNow = sum.tokensBefore+p.tokensBefore, sum.tokensNow+p.tokensNow
		}
		add(&all)
		if p.callsBefore <= mostCalls {
			add(&short)
		}
		if slices.EqualFunc(before.Answers, one.Answers, func(a, b answer) bool { return a.Tool == b.Tool }) {
			add(&same)
		}
		pairs = append(pairs, p)
	}
	ratio := func(p pair) float64 { return float64(p.tokensNow) / float64(p.tokensBefore) }
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(ratio(a), ratio(b)) })
	middle := pairs[len(pairs)/2]
	var table strings.Builder
	fmt.Fprintf(&table, "%-7s %-7s %-8s %-8s %s\n", "calls", "before", "tokens", "before", "ratio")
	for _, p := range append(pairs, same, short, all) {
		fmt.Fprintf(&table, "%-7d %-7d %-8d %-8d %4.0f %% %s\n", p.calls, p.callsBefore, p.tokensNow, p.tokensBefore, 100*ratio(p), p.ask)
	}
	t.Logf("median ratio %.0f %%\n%s", 100*ratio(middle), table.String())
	if ratio(all) > mostOfBefore {
		t.Errorf("the answers have %.0f %% of the tokens before, at most %.0f %%", 100*ratio(all), 100*mostOfBefore)
	}
}
