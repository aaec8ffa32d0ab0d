package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
)

// OAuth counts what the authorization server and the sign-in pages did.
type OAuth struct{ events counts }

// NewOAuth registers kith_oauth_events_total with r, or joins it. kinds and results are
// closed lists.
func NewOAuth(r prometheus.Registerer, kinds, results []string) (*OAuth, error) {
	events, err := newCounts(r, "kith_oauth_events_total", "Events of authorization and sign-in, by kind and result.",
		[2]string{"kind", "result"}, kinds, results)
	return &OAuth{events: events}, err
}

// Observe counts an event.
func (m *OAuth) Observe(kind, result string) { m.events.of(kind, result).Inc() }

// Calls counts what became of keyed and of priced calls.
type Calls struct {
	keyed   *prometheus.CounterVec
	spent   counts
	decided counts
}

// Outcomes of keyed calls.
const (
	KeyKept     = "kept"
	KeyReplayed = "replayed"
	KeyInFlight = "in_flight"
	KeyReused   = "reused"
	KeyDropped  = "dropped"
)

// NewCalls registers the metrics of idempotency keys and of credits with r, or
// joins them. tools is the catalogue.
func NewCalls(r prometheus.Registerer, tools []string) (*Calls, error) {
	keyed, err := register(r, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "kith_idempotency_keys_total", Help: "Calls with an Idempotency-Key, by outcome (kept, replayed, in_flight, reused, dropped).",
	}, []string{"outcome"}))
	if err != nil {
		return nil, err
	}
	for _, outcome := range []string{KeyKept, KeyReplayed, KeyInFlight, KeyReused, KeyDropped} {
		keyed.WithLabelValues(outcome)
	}
	spent, err := newCounts(r, "kith_credits_total", "Credits charged to members and given back to them, by tool and direction (charged, refunded).",
		[2]string{"tool", "direction"}, tools, []string{"charged", "refunded"})
	if err != nil {
		return nil, err
	}
	decided, err := newCounts(r, "kith_credit_decisions_total", "Charges for calls and for steps of jobs, by tool and whether the month's credits covered them (paid, refused).",
		[2]string{"tool", "outcome"}, tools, []string{"paid", "refused"})
	return &Calls{keyed: keyed, spent: spent, decided: decided}, err
}

// Keyed counts a keyed call.
func (m *Calls) Keyed(outcome string) { m.keyed.WithLabelValues(outcome).Inc() }

// Charged counts credits that a call or a step of a job cost.
func (m *Calls) Charged(tool string, credits int) {
	m.spent.of(tool, "charged").Add(float64(credits))
	m.decided.of(tool, "paid").Inc()
}

// Refunded counts credits that were given back.
func (m *Calls) Refunded(tool string, credits int) {
	m.spent.of(tool, "refunded").Add(float64(credits))
}

// Refused counts a charge that the credits did not cover.
func (m *Calls) Refused(tool string) { m.decided.of(tool, "refused").Inc() }
