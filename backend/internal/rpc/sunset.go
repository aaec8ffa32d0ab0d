package rpc

import (
	"context"

	"github.com/kith-crm/kith/backend/internal/store"
	sunsetv1 "github.com/kith-crm/kith/proto/gen/kith/sunset/v1"
)

// sunsets implements SunsetService.
type sunsets struct{ store *store.Store }

func (h *sunsets) AnnounceSunset(ctx context.Context, req *sunsetv1.AnnounceSunsetRequest) (*sunsetv1.AnnounceSunsetResponse, error) {
	first, err := h.store.AnnounceSunset(ctx, req.GetRoute(), req.GetSunsetAt().AsTime())
	if err != nil {
		return nil, err
	}
	return &sunsetv1.AnnounceSunsetResponse{FirstAnnouncedAt: timestamp(first)}, nil
}
