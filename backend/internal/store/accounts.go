package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/uptrace/bun"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/member"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// FindMember implements member.AccountStore.
func (s *Store) FindMember(ctx context.Context, login string) (*member.Member, error) {
	column := "username"
	if strings.Contains(login, "@") {
		column = "email"
	}
	m, err := s.account(ctx, column, strings.ToLower(login))
	return found(m, err, "there is no such member")
}

// GetMemberByID implements member.AccountStore.
func (s *Store) GetMemberByID(ctx context.Context, owner tenant.ID) (*member.Member, error) {
	m, err := s.account(ctx, "id", string(owner))
	return found(m, err, "there is no such member")
}

func (s *Store) account(ctx context.Context, column, value string) (*member.Member, error) {
	m := &member.Member{}
	err := s.engine.serviceRead.NewSelect().Model(m).ColumnExpr("?TableAlias.*").ColumnExpr("st.read_only").
		Join("JOIN tenant_states AS st ON st.tenant_id = ?TableAlias.id").
		Where("?TableAlias.? = ?", bun.Ident(column), value).Scan(ctx)
	return m, err
}

// writable is the condition of a statement on members that leaves the sandbox's
// accounts alone.
const writable = " AND NOT EXISTS (SELECT 1 FROM tenant_states st WHERE st.tenant_id = members.id AND st.read_only)"

// SetPassword implements member.AccountStore.
func (s *Store) SetPassword(ctx context.Context, owner tenant.ID, hash string) error {
	err := s.engine.serviceWrite.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		return s.setPassword(ctx, tx, owner, hash)
	})
	return translate(err)
}

func (s *Store) setPassword(ctx context.Context, tx bun.Tx, owner tenant.ID, hash string) error {
	result, err := tx.NewRaw("UPDATE members SET password_hash = ?, updated_at = ? WHERE id = ?"+writable, hash, s.time(), owner).Exec(ctx)
	if err := mustMeet(result, err, "there is no such member who may have a password"); err != nil {
		return err
	}
	if _, err := tx.NewRaw("DELETE FROM login_sessions WHERE member_id = ?", owner).Exec(ctx); err != nil {
		return err
	}
	_, err = tx.NewRaw("DELETE FROM mail_links WHERE member_id = ? AND purpose = ?", owner, member.PurposeReset).Exec(ctx)
	return err
}

// mustMeet turns a statement that met no row into fault.NotFound.
func mustMeet(result sql.Result, err error, missing string) error {
	if err != nil {
		return err
	}
	n, err := result.RowsAffected()
	if err == nil && n == 0 {
		err = fault.New(fault.NotFound, "%s", missing)
	}
	return err
}

// MarkEmailVerified implements member.AccountStore.
func (s *Store) MarkEmailVerified(ctx context.Context, owner tenant.ID, email string) error {
	return s.updateOne(ctx, fault.New(fault.NotFound, "the member has another e-mail address by now"),
		markVerified, s.time(), s.time(), owner, email)
}

// markVerified keeps the first time at which an address was verified.
const markVerified = "UPDATE members SET email_verified_at = coalesce(email_verified_at, ?), updated_at = ? WHERE id = ? AND email = ?" + writable

// SetEmbeddingsHost implements member.AccountStore.
func (s *Store) SetEmbeddingsHost(ctx context.Context, owner tenant.ID, host string) error {
	return s.updateOne(ctx, fault.New(fault.NotFound, "there is no such member who may allow an embedding provider"),
		"UPDATE members SET embeddings_host = ?, updated_at = ? WHERE id = ?"+writable, host, s.time(), owner)
}

// ownedTables are the tables of a tenant that nothing else deletes in an order
// that their references allow; the rest goes with the member.
func ownedTables() []string {
	return []string{"changes", "interactions", "notes", "connections", "tags", "organizations"}
}

// DeleteMember implements member.AccountStore.
func (s *Store) DeleteMember(ctx context.Context, owner tenant.ID) error {
	err := s.engine.serviceWrite.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		// Every write of a tenant begins with this row, so that from here on none runs.
		var readOnly bool
		err := tx.NewRaw("UPDATE tenant_states SET data_version = data_version + 1 WHERE tenant_id = ? RETURNING read_only", owner).Scan(ctx, &readOnly)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return fault.New(fault.NotFound, "there is no such member")
		case err != nil:
			return err
		case readOnly:
			return fault.New(fault.ReadOnly, "this account is read-only")
		}
		return deleteMember(ctx, tx, owner)
	})
	return translate(err)
}

func deleteMember(ctx context.Context, tx bun.Tx, owner tenant.ID) error {
	for _, table := range ownedTables() {
		if _, err := tx.NewRaw("DELETE FROM ? WHERE tenant_id = ?", bun.Ident(table), owner).Exec(ctx); err != nil {
			return fmt.Errorf("delete %s: %w", table, err)
		}
	}
	for _, table := range []string{"sign_ups", "provider_attempts"} { // known by the address alone
		if _, err := tx.NewRaw("DELETE FROM ? WHERE email = (SELECT email FROM members WHERE id = ?)", bun.Ident(table), owner).Exec(ctx); err != nil {
			return fmt.Errorf("delete %s: %w", table, err)
		}
	}
	if _, err := tx.NewRaw("DELETE FROM members WHERE id = ?", owner).Exec(ctx); err != nil {
		return fmt.Errorf("delete member: %w", err)
	}
	return nil
}
