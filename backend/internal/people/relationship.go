package people

import (
	"time"

	"github.com/kith-crm/kith/backend/internal/tenant"
)

// Relationship says what one person is to another, and is its database row: ToID is
// FromID's Type. The inverse is implied and has no row.
type Relationship struct {
	TenantID  tenant.ID `bun:",pk" json:"-"`
	ID        string    `bun:",pk"`
	FromID    string
	ToID      string
	Type      string
	CreatedAt time.Time
}
