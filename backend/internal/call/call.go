// Package call is what handlers of RPCs share: what they are told of a call and tell about
// it, and the small pieces of messages that every feature has.
package call

import (
	"context"
)

// State is what the pipeline and a handler tell each other about one call.
type State struct {
	// Price is what the call will cost, in credits.
	Price int
	// Free makes a write cost nothing.
	Free bool
}

type stateKey struct{}

// With returns a context that carries the state of a call.
func With(ctx context.Context, s *State) context.Context {
	return context.WithValue(ctx, stateKey{}, s)
}

// Price returns what the call will cost; 0 outside of a call.
func Price(ctx context.Context) int {
	if s, ok := ctx.Value(stateKey{}).(*State); ok {
		return s.Price
	}
	return 0
}

// Waive makes a write free that found its work already done.
func Waive(ctx context.Context) {
	if s, ok := ctx.Value(stateKey{}).(*State); ok {
		s.Free = true
	}
}
