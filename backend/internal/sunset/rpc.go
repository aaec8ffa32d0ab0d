package sunset

import (
	"context"

	"github.com/kith-crm/kith/backend/internal/call"
	"github.com/kith-crm/kith/backend/internal/db"
	sunsetv1 "github.com/kith-crm/kith/proto/gen/kith/sunset/v1"
)

// RPC implements SunsetService.
type RPC struct{ DB *db.DB }

func (h *RPC) AnnounceSunset(ctx context.Context, req *sunsetv1.AnnounceSunsetRequest) (*sunsetv1.AnnounceSunsetResponse, error) {
	first, err := Announce(ctx, h.DB, req.GetRoute(), req.GetSunsetAt().AsTime())
	if err != nil {
		return nil, err
	}
	return &sunsetv1.AnnounceSunsetResponse{FirstAnnouncedAt: call.Timestamp(first)}, nil
}
