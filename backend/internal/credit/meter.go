package credit

import (
	"context"
	"runtime"
	"sync"
	"time"
)

const (
	// maxGroup bounds the charges of one transaction.
	maxGroup = 512
	// commitTimeout bounds one transaction.
	commitTimeout = 10 * time.Second
	// maxYields bounds how often the committer lets others run before it takes what
	// waits, and patience how often without another that comes to wait. Under load
	// those are the calls that are about to; without load it costs nothing.
	maxYields = 256
	patience  = 16
	// linger is how much longer it waits for others where the last group was of
	// more than one: then they come from many connections, and a commit costs more
	// than their calls do. Who calls alone never waits.
	linger = 500 * time.Microsecond
)

// Meter charges concurrent calls in groups: while one transaction is on its way,
// the charges that arrive gather for the next. Each call waits for the commit of
// its own charge, so that a crash loses none and invents none. It is safe for
// concurrent use, and has no background work while nobody waits.
type Meter struct {
	ledger Ledger

	mu      sync.Mutex
	waiting []*waiter
	running bool
}

type waiter struct {
	charge  Charge
	ctx     context.Context
	outcome Outcome
	done    chan struct{}
}

// NewMeter returns a Meter of a ledger.
func NewMeter(ledger Ledger) *Meter { return &Meter{ledger: ledger} }

// Charge commits a charge, or fails with fault.Exhausted or with the ledger's
// error. A caller that hangs up is charged all the same: the call was done.
func (m *Meter) Charge(ctx context.Context, charge Charge) (Receipt, error) {
	w := &waiter{charge: charge, ctx: context.WithoutCancel(ctx), done: make(chan struct{})}
	m.mu.Lock()
	m.waiting = append(m.waiting, w)
	first := !m.running
	m.running = true
	m.mu.Unlock()
	if first {
		go m.commitAll()
	}
	<-w.done
	return w.outcome.Receipt, w.outcome.Err
}

// commitAll commits group after group until nobody waits.
func (m *Meter) commitAll() {
	company := false
	for {
		m.gather()
		if company {
			time.Sleep(linger)
		}
		group := m.take()
		company = len(group) > 1
		if group == nil {
			return
		}
		m.commit(group)
	}
}

func (m *Meter) gather() {
	for idle, seen, yields := 0, 0, 0; idle < patience && yields < maxYields; yields++ {
		runtime.Gosched()
		m.mu.Lock()
		n := len(m.waiting)
		m.mu.Unlock()
		if n == seen {
			idle++
		} else {
			idle, seen = 0, n
		}
	}
}

func (m *Meter) take() []*waiter {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.waiting) == 0 {
		m.running = false
		return nil
	}
	n := min(len(m.waiting), maxGroup)
	group := m.waiting[:n:n]
	m.waiting = m.waiting[n:]
	if len(m.waiting) == 0 {
		m.waiting = nil
	}
	return group
}

func (m *Meter) commit(group []*waiter) {
	charges := make([]Charge, len(group))
	for i, w := range group {
		charges[i] = w.charge
	}
	ctx, cancel := context.WithTimeout(group[0].ctx, commitTimeout)
	defer cancel()
	outcomes, err := m.ledger.Charge(ctx, charges)
	for i, w := range group {
		if err != nil {
			w.outcome = Outcome{Err: err}
		} else {
			w.outcome = outcomes[i]
		}
		close(w.done)
	}
}
