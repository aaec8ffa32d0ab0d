package people

import (
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

// Groups is the state of a change.Membership: the ids of a person's groups.
type Groups struct {
	Groups []string `json:"groups"`
}
