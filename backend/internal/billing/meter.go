package billing

import (
	"context"
	"sync"
	"time"
)

// MaxGroup bounds the charges of one transaction.
const MaxGroup = 64

const (
	// commitTimeout bounds one transaction, where the ledger can give it up.
	commitTimeout = 10 * time.Second
	// linger bounds how long charges wait for others: little beside the way of an
	// answer through a network.
	linger = 4 * time.Millisecond
)

// Meter charges concurrent calls in groups: while one transaction is on its way,
// the charges that arrive gather for the next. Each call waits for the commit of
// its own charge, so that a crash loses none and invents none. It is safe for
// concurrent use, and has no background work for long while nobody waits.
type Meter struct {
	ledger func(ctx context.Context, charges []Charge) ([]Outcome, error)

	mu      sync.Mutex
	waiting []*waiter
	running bool
	// full is closed, and nil again, once as many wait as are wanted.
	full   chan struct{}
	wanted int
}

type waiter struct {
	charge  Charge
	ctx     context.Context
	outcome Outcome
	done    chan struct{}
}

// NewMeter returns a Meter that commits groups of charges, as Ledger.Charge does.
func NewMeter(commit func(ctx context.Context, charges []Charge) ([]Outcome, error)) *Meter {
	return &Meter{ledger: commit}
}

// Charge commits a charge, or fails with fault.Exhausted or with the ledger's
// error. A caller that hangs up is charged all the same: the call was done.
func (m *Meter) Charge(ctx context.Context, charge Charge) (Receipt, error) {
	w := &waiter{charge: charge, ctx: context.WithoutCancel(ctx), done: make(chan struct{})}
	m.mu.Lock()
	m.waiting = append(m.waiting, w)
	if m.full != nil && len(m.waiting) >= m.wanted {
		close(m.full)
		m.full = nil
	}
	first := !m.running
	m.running = true
	m.mu.Unlock()
	if first {
		go m.commitAll()
	}
	<-w.done
	return w.outcome.Receipt, w.outcome.Err
}

// commitAll commits group after group until nobody comes. Those whose charges were
// committed last are likely to be back soon: with those who wait already, that many
// are waited for, because the fewer commits, the cheaper. Who calls alone never waits.
func (m *Meter) commitAll() {
	for wanted := 0; ; {
		m.gather(wanted)
		group := m.take()
		if group == nil {
			return
		}
		m.commit(group)
		wanted = len(group) + m.count()
	}
}

// gather waits until as many wait as are wanted, or for long enough.
func (m *Meter) gather(wanted int) {
	wanted = min(wanted, MaxGroup)
	m.mu.Lock()
	if len(m.waiting) >= wanted {
		m.mu.Unlock()
		return
	}
	full := make(chan struct{})
	m.full, m.wanted = full, wanted
	m.mu.Unlock()
	timer := time.NewTimer(linger)
	defer timer.Stop()
	select {
	case <-full:
	case <-timer.C:
		m.mu.Lock()
		m.full = nil
		m.mu.Unlock()
	}
}

func (m *Meter) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.waiting)
}

func (m *Meter) take() []*waiter {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.waiting) == 0 {
		m.running = false
		return nil
	}
	n := min(len(m.waiting), MaxGroup)
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
	outcomes, err := m.ledger(ctx, charges)
	for i, w := range group {
		if err != nil {
			w.outcome = Outcome{Err: err}
		} else {
			w.outcome = outcomes[i]
		}
		close(w.done)
	}
}
