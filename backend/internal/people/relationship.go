package people

import (
	"time"

	"github.com/kith-crm/kith/backend/internal/tenant"
)

// Relationship says what one person is to another, and is its database row: ToID is
// FromID's Type. The inverse is implied and has no row.
type Relationship struct {
	TenantID  tenant.ID `bun:",pk" json:"-"`
	ID        string    `bun:",pk" json:"id"`
	FromID    string    `json:"from_id"`
	ToID      string    `json:"to_id"`
	Type      string    `json:"type"`
	CreatedAt time.Time `json:"created_at"`
}
