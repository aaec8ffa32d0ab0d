package session_test

import (
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/session"
)

func TestDecide(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	policy := session.DefaultLogin()
	cases := []struct {
		name  string
		count int
		reset time.Duration
		want  session.Decision
	}{
		{"the first", 1, 300 * time.Second, session.Decision{Allowed: true, Remaining: 9, Reset: 300 * time.Second}},
		{"the last", 10, time.Second, session.Decision{Allowed: true, Remaining: 0, Reset: time.Second}},
		{"one too many", 11, time.Second, session.Decision{Allowed: false, Remaining: 0, Reset: time.Second}},
		{"far too many", 1000, 0, session.Decision{}},
		{"a clock that went on", 1, -time.Second, session.Decision{Allowed: true, Remaining: 9}},
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
	refused := session.Decision{Reset: time.Second}
	refusedLonger := session.Decision{Reset: time.Minute}
	few := session.Decision{Allowed: true, Remaining: 1, Reset: time.Second}
	many := session.Decision{Allowed: true, Remaining: 9, Reset: time.Minute}
	for name, c := range map[string]struct{ a, b, want session.Decision }{
		"a refusal before a pass":  {refused, few, refused},
		"fewer before more":        {few, many, few},
		"the longer wait of equal": {refused, refusedLonger, refusedLonger},
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
	a := session.Subject("login name", "Ana")
	if a != session.Subject("login name", "ana") {
		t.Error("capitals make another subject")
	}
	if a == session.Subject("login", "name\x00ana") || a == session.Subject("login address", "ana") {
		t.Error("kinds meet")
	}
	if len(a) != 64 {
		t.Errorf("no hash: %q", a)
	}
}
