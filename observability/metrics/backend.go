package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
)

// OAuth counts the requests to the authorization server and the sign-in pages.
type OAuth struct{ events counts }

// NewOAuth registers kith_oauth_events_total with r, or joins it. kinds and results are
// closed sets.
func NewOAuth(r prometheus.Registerer, kinds, results []string) (*OAuth, error) {
	events, err := newCounts(r, "kith_oauth_events_total", "Events of authorization and sign-in, by kind and result.",
		closed("kind", unknown, kinds...), closed("result", unknown, results...))
	return &OAuth{events}, err
}

// Observe counts an event.
func (m *OAuth) Observe(kind, result string) { m.events.of(kind, result).Inc() }

// Credits counts the credits that calls and steps of jobs cost.
type Credits struct{ spent, decided counts }

// NewCredits registers the kith_credit* metrics with r, or joins them. tools are the
// names of the catalogue.
func NewCredits(r prometheus.Registerer, tools []string) (*Credits, error) {
	tool := closed("tool", unknown, tools...)
	spent, err := newCounts(r, "kith_credits_total", "Credits charged to members and given back to them, by tool and direction (charged, refunded).",
		tool, closed("direction", unknown, "charged", "refunded"))
	if err != nil {
		return nil, err
	}
	decided, err := newCounts(r, "kith_credit_decisions_total", "Charges for calls and for steps of jobs, by tool and whether the month's credits covered them (paid, refused).",
		tool, closed("outcome", unknown, "paid", "refused"))
	return &Credits{spent, decided}, err
}

// Charged counts the credits of a call or of a step of a job.
func (m *Credits) Charged(tool string, credits int) {
	m.spent.of(tool, "charged").Add(float64(credits))
	m.decided.of(tool, "paid").Inc()
}

// Refunded counts credits that were given back.
func (m *Credits) Refunded(tool string, credits int) {
	m.spent.of(tool, "refunded").Add(float64(credits))
}

// Refused counts a charge that the member's credits did not cover.
func (m *Credits) Refused(tool string) { m.decided.of(tool, "refused").Inc() }

// Sweeps counts what sweeps deleted.
type Sweeps struct{ rows, purges prometheus.Counter }

// NewSweeps registers the kith_sweep_* metrics with r, or joins them.
func NewSweeps(r prometheus.Registerer) (*Sweeps, error) {
	rows, err := register(r, prometheus.NewCounter(prometheus.CounterOpts{Name: "kith_sweep_rows_total", Help: "Expired rows that sweeps deleted, such as sessions, tokens and keys."}))
	if err != nil {
		return nil, err
	}
	purges, err := register(r, prometheus.NewCounter(prometheus.CounterOpts{Name: "kith_sweep_purges_total", Help: "Deletions of people that became permanent after 30 days in the bin."}))
	return &Sweeps{rows: rows, purges: purges}, err
}

// Observe counts a sweep. A nil Sweeps counts nothing.
func (m *Sweeps) Observe(rows, purges int64) {
	if m != nil {
		m.rows.Add(float64(rows))
		m.purges.Add(float64(purges))
	}
}
