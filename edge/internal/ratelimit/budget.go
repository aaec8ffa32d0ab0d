package ratelimit

import (
	"context"
	"sync/atomic"
	"time"
)

type budgetKey struct{}

// budget is the time that the calls of one request have spent waiting for Redis.
type budget struct{ spent atomic.Int64 }

// WithBudget returns a context for one request: all calls of Fallback.Take with
// it, or with contexts made from it, wait for Redis no longer in sum than one
// call may. Without it each call has that time for itself, which is enough for
// requests that count once.
func WithBudget(ctx context.Context) context.Context {
	return context.WithValue(ctx, budgetKey{}, &budget{})
}

// budgetOf returns the budget that ctx carries, a new one if there is none.
func budgetOf(ctx context.Context) *budget {
	if b, ok := ctx.Value(budgetKey{}).(*budget); ok {
		return b
	}
	return &budget{}
}

// left returns what is left of the whole.
func (b *budget) left(whole time.Duration) time.Duration {
	return whole - time.Duration(b.spent.Load())
}

func (b *budget) spend(d time.Duration) { b.spent.Add(int64(d)) }
