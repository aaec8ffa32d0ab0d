package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Queries counts the statements that are sent to the database.
type Queries struct{ calls *calls }

// Outcomes of statements.
const (
	QueryOK          = "ok"
	QueryConflict    = "conflict"
	QueryUnavailable = "unavailable"
	QueryFailed      = "failed"
	QueryAbandoned   = "abandoned"
)

// NewQueries registers the kith_store_quer* metrics with r, or joins those that r has.
func NewQueries(r prometheus.Registerer) (*Queries, error) {
	c, err := newCalls(r, callsOptions{
		requests: "kith_store_queries_total",
		requestsHelp: "Statements sent to the database, by operation (the first word) and outcome " +
			"(ok; conflict with another transaction, where a retry may succeed; unavailable; failed; abandoned by the caller).",
		seconds: "kith_store_query_duration_seconds", secondsHelp: "Time until the database answered a statement, by operation.",
		labels: []label{
			closed("operation", unknown, "select", "insert", "update", "delete", "with", "begin", "commit", "rollback"),
			closed("outcome", QueryFailed, QueryOK, QueryConflict, QueryUnavailable, QueryFailed, QueryAbandoned),
		},
	})
	return &Queries{calls: c}, err
}

// Observe counts a statement. operation is its first word in lower case. An outcome that
// is none of the constants counts as failed.
func (m *Queries) Observe(ctx context.Context, operation, outcome string, d time.Duration) {
	m.calls.observe(ctx, d, operation, outcome)
}
