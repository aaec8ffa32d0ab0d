package account_test

import (
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
)

func TestDecide(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	policy := account.DefaultLogin()
	cases := []struct {
		name  string
		count int
		reset time.Duration
		want  account.Decision
	}{
		{"the first", 1, 300 * time.Second, account.Decision{Allowed: true, Remaining: 9, Reset: 300 * time.Second}},
		{"the last", 10, time.Second, account.Decision{Allowed: true, Remaining: 0, Reset: time.Second}},
		{"one too many", 11, time.Second, account.Decision{Allowed: false, Remaining: 0, Reset: time.Second}},
		{"far too many", 1000, 0, account.Decision{}},
		{"a clock past the reset", 1, -time.Second, account.Decision{Allowed: true, Remaining: 9}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := policy.Decide(c.count, now.Add(c.reset), now); got != c.want {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestStricter(t *testing.T) {
	t.Parallel()
	refused := account.Decision{Reset: time.Second}
	refusedLonger := account.Decision{Reset: time.Minute}
	few := account.Decision{Allowed: true, Remaining: 1, Reset: time.Second}
	many := account.Decision{Allowed: true, Remaining: 9, Reset: time.Minute}
	for name, c := range map[string]struct{ a, b, want account.Decision }{
		"a refusal before a pass":  {refused, few, refused},
		"fewer before more":        {few, many, few},
		"the longer wait if equal": {refused, refusedLonger, refusedLonger},
		"the same":                 {many, many, many},
	} {
		if got := c.a.Stricter(c.b); got != c.want {
			t.Errorf("%s: got %+v", name, got)
		}
		if got := c.b.Stricter(c.a); got != c.want {
			t.Errorf("%s, the other way round: got %+v", name, got)
		}
	}
}

func TestSubjectHidesWhatWasTyped(t *testing.T) {
	t.Parallel()
	a := account.Subject("login name", "Ana")
	if a != account.Subject("login name", "ana") {
		t.Error("capital letters result in another subject")
	}
	if a == account.Subject("login", "name\x00ana") || a == account.Subject("login address", "ana") {
		t.Error("two kinds result in the same subject")
	}
	if len(a) != 64 {
		t.Errorf("not a hash: %q", a)
	}
}
