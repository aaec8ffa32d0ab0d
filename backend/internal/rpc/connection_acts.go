package rpc

import (
	"context"

	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/text"
	connectionsv1 "github.com/kith-crm/kith/proto/gen/kith/connections/v1"
)

// ArchiveConnections implements the RPC.
func (h *connections) ArchiveConnections(ctx context.Context, req *connectionsv1.ArchiveConnectionsRequest) (*connectionsv1.ArchiveConnectionsResponse, error) {
	u, err := unitFrom(ctx)
	if err != nil {
		return nil, err
	}
	done, err := connection.Archive(ctx, u, req.GetIds(), req.Archived == nil || req.GetArchived())
	if err != nil {
		return nil, err
	}
	return &connectionsv1.ArchiveConnectionsResponse{
		Changed: int32(done.Changed), Unchanged: int32(done.Unchanged), ChangeId: optional(done.ChangeID),
	}, nil
}

// DeleteConnection implements the RPC.
func (h *connections) DeleteConnection(ctx context.Context, req *connectionsv1.DeleteConnectionRequest) (*connectionsv1.DeleteConnectionResponse, error) {
	u, err := unitFrom(ctx)
	if err != nil {
		return nil, err
	}
	done, err := connection.Delete(ctx, u, req.GetId(), req.GetConfirmName())
	if err != nil {
		return nil, err
	}
	return &connectionsv1.DeleteConnectionResponse{
		Deleted: done.Deleted, NotesDeleted: int32(done.Notes), InteractionsDeleted: int32(done.Interactions), ChangeId: optional(done.ChangeID),
		RestorableUntil: timestamp(done.FinalAt),
	}, nil
}

// The contract's bounds on what a merge tells.
const (
	maxMergeConflicts = 100
	maxConflictValue  = 1999
)

// MergeConnections implements the RPC.
func (h *connections) MergeConnections(ctx context.Context, req *connectionsv1.MergeConnectionsRequest) (*connectionsv1.MergeConnectionsResponse, error) {
	u, err := unitFrom(ctx)
	if err != nil {
		return nil, err
	}
	dryRun := req.DryRun == nil || req.GetDryRun()
	res := &connectionsv1.MergeConnectionsResponse{Merged: !dryRun}
	done, err := connection.Merge(ctx, u, req.GetIntoId(), req.GetFromIds(), dryRun, func(ctx context.Context, c *connection.Connection) error {
		var err error
		res.Connection, err = wholeConnection(ctx, u, c)
		return err
	})
	if err != nil {
		return nil, err
	}
	res.Moved, res.ChangeId = int32(done.Moved), optional(done.ChangeID)
	for _, c := range done.Conflicts[:min(len(done.Conflicts), maxMergeConflicts)] {
		res.Conflicts = append(res.Conflicts, &connectionsv1.MergeConflict{
			Field: c.Field, Kept: text.Truncate(c.Kept, maxConflictValue), Dropped: text.Truncate(c.Dropped, maxConflictValue),
		})
	}
	return res, nil
}

// LinkConnections implements the RPC.
func (h *connections) LinkConnections(ctx context.Context, req *connectionsv1.LinkConnectionsRequest) (*connectionsv1.LinkConnectionsResponse, error) {
	u, err := unitFrom(ctx)
	if err != nil {
		return nil, err
	}
	relations, changeID, err := connection.Link(ctx, u, req.GetFromId(), req.GetToId(), req.GetType(), req.GetRemove())
	if err != nil {
		return nil, err
	}
	return &connectionsv1.LinkConnectionsResponse{Relationships: relationMessages(relations), ChangeId: optional(changeID)}, nil
}
