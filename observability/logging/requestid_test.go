package logging_test

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/observability/logging"
)

func TestNewRequestID(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^req_[A-Za-z0-9_-]{20}$`)
	seen := map[string]bool{}
	for range 1000 {
		id := logging.NewRequestID()
		if !form.MatchString(id) || !logging.ValidRequestID(id) || seen[id] {
			t.Fatalf("NewRequestID() = %q: malformed or seen before", id)
		}
		seen[id] = true
	}
}

func TestValidRequestID(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, id string
		want     bool
	}{
		{"one character", "a", true},
		{"every kind", "aZ09_-", true},
		{"64 characters", strings.Repeat("x", 64), true},
		{"65 characters", strings.Repeat("x", 65), false},
		{"empty", "", false},
		{"space", "a b", false},
		{"line break", "a\nb", false},
		{"dot", "a.b", false},
		{"not ASCII", "é", false},
		{"quote", `a"b`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := logging.ValidRequestID(tt.id); got != tt.want {
				t.Errorf("ValidRequestID(%q) = %v, want %v", tt.id, got, tt.want)
			}
		})
	}
}

func TestRequestIDInContext(t *testing.T) {
	t.Parallel()
	if got := logging.RequestID(t.Context()); got != "" {
		t.Errorf("RequestID of a bare context = %q, want none", got)
	}
	outer := logging.WithRequestID(t.Context(), "req_outer")
	inner, cancel := context.WithCancel(logging.WithRequestID(outer, "req_inner"))
	defer cancel()
	if got := logging.RequestID(inner); got != "req_inner" {
		t.Errorf("inner id = %q, want req_inner", got)
	}
	if got := logging.RequestID(outer); got != "req_outer" {
		t.Errorf("outer id = %q, want req_outer", got)
	}
}

func TestMilliseconds(t *testing.T) {
	t.Parallel()
	if got := logging.Milliseconds("duration_ms", 1234567*time.Nanosecond).String(); got != "duration_ms=1.235" {
		t.Errorf("got %s", got)
	}
}
