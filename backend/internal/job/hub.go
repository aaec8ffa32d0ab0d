package job

import (
	"sync"

	"github.com/kith-crm/kith/backend/internal/tenant"
)

// Hub notifies the watchers of a job about changes that this process made. It is safe for
// concurrent use; its zero value is ready.
type Hub struct {
	mu      sync.Mutex
	watched map[place]*watch
}

type place struct {
	owner  tenant.ID
	number int32
}

type watch struct {
	changed  chan struct{}
	watchers int
}

// Watch returns a channel that is closed at the job's next change, until stop is called.
// Read the job after calling Watch, not before, so that no change is missed.
func (h *Hub) Watch(owner tenant.ID, number int32) (changed <-chan struct{}, stop func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watched == nil {
		h.watched = map[place]*watch{}
	}
	p := place{owner, number}
	w := h.watched[p]
	if w == nil {
		w = &watch{changed: make(chan struct{})}
		h.watched[p] = w
	}
	w.watchers++
	return w.changed, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if w.watchers--; w.watchers == 0 && h.watched[p] == w {
			delete(h.watched, p)
		}
	}
}

// Changed wakes the watchers of the job.
func (h *Hub) Changed(j Job) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := place{j.TenantID, j.Number}
	if w := h.watched[p]; w != nil {
		close(w.changed)
		delete(h.watched, p)
	}
}
