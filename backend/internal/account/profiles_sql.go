package account

import (
	"context"
	"fmt"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/uptrace/bun"
)

// shownProfiles selects profiles that an audience may see, with their usernames.
func shownProfiles(s *db.DB, rows *[]Profile, audience Visibility) *bun.SelectQuery {
	q := s.NewSelect().Model(rows).
		ColumnExpr("?TableColumns").
		Join("JOIN members AS m ON m.id = ?TableAlias.member_id").
		Where("m.suspended_at IS NULL")
	if audience == Members {
		return q.Where("?TableAlias.visibility IN (?, ?)", Public, Members)
	}
	return q.Where("?TableAlias.visibility = ?", Public)
}

// getPublicProfile uses a prepared statement, because it runs for each request for a
// page that the edge has not cached.
func getPublicProfile(ctx context.Context, s *db.DB, username string) ([]Profile, error) {
	var rows []Profile
	statement, err := s.Prepared(ctx, "public profile", func() string {
		return shownProfiles(s, &rows, Public).Where("m.username = ?", bun.Safe("?")).String()
	})
	if err != nil {
		return nil, err
	}
	found, err := statement.Rows(ctx, username) //nolint:rowserrcheck // ScanRows checks the error and closes the rows
	if err != nil {
		return nil, err
	}
	err = s.ScanRows(ctx, found, &rows)
	return rows, err
}

// GetPublicProfiles returns the public profiles among the usernames, in no order;
// unknown, private and suspended members are left out.
func GetPublicProfiles(ctx context.Context, s *db.DB, usernames []string) ([]Profile, error) {
	if len(usernames) == 1 {
		return getPublicProfile(ctx, s, usernames[0])
	}
	var rows []Profile
	err := shownProfiles(s, &rows, Public).Where("m.username IN (?)", bun.List(usernames)).Scan(ctx)
	return rows, err
}

// GetMemberProfile returns the page of a member as other members may see it. It fails
// with fault.NotFound for unknown, private and suspended members alike.
func GetMemberProfile(ctx context.Context, s *db.DB, username string) (*Profile, error) {
	var rows []Profile
	err := shownProfiles(s, &rows, Members).Where("m.username = ?", username).Scan(ctx)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, fault.New(fault.NotFound, "there is no profile of %q that members can see; search_directory finds members", username)
	}
	rows[0].Reduce(Members)
	return &rows[0], nil
}

// GetProfile returns the member's page with all its fields, or fault.NotFound.
func GetProfile(ctx context.Context, s *db.DB, owner tenant.ID) (*Profile, error) {
	p := &Profile{}
	err := s.NewSelect().Model(p).Where("member_id = ?", owner).Scan(ctx)
	return db.Found(p, err, "there is no such member")
}

// UpdateProfile replaces the page, indexes it and sets UpdatedAt. It fails with
// fault.NotFound if there is no such member whose page may change.
func UpdateProfile(ctx context.Context, s *db.DB, p *Profile) error {
	p.UpdatedAt = s.Now()
	p.Index(text.Fold)
	result, err := s.NewUpdate().Model(p).ExcludeColumn("member_id", "username").
		Where("member_id = ?", p.MemberID).
		Where("NOT EXISTS (SELECT 1 FROM tenant_states st WHERE st.tenant_id = ?TableAlias.member_id AND st.read_only)").Exec(ctx)
	return db.MustMeet(result, err, "there is no such member whose page may change")
}

// GetOwnProfile returns the page with all its fields.
func GetOwnProfile(ctx context.Context, tx *db.Tx) (*Profile, error) {
	p := &Profile{}
	err := tx.NewSelect().Model(p).Where("member_id = ?", tx.TenantID()).Scan(ctx)
	return db.Found(p, err, "there is no such member")
}

// ReplaceProfile replaces the page that was read with p's UpdatedAt by p, and sets a
// new UpdatedAt. It fails with fault.Conflict if the stored page has changed since.
func ReplaceProfile(ctx context.Context, tx *db.Tx, p *Profile) error {
	read := p.UpdatedAt
	p.MemberID, p.UpdatedAt = tx.TenantID(), tx.Now()
	p.Index(text.Fold)
	result, err := tx.NewUpdate().Model(p).ExcludeColumn("member_id", "username").
		Where("member_id = ?", tx.TenantID()).Where("updated_at = ?", read).Exec(ctx)
	if err != nil {
		return fmt.Errorf("update profile: %w", err)
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return fault.Wrap(err, fault.Conflict, "the profile has changed since it was read: read it again before you change it")
	}
	return nil
}
