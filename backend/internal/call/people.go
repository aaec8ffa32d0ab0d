package call

import (
	"context"
)

// Selector returns the ids of all people in a selection of search_connections. It fails
// with fault.Invalid or fault.Conflict when the selection is no longer valid.
type Selector func(ctx context.Context, selection string) ([]string, error)

// People returns the ids that a call lists, or else those of its selection.
func People(ctx context.Context, ids []string, selection *string, selected Selector) ([]string, error) {
	if selection == nil {
		return ids, nil
	}
	return selected(ctx, *selection)
}

// maxNames is how many names an answer shows of the people that a call changes.
const maxNames = 10

// FirstNames returns the names of the first rows.
func FirstNames[T any](rows []T, name func(T) string) []string {
	out := make([]string, 0, maxNames)
	for _, row := range rows[:min(len(rows), maxNames)] {
		out = append(out, name(row))
	}
	return out
}
