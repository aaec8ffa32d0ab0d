package db

import (
	"context"
	"fmt"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// space is what a member stores in photos, uploaded files and recorded changes, in bytes, and how
// much they may; a limit of 0 is none. Triggers keep the sum, tenant_states.kept_bytes.
type space struct{ kept, limit int64 }

// limitKey is the context key of the share of the quota by which writes may exceed it.
type limitKey struct{}

// WithExtraQuota returns a context whose writes may exceed a member's quota by a quarter: they delete,
// cancel or undo something, so that a member whose quota is used up can make room.
func WithExtraQuota(ctx context.Context) context.Context {
	return context.WithValue(ctx, limitKey{}, quarter)
}

// WithoutQuota returns a context whose writes no quota refuses: they store none of what it counts,
// or they only delete.
func WithoutQuota(ctx context.Context) context.Context {
	return context.WithValue(ctx, limitKey{}, unbounded)
}

type excess int

const (
	quarter excess = iota + 1
	unbounded
)

// limitOf returns the limit of a write.
func limitOf(ctx context.Context, quota int64) int64 {
	switch more, _ := ctx.Value(limitKey{}).(excess); more {
	case unbounded:
		return 0
	case quarter:
		return quota + quota/4
	default:
		return quota
	}
}

// Reserve fails with fault.Full if the member's quota is used up, or would be exceeded by so
// many more bytes. Every write checks that before it begins, and what stores photos and files before
// it stores them; a change is recorded if there was room when its transaction began.
func (x *Tx) Reserve(bytes int) error {
	s := &x.space
	if s.limit > 0 && (s.kept >= s.limit || s.kept+int64(bytes) > s.limit) {
		return s.full()
	}
	s.kept += int64(bytes)
	return nil
}

func (s *space) full() error {
	return fault.New(fault.Full, "the account is full: its photos, uploaded files and recorded changes use %s of %s. "+
		"To make room, the member deletes people they no longer need and empties the bin (/people/bin), or asks the people who run this service for more",
		Megabytes(s.kept), Megabytes(s.limit))
}

// Megabytes returns a number of bytes in words, such as 1.5 MB.
func Megabytes(bytes int64) string { return fmt.Sprintf("%.1f MB", float64(bytes)/(1<<20)) }

// Space returns how many bytes of the quota the member uses, and the quota; 0 if there is none.
func (t *Tenant) Space(ctx context.Context) (kept, quota int64, err error) {
	err = t.NewRaw("SELECT kept_bytes, coalesce(quota_bytes, ?) FROM tenant_states WHERE tenant_id = ?", t.service.memberBytes, t.id).Scan(ctx, &kept, &quota)
	return kept, quota, err
}

// SetQuota gives a member so many bytes instead of Config.MemberBytes, 0 for no limit; nil gives those of the
// configuration again.
func (s *DB) SetQuota(ctx context.Context, owner tenant.ID, bytes *int64) error {
	_, err := s.NewWrite("UPDATE tenant_states SET quota_bytes = ? WHERE tenant_id = ?", bytes, owner).Exec(ctx)
	return err
}

// CheckSpace fails as Tx.Reserve does, before the work for a write that stores a photo or a file.
func (t *Tenant) CheckSpace(ctx context.Context) error {
	kept, quota, err := t.Space(ctx)
	if s := (space{kept: kept, limit: quota}); err == nil && quota > 0 && kept >= quota {
		return s.full()
	}
	return err
}
