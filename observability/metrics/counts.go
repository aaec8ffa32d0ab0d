package metrics

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// counts is a counter with labels of closed sets. All its series exist from the start, so
// that their rate is known from the first event on.
type counts struct {
	vec    *prometheus.CounterVec
	labels []label
}

// newCounts registers a counter, or joins the one that r has.
func newCounts(r prometheus.Registerer, name, help string, labels ...label) (counts, error) {
	names, err := namesOf(labels)
	if err != nil {
		return counts{}, err
	}
	vec, err := register(r, prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, names))
	if err != nil {
		return counts{}, err
	}
	c := counts{vec, labels}
	series := [][]string{nil}
	for _, l := range labels {
		var longer [][]string
		for value := range l.values {
			for _, s := range series {
				longer = append(longer, append(slices.Clip(s), value))
			}
		}
		series = longer
	}
	for _, values := range append(series, c.fallbacks()) {
		vec.WithLabelValues(values...)
	}
	return c, nil
}

// of returns the counter of the values of the labels; that of all fallbacks if one of them is
// not in its set.
func (c counts) of(values ...string) prometheus.Counter {
	for i, l := range c.labels {
		if !l.values[values[i]] {
			return c.vec.WithLabelValues(c.fallbacks()...)
		}
	}
	return c.vec.WithLabelValues(values...)
}

func (c counts) fallbacks() []string {
	var values []string
	for _, l := range c.labels {
		values = append(values, l.fallback)
	}
	return values
}

// Outcomes counts events by how they ended.
type Outcomes struct{ events counts }

// newOutcomes registers a counter with the label outcome, or joins the one that r has.
func newOutcomes(r prometheus.Registerer, name, help, fallback string, outcomes ...string) (*Outcomes, error) {
	events, err := newCounts(r, name, help, closed("outcome", fallback, append(outcomes, fallback)...))
	return &Outcomes{events}, err
}

// Observe counts an event.
func (m *Outcomes) Observe(outcome string) { m.events.of(outcome).Inc() }

// Add counts several events.
func (m *Outcomes) Add(outcome string, n int) { m.events.of(outcome).Add(float64(n)) }

// NewMail registers kith_mail_total with r, or joins it. An unknown outcome counts as failed.
func NewMail(r prometheus.Registerer) (*Outcomes, error) {
	return newOutcomes(r, "kith_mail_total", "Emails, by outcome (sent; refused, because of the recipient's address; "+
		"failed, after all attempts; dropped, because too many waited).", "failed", "sent", "refused", "dropped")
}

// Outcomes of readings of sources.
const (
	SourceRead   = "read"
	SourceFailed = "failed"
)

// NewSourceRuns registers kith_source_runs_total with r, or joins it. An unknown outcome counts as failed.
func NewSourceRuns(r prometheus.Registerer) (*Outcomes, error) {
	return newOutcomes(r, "kith_source_runs_total", "Readings of sources, such as calendars, by outcome (read; failed, because the source could not be read).",
		SourceFailed, SourceRead)
}

// Outcomes of digests that were due.
const (
	DigestSent   = "sent"
	DigestEmpty  = "empty"
	DigestFailed = "failed"
)

// NewDigestRuns registers kith_digests_total with r, or joins it. An unknown outcome counts as failed.
func NewDigestRuns(r prometheus.Registerer) (*Outcomes, error) {
	return newOutcomes(r, "kith_digests_total", "Digests that were due, by outcome (sent; empty, because there was nothing to say; failed, to be tried again).",
		DigestFailed, DigestSent, DigestEmpty)
}

// Outcomes of calls with an Idempotency-Key.
const (
	KeyKept     = "kept"      // the response was stored
	KeyReplayed = "replayed"  // a stored response was returned
	KeyInFlight = "in_flight" // another call with the key was in progress
	KeyReused   = "reused"    // the key belongs to a different request
	KeyDropped  = "dropped"   // the call failed, and the key is free again
)

// NewIdempotency registers kith_idempotency_keys_total with r, or joins it. It counts the calls with an Idempotency-Key.
func NewIdempotency(r prometheus.Registerer) (*Outcomes, error) {
	return newOutcomes(r, "kith_idempotency_keys_total", "Calls with an Idempotency-Key, by outcome (kept, replayed, in_flight, reused, dropped).",
		KeyDropped, KeyKept, KeyReplayed, KeyInFlight, KeyReused)
}

// Outcomes of the edge's requests to the backend.
const (
	BackendAnswered    = "answered"
	BackendUnreachable = "unreachable"
	BackendAbandoned   = "abandoned"
)

// NewBackend registers kith_backend_requests_total with r, or joins it. An unknown outcome counts as unreachable.
func NewBackend(r prometheus.Registerer) (*Outcomes, error) {
	return newOutcomes(r, "kith_backend_requests_total", "HTTP requests of the edge to the backend, by outcome (answered, unreachable, abandoned by the caller).",
		BackendUnreachable, BackendAnswered, BackendAbandoned)
}
