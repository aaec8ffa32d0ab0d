package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/member"
	"github.com/kith-crm/kith/backend/internal/profile"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
)

// CreateMember implements member.Store.
func (s *Store) CreateMember(ctx context.Context, m *member.Member) error {
	memberID, err := s.ids.New(id.Member)
	if err != nil {
		return err
	}
	m.ID, m.CreatedAt, m.UpdatedAt = tenant.ID(memberID), s.time(), s.time()
	err = s.engine.serviceWrite.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		return insertMember(ctx, tx, m, newProfile(m), false)
	})
	if isTaken(err) {
		return fault.New(fault.AlreadyExists, "a member with this username or e-mail exists already")
	}
	return translate(err)
}

// insertMember keeps a member with everything that each one has.
func insertMember(ctx context.Context, tx bun.Tx, m *member.Member, page *profile.Profile, readOnly bool) error {
	if _, err := tx.NewInsert().Model(m).Exec(ctx); err != nil {
		return fmt.Errorf("insert member: %w", err)
	}
	if _, err := tx.NewRaw("INSERT INTO tenant_states (tenant_id, data_version, read_only) VALUES (?, 0, ?)",
		m.ID, readOnly).Exec(ctx); err != nil {
		return fmt.Errorf("insert tenant state: %w", err)
	}
	page.Index(text.Fold)
	if _, err := tx.NewInsert().Model(page).Exec(ctx); err != nil {
		return fmt.Errorf("insert profile: %w", err)
	}
	return nil
}

// GetMember implements member.Store.
func (s *Store) GetMember(ctx context.Context, username string) (*member.Member, error) {
	m := &member.Member{}
	err := s.engine.serviceRead.NewSelect().Model(m).Where("username = ?", username).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, noMember(username)
	}
	return m, translate(err)
}

func noMember(username string) error {
	return fault.New(fault.NotFound, "there is no member %q", username)
}

// ListMembers implements member.Store.
func (s *Store) ListMembers(ctx context.Context) ([]member.Member, error) {
	var members []member.Member
	err := s.engine.serviceRead.NewSelect().Model(&members).Order("username").Scan(ctx)
	return members, translate(err)
}

// updateOne runs a statement that must meet a row, or returns missing.
func (s *Store) updateOne(ctx context.Context, missing error, statement string, args ...any) error {
	result, err := s.engine.serviceWrite.NewRaw(statement, args...).Exec(ctx)
	if err != nil {
		return translate(err)
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, missing)
	}
	return nil
}
