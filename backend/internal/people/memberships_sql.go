package people

import (
	"context"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
)

// Distinct returns the names without those that fold to the same text as an earlier one.
func Distinct(names []string) []string {
	seen := make(map[string]bool, len(names))
	var out []string
	for _, name := range names {
		if folded := text.Fold(name); !seen[folded] {
			seen[folded] = true
			out = append(out, name)
		}
	}
	return out
}

// GroupConnection is the row of a person's membership in a group.
type GroupConnection struct {
	TenantID     tenant.ID `bun:",pk"`
	GroupID      string    `bun:",pk"`
	ConnectionID string    `bun:",pk"`
}

// addGroups fills in the groups of a connection and the values derived from them.
func addGroups(ctx context.Context, q db.Reader, c *Connection) error {
	var rows []struct {
		Name        string
		CadenceDays int
	}
	err := q.NewRaw(`SELECT g.name, g.cadence_days FROM group_connections l JOIN groups g ON g.tenant_id = l.tenant_id AND g.id = l.group_id
WHERE l.tenant_id = ? AND l.connection_id = ? ORDER BY g.folded_name`, q.TenantID(), c.ID).Scan(ctx, &rows)
	for _, row := range rows {
		c.Groups = append(c.Groups, row.Name)
		if row.CadenceDays > 0 && (c.GroupCadence == 0 || row.CadenceDays < c.GroupCadence) {
			c.GroupCadence = row.CadenceDays
		}
	}
	return err
}

// Groups is the state of a change.Membership: the ids of a person's groups.
type Groups struct{ Groups []string }
