// Package admission bounds how many requests are worked on at once. Beyond the
// bound a request is refused at once: to answer some in good time is better than
// all of them late.
package admission

import "sync/atomic"

// Gate admits up to a number of requests at a time. It is safe for concurrent use.
type Gate struct {
	most    int64
	inside  atomic.Int64
	refused atomic.Int64
}

// New returns a gate for most requests at a time; 0 or less admits all.
func New(most int) *Gate { return &Gate{most: int64(most)} }

// Enter reports whether a request may go on. One that may must Leave.
func (g *Gate) Enter() bool {
	if n := g.inside.Add(1); g.most > 0 && n > g.most {
		g.inside.Add(-1)
		g.refused.Add(1)
		return false
	}
	return true
}

// Leave makes room for another request.
func (g *Gate) Leave() { g.inside.Add(-1) }

// Inside is how many requests are worked on.
func (g *Gate) Inside() int64 { return g.inside.Load() }

// Refused is how many requests were not admitted so far.
func (g *Gate) Refused() int64 { return g.refused.Load() }
