package account

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/uptrace/bun"
)

// CreateMember adds a member with an empty, private profile. It fails with
// fault.AlreadyExists if the username or e-mail address is taken.
func CreateMember(ctx context.Context, s *db.DB, m *Member) error {
	memberID, err := s.NewID(id.Member)
	if err != nil {
		return err
	}
	m.ID, m.CreatedAt, m.UpdatedAt = tenant.ID(memberID), s.Now(), s.Now()
	err = s.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		return InsertMembers(ctx, tx, []Member{*m}, []Profile{newProfile(m)})
	})
	if db.IsTaken(err) {
		return fault.New(fault.AlreadyExists, "a member with this username or e-mail exists already")
	}
	return err
}

// InsertMembers stores members with the rows that each member has.
func InsertMembers(ctx context.Context, tx db.Querier, members []Member, profiles []Profile) error {
	if _, err := tx.NewInsert().Model(&members).Exec(ctx); err != nil {
		return fmt.Errorf("insert members: %w", err)
	}
	ids := make([]tenant.ID, len(members))
	for i := range members {
		ids[i] = members[i].ID
	}
	_, err := tx.NewRaw("INSERT INTO tenant_states (tenant_id, data_version, read_only) SELECT id, 0, FALSE FROM members WHERE id IN (?)",
		bun.List(ids)).Exec(ctx)
	if err != nil {
		return fmt.Errorf("insert tenant states: %w", err)
	}
	for i := range profiles {
		profiles[i].Index(text.Fold)
	}
	if _, err := tx.NewInsert().Model(&profiles).Exec(ctx); err != nil {
		return fmt.Errorf("insert profiles: %w", err)
	}
	return nil
}

// GetMember returns the member with a username, or fault.NotFound.
func GetMember(ctx context.Context, s *db.DB, username string) (*Member, error) {
	m := &Member{}
	err := s.NewSelect().Model(m).Where("username = ?", username).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, NoMember(username)
	}
	return m, err
}

// NoMember returns the fault.NotFound of a username.
func NoMember(username string) error {
	return fault.New(fault.NotFound, "there is no member %q", username)
}

// FindUsername returns the username of the member with an id, an email address, or a credential with an id. It fails
// with fault.NotFound, and with fault.Invalid for something else.
func FindUsername(ctx context.Context, s *db.DB, sought string) (username string, err error) {
	condition, value := "", sought
	switch {
	case id.Valid(id.Member, sought):
		condition = "m.id = ?"
	case id.Valid(id.Token, sought):
		condition = "m.id = (SELECT t.member_id FROM personal_tokens t WHERE t.id = ?)"
	case id.Valid(id.Grant, sought):
		condition = "m.id = (SELECT g.member_id FROM grants g WHERE g.id = ?)"
	case strings.Contains(sought, "@"):
		condition = "m.email = ?"
		if value, err = CheckEmail(sought); err != nil {
			return "", err
		}
	default:
		return "", fault.New(fault.Invalid, "%.60q is not an id of a member (mem_…), a token (pat_…) or a grant (grt_…), and not an email address", sought)
	}
	err = s.NewRaw("SELECT m.username FROM members m WHERE "+condition, value).Scan(ctx, &username)
	if errors.Is(err, sql.ErrNoRows) {
		return "", fault.New(fault.NotFound, "no member has %s", sought)
	}
	return username, err
}

// ListMembers returns all members by username.
func ListMembers(ctx context.Context, s *db.DB) ([]Member, error) {
	var members []Member
	err := s.NewSelect().Model(&members).Order("username").Scan(ctx)
	return members, err
}

// updateOne runs a statement that must affect a row; otherwise it returns missing.
func updateOne(ctx context.Context, s *db.DB, missing error, statement string, args ...any) error {
	result, err := s.NewWrite(statement, args...).Exec(ctx)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, missing)
	}
	return nil
}
