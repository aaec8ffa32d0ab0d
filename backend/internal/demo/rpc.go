package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/kith-crm/kith/backend/internal/call"
	"github.com/kith-crm/kith/backend/internal/db"
	sandboxv1 "github.com/kith-crm/kith/proto/gen/kith/sandbox/v1"
)

// sandboxes implements SandboxService.
type RPC struct{ DB *db.DB }

func (h *RPC) GetSandbox(ctx context.Context, _ *sandboxv1.GetSandboxRequest) (*sandboxv1.GetSandboxResponse, error) {
	username, seededFor, err := demoDay(ctx, h.DB)
	if err != nil || username == "" {
		return &sandboxv1.GetSandboxResponse{}, err
	}
	day, err := time.Parse(time.DateOnly, seededFor)
	if err != nil {
		return nil, fmt.Errorf("read the sandbox's day: %w", err)
	}
	n, err := CountDemo(ctx, h.DB)
	if err != nil {
		return nil, err
	}
	return &sandboxv1.GetSandboxResponse{Seeded: true, Username: username, SeededFor: call.Timestamp(day), Connections: int32(n)}, nil
}
