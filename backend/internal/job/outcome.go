package job

import (
	"errors"
)

// Outcomes of a run that do not end its job; the others are the job's last state.
const (
	runRetried = "retried"
	runYielded = "yielded"
	runStopped = "stopped"
	runLost    = "lost"
)

// outcomeOf is how a run ended, as metrics.Jobs counts it.
func outcomeOf(err error) string {
	switch {
	case err == nil:
		return Succeeded
	case errors.Is(err, ErrLeaseLost):
		return runLost
	case errors.Is(err, ErrStopping):
		return runStopped
	case errors.Is(err, ErrYield):
		return runYielded
	case errors.Is(err, ErrCancelled):
		return Cancelled
	case errors.As(err, new(*Failure)):
		return Failed
	default:
		return runRetried
	}
}
