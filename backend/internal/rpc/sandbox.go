package rpc

import (
	"context"
	"fmt"
	"time"

	"github.com/kith-crm/kith/backend/internal/store"
	sandboxv1 "github.com/kith-crm/kith/proto/gen/kith/sandbox/v1"
)

// sandboxes implements SandboxService.
type sandboxes struct{ store *store.Store }

func (h *sandboxes) GetSandbox(ctx context.Context, _ *sandboxv1.GetSandboxRequest) (*sandboxv1.GetSandboxResponse, error) {
	username, seededFor, err := h.store.DemoDay(ctx)
	if err != nil || username == "" {
		return &sandboxv1.GetSandboxResponse{}, err
	}
	day, err := time.Parse(time.DateOnly, seededFor)
	if err != nil {
		return nil, fmt.Errorf("read the sandbox's day: %w", err)
	}
	n, err := h.store.CountDemo(ctx)
	if err != nil {
		return nil, err
	}
	return &sandboxv1.GetSandboxResponse{Seeded: true, Username: username, SeededFor: timestamp(day), Connections: int32(n)}, nil
}
