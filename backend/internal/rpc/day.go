package rpc

import (
	"context"
	"time"

	"github.com/kith-crm/kith/backend/internal/day"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// zoneOf returns the zone in which the caller's member lives.
func zoneOf(ctx context.Context) *time.Location {
	if p := tenant.PrincipalFrom(ctx); p != nil {
		return day.Zone(p.Timezone)
	}
	return time.UTC
}
