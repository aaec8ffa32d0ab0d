package account

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/uptrace/bun"
)

// FindMember finds a member by username or, if login has an @, by e-mail address. It
// fails with fault.NotFound.
func FindMember(ctx context.Context, s *db.DB, login string) (*Member, error) {
	column := "username"
	if strings.Contains(login, "@") {
		column = "email"
	}
	m, err := account(ctx, s, column, strings.ToLower(login))
	return db.Found(m, err, "there is no such member")
}

// GetMemberByID returns a member, or fault.NotFound.
func GetMemberByID(ctx context.Context, s *db.DB, owner tenant.ID) (*Member, error) {
	m, err := account(ctx, s, "id", string(owner))
	return db.Found(m, err, "there is no such member")
}

func account(ctx context.Context, s *db.DB, column, value string) (*Member, error) {
	m := &Member{}
	err := s.NewSelect().Model(m).ColumnExpr("?TableColumns").ColumnExpr("st.read_only").
		Join("JOIN tenant_states AS st ON st.tenant_id = ?TableAlias.id").
		Where("?TableAlias.? = ?", bun.Ident(column), value).Scan(ctx)
	return m, err
}

// Writable is the condition that excludes the sandbox's accounts from a statement on
// members.
const Writable = " AND NOT EXISTS (SELECT 1 FROM tenant_states st WHERE st.tenant_id = members.id AND st.read_only)"

// SetPassword replaces the password's hash. It ends all of the member's login sessions, and all open
// links that reset the password or change the address. It starts a new epoch of access, which it
// returns. It fails with fault.NotFound if there is no such member who may have a password, and with
// ErrAccessEnded if the access was revoked.
func SetPassword(ctx context.Context, s *db.DB, a Access, hash string) (Access, error) {
	err := changeAccess(ctx, s, a, func(ctx context.Context, tx db.Querier) error {
		return setPassword(ctx, s, tx, a.Owner, hash)
	})
	return Access{Owner: a.Owner, Epoch: a.Epoch + 1}, err
}

// setPassword is SetPassword in a transaction that has locked the member with changeLock.
func setPassword(ctx context.Context, s *db.DB, tx db.Querier, owner tenant.ID, hash string) error {
	result, err := tx.NewRaw("UPDATE members SET password_hash = ?, access_epoch = access_epoch + 1, updated_at = ? WHERE id = ?"+Writable, hash, s.Now(), owner).Exec(ctx)
	if err := db.MustMeet(result, err, "there is no such member who may have a password"); err != nil {
		return err
	}
	for _, statement := range []string{"DELETE FROM login_sessions WHERE member_id = ?", deleteSteps} {
		if _, err := tx.NewRaw(statement, owner).Exec(ctx); err != nil {
			return err
		}
	}
	_, err = tx.NewRaw("DELETE FROM mail_links WHERE member_id = ? AND purpose <> ?", owner, PurposeVerify).Exec(ctx)
	return err
}

// RaisePasswordHash replaces the hash of an unchanged password, and changes nothing else. It does
// nothing if the member's hash has changed in the meantime.
func RaisePasswordHash(ctx context.Context, s *db.DB, owner tenant.ID, hash, upgradedHash string) error {
	return s.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		_, err := tx.NewRaw("UPDATE members SET password_hash = ? WHERE id = ? AND password_hash = ?"+Writable, upgradedHash, owner, hash).Exec(ctx)
		return err
	})
}

// MarkEmailVerified marks the member's address as verified. It fails with fault.NotFound if
// the address has changed in the meantime.
func MarkEmailVerified(ctx context.Context, s *db.DB, owner tenant.ID, email string) error {
	return updateOne(ctx, s, fault.New(fault.NotFound, "the member has another e-mail address by now"),
		markVerified, s.Now(), s.Now(), owner, email)
}

// markVerified stores the first time at which an address was verified.
const markVerified = "UPDATE members SET email_verified_at = coalesce(email_verified_at, ?), updated_at = ? WHERE id = ? AND email = ?" + Writable

// SetEmbeddingsHost stores which remote embedding provider the member allows; empty
// means none. It fails with fault.NotFound if there is no such member who may allow
// one.
func SetEmbeddingsHost(ctx context.Context, s *db.DB, owner tenant.ID, host string) error {
	return updateOne(ctx, s, fault.New(fault.NotFound, "there is no such member who may allow an embedding provider"),
		"UPDATE members SET embeddings_host = ?, updated_at = ? WHERE id = ?"+Writable, host, s.Now(), owner)
}

// OwnedTables are the tables of a tenant that must be deleted in this order because of
// their references; the rest is deleted with the member.
func OwnedTables() []string {
	return []string{"changes", "interactions", "notes", "connections", "tags", "organizations"}
}

// DeleteMember deletes a member with all their data and all access that they granted,
// in one transaction. It fails with fault.NotFound or fault.ReadOnly.
func DeleteMember(ctx context.Context, s *db.DB, owner tenant.ID) error {
	err := s.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		// Every write of a tenant locks this row first, so no other write can run from here on.
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
	return err
}

func deleteMember(ctx context.Context, tx db.Querier, owner tenant.ID) error {
	for _, table := range OwnedTables() {
		if _, err := tx.NewRaw("DELETE FROM ? WHERE tenant_id = ?", bun.Ident(table), owner).Exec(ctx); err != nil {
			return fmt.Errorf("delete %s: %w", table, err)
		}
	}
	for _, table := range []string{"sign_ups", "provider_attempts"} { // identified by the address only
		if _, err := tx.NewRaw("DELETE FROM ? WHERE email = (SELECT email FROM members WHERE id = ?)", bun.Ident(table), owner).Exec(ctx); err != nil {
			return fmt.Errorf("delete %s: %w", table, err)
		}
	}
	if _, err := tx.NewRaw("DELETE FROM members WHERE id = ?", owner).Exec(ctx); err != nil {
		return fmt.Errorf("delete member: %w", err)
	}
	return nil
}
