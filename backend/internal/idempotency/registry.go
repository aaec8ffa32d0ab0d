package idempotency

import (
	"sync"
)

type claim struct{ scope, name string }

// Registry holds the keys that are in flight in this process, so that a second
// request is refused without waiting for the first. It is safe for
// concurrent use; its zero value is ready.
type Registry struct {
	mu       sync.Mutex
	inFlight map[claim]struct{}
}

// Claim reserves a key until release is called. It fails with fault.InFlight while
// another request has it.
func (r *Registry) Claim(k Key) (release func(), err error) {
	c := claim{k.Scope, k.Name}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, taken := r.inFlight[c]; taken {
		return nil, InFlight()
	}
	if r.inFlight == nil {
		r.inFlight = map[claim]struct{}{}
	}
	r.inFlight[c] = struct{}{}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.inFlight, c)
	}, nil
}
