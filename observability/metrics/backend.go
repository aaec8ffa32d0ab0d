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
		[2]string{"kind", "result"}, kinds, results)
	return &OAuth{events: events}, err
}

// Observe counts an event.
func (m *OAuth) Observe(kind, result string) { m.events.of(kind, result).Inc() }

// Idempotency counts the calls with an Idempotency-Key.
type Idempotency struct{ keys *prometheus.CounterVec }

// Outcomes of calls with an Idempotency-Key.
const (
	KeyKept     = "kept"      // the response was stored
	KeyReplayed = "replayed"  // a stored response was returned
	KeyInFlight = "in_flight" // another call with the key was in progress
	KeyReused   = "reused"    // the key belongs to a different request
	KeyDropped  = "dropped"   // the call failed, and the key is free again
)

// NewIdempotency registers kith_idempotency_keys_total with r, or joins it.
func NewIdempotency(r prometheus.Registerer) (*Idempotency, error) {
	keys, err := newOutcomes(r, "kith_idempotency_keys_total", "Calls with an Idempotency-Key, by outcome (kept, replayed, in_flight, reused, dropped).",
		[]string{KeyKept, KeyReplayed, KeyInFlight, KeyReused, KeyDropped})
	return &Idempotency{keys: keys}, err
}

// Observe counts a call. outcome is one of the constants.
func (m *Idempotency) Observe(outcome string) { m.keys.WithLabelValues(outcome).Inc() }

// Credits counts the credits that calls and steps of jobs cost.
type Credits struct{ spent, decided counts }

// NewCredits registers the kith_credit* metrics with r, or joins them. tools are the
// names of the catalogue.
func NewCredits(r prometheus.Registerer, tools []string) (*Credits, error) {
	spent, err := newCounts(r, "kith_credits_total", "Credits charged to members and given back to them, by tool and direction (charged, refunded).",
		[2]string{"tool", "direction"}, tools, []string{"charged", "refunded"})
	if err != nil {
		return nil, err
	}
	decided, err := newCounts(r, "kith_credit_decisions_total", "Charges for calls and for steps of jobs, by tool and whether the month's credits covered them (paid, refused).",
		[2]string{"tool", "outcome"}, tools, []string{"paid", "refused"})
	return &Credits{spent: spent, decided: decided}, err
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
