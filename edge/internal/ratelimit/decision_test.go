package ratelimit_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/kith-crm/kith/edge/internal/ratelimit"
)

// fixedAnswer is a store that always answers the same.
type fixedAnswer struct{ taken ratelimit.Taken }

func (f fixedAnswer) Take(context.Context, ratelimit.Policy, string, int) (ratelimit.Taken, error) {
	return f.taken, nil
}

func (fixedAnswer) Close() error { return nil }

func TestDecide(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		taken ratelimit.Taken
		want  ratelimit.Decision
	}{
		"all admitted":       {ratelimit.Taken{Admitted: 3, Remaining: 4, Reset: time.Minute}, ratelimit.Decision{Allowed: true, Admitted: 3, Remaining: 4, Reset: 60}},
		"some admitted":      {ratelimit.Taken{Admitted: 2, Reset: 1500 * time.Millisecond}, ratelimit.Decision{Admitted: 2, Reset: 2}},
		"none admitted":      {ratelimit.Taken{Reset: time.Second + 1}, ratelimit.Decision{Reset: 2}},
		"whole seconds":      {ratelimit.Taken{Reset: 17 * time.Second}, ratelimit.Decision{Reset: 17}},
		"almost over":        {ratelimit.Taken{Reset: 1}, ratelimit.Decision{Reset: 1}},
		"never r=0;t=0":      {ratelimit.Taken{}, ratelimit.Decision{Reset: 1}},
		"never below 0":      {ratelimit.Taken{Remaining: -1, Reset: -time.Minute}, ratelimit.Decision{Reset: 1}},
		"the longest window": {ratelimit.Taken{Reset: ratelimit.MaxWindow}, ratelimit.Decision{Reset: 86400}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.want.Policy = perMinute
			got, err := ratelimit.Decide(t.Context(), fixedAnswer{test.taken}, perMinute, "k", 3)
			if err != nil || got != test.want {
				t.Errorf("got %+v (%v), want %+v", got, err, test.want)
			}
		})
	}
}

func TestDecideWithoutLimit(t *testing.T) {
	t.Parallel()
	off := perMinute
	off.Quota = 0
	got, err := ratelimit.Decide(t.Context(), broken{}, off, "k", 3)
	if err != nil || !got.Allowed || got.Admitted != 3 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestDecideReturnsErrors(t *testing.T) {
	t.Parallel()
	if d, err := ratelimit.Decide(t.Context(), broken{}, perMinute, "k", 1); err == nil || d.Allowed {
		t.Errorf("got %+v, %v", d, err)
	}
	m := ratelimit.NewMemory(ratelimit.MemoryConfig{})
	if _, err := ratelimit.Decide(t.Context(), m, perMinute, "k", 0); !errors.Is(err, ratelimit.ErrTake) {
		t.Errorf("got %v", err)
	}
}
