package history

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/uptrace/bun"
)

// namedParticipants is how many people a summary names.
const namedParticipants = 2

// participants returns the people that a change of one note, interaction or reminder is about.
// Stored summaries do not have their names, so that no name is left when a person is deleted for
// good.
func (c *Change) participants() []string {
	if len(c.Effects) != 1 || !slices.Contains([]string{Note, Interaction, Reminder}, c.Effects[0].Kind) {
		return nil
	}
	before, after, err := c.Effects[0].states()
	if err != nil {
		return nil
	}
	if after == nil {
		after = before
	}
	return after.people()
}

// namesIn returns the names of the people whom changes are about, by id, without people who are no
// longer stored. It takes at most one statement.
func namesIn(ctx context.Context, q db.Reader, changes []Change) (map[string]string, error) {
	var ids []string
	for _, c := range changes {
		about := c.participants()
		ids = append(ids, about[:min(len(about), namedParticipants)]...)
	}
	names := map[string]string{}
	if len(ids) == 0 {
		return names, nil
	}
	var rows []struct{ ID, Name string }
	err := q.NewRaw("SELECT id, name FROM connections WHERE tenant_id = ? AND id IN (?)", q.TenantID(), bun.List(ids)).Scan(ctx, &rows)
	for _, row := range rows {
		names[row.ID] = row.Name
	}
	return names, err
}

// peopleOf returns the names of the first people whom a change is about, and the number of the
// others.
func peopleOf(c *Change, names map[string]string) string {
	about := c.participants()
	var out []string
	for _, id := range about[:min(len(about), namedParticipants)] {
		if names[id] != "" {
			out = append(out, names[id])
		}
	}
	if len(out) > 0 && len(about) > namedParticipants {
		out = append(out, fmt.Sprintf("%d more", len(about)-namedParticipants))
	}
	return strings.Join(out, ", ")
}
