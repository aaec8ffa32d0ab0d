package job

import (
	"sync"

	"github.com/kith-crm/kith/backend/internal/tenant"
)

// Hub tells those who wait for a job that it changed, as far as this process has
// to do with it. It is safe for concurrent use; its zero value is ready.
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

// Watch returns a channel that is closed when the job changes the next time, until
// stop is called. Whoever watches reads the job after that, not before.
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

// Changed wakes whoever watches the job.
func (h *Hub) Changed(j Job) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := place{j.TenantID, j.Number}
	if w := h.watched[p]; w != nil {
		close(w.changed)
		delete(h.watched, p)
	}
}
