package store

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/profile"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
)

// shownProfiles selects pages that an audience may see, with their usernames.
func (s *Store) shownProfiles(rows *[]profile.Profile, audience profile.Visibility) *bun.SelectQuery {
	q := s.engine.serviceRead.NewSelect().Model(rows).
		ColumnExpr("?TableColumns").ColumnExpr("m.username").
		Join("JOIN members AS m ON m.id = ?TableAlias.member_id").
		Where("m.suspended_at IS NULL")
	if audience == profile.Members {
		return q.Where("?TableAlias.visibility IN (?, ?)", profile.Public, profile.Members)
	}
	return q.Where("?TableAlias.visibility = ?", profile.Public)
}

// preparePublicProfile prepares what each visit of a page pays that the edge does
// not remember.
func (s *Store) preparePublicProfile(ctx context.Context) (*hotStatement, error) {
	q := s.shownProfiles(new([]profile.Profile), profile.Public).Where("m.username = ?", bun.Safe("?"))
	statement, err := s.prepare(ctx, q.String())
	if err != nil {
		return nil, fmt.Errorf("prepare profiles: %w", err)
	}
	return statement, nil
}

func (s *Store) getPublicProfile(ctx context.Context, username string) ([]profile.Profile, error) {
	found, err := s.publicProfile.rows(ctx, username) //nolint:rowserrcheck // ScanRows does, and closes them
	if err != nil {
		return nil, translate(err)
	}
	var rows []profile.Profile
	err = s.engine.serviceRead.ScanRows(ctx, found, &rows)
	return rows, translate(err)
}

// GetPublicProfiles implements profile.Store.
func (s *Store) GetPublicProfiles(ctx context.Context, usernames []string) ([]profile.Profile, error) {
	if len(usernames) == 1 {
		return s.getPublicProfile(ctx, usernames[0])
	}
	var rows []profile.Profile
	err := s.shownProfiles(&rows, profile.Public).Where("m.username IN (?)", bun.List(usernames)).Scan(ctx)
	return rows, translate(err)
}

// ListPublicProfiles implements profile.Store.
func (s *Store) ListPublicProfiles(ctx context.Context, words []string, after profile.Position, limit int) ([]profile.Profile, error) {
	var rows []profile.Profile
	err := listed(s.shownProfiles(&rows, profile.Public), "search_text", words, after, limit).Scan(ctx)
	return rows, translate(err)
}

// ListMemberProfiles is ListPublicProfiles for members, who see more pages and more
// of them. Callers reduce what is returned to that audience.
func (s *Store) ListMemberProfiles(ctx context.Context, words []string, after profile.Position, limit int) ([]profile.Profile, error) {
	var rows []profile.Profile
	err := listed(s.shownProfiles(&rows, profile.Members), "member_text", words, after, limit).Scan(ctx)
	return rows, translate(err)
}

// GetMemberProfile returns the page of a member as far as other members may see
// it, or fault.NotFound: unknown, private and suspended members alike.
func (s *Store) GetMemberProfile(ctx context.Context, username string) (*profile.Profile, error) {
	var rows []profile.Profile
	err := s.shownProfiles(&rows, profile.Members).Where("m.username = ?", username).Scan(ctx)
	if err != nil {
		return nil, translate(err)
	}
	if len(rows) == 0 {
		return nil, fault.New(fault.NotFound, "there is no profile of %q that members can see", username)
	}
	rows[0].Reduce(profile.Members)
	return &rows[0], nil
}

// listed narrows a selection of pages to one page of the directory.
func listed(q *bun.SelectQuery, column string, words []string, after profile.Position, limit int) *bun.SelectQuery {
	q = q.Where("?TableAlias.listed").Where("(?TableAlias.sort_name, m.username) > (?, ?)", after.SortName, after.Username)
	for _, word := range words {
		part := "%" + likeEscape(word) + "%"
		q = q.Where(`(?TableAlias.? LIKE ? ESCAPE '\' OR m.username LIKE ? ESCAPE '\')`, bun.Ident(column), part, part)
	}
	return q.OrderExpr("?TableAlias.sort_name, m.username").Limit(int64(limit))
}

// GetProfile implements profile.OwnStore.
func (s *Store) GetProfile(ctx context.Context, owner tenant.ID) (*profile.Profile, error) {
	p := &profile.Profile{}
	err := s.engine.serviceRead.NewSelect().Model(p).ColumnExpr("?TableAlias.*").ColumnExpr("m.username").
		Join("JOIN members AS m ON m.id = ?TableAlias.member_id").Where("?TableAlias.member_id = ?", owner).Scan(ctx)
	return found(p, err, "there is no such member")
}

// UpdateProfile implements profile.OwnStore.
func (s *Store) UpdateProfile(ctx context.Context, p *profile.Profile) error {
	p.UpdatedAt = s.time()
	p.Index(text.Fold)
	result, err := s.engine.serviceWrite.NewUpdate().Model(p).ExcludeColumn("member_id").
		Where("member_id = ?", p.MemberID).
		Where("NOT EXISTS (SELECT 1 FROM tenant_states st WHERE st.tenant_id = ?TableAlias.member_id AND st.read_only)").Exec(ctx)
	return translate(mustMeet(result, err, "there is no such member whose page may change"))
}

// GetOwnProfile implements profile.Writer.
func (u *Unit) GetOwnProfile(ctx context.Context) (*profile.Profile, error) {
	p := &profile.Profile{}
	err := u.db.NewSelect().Model(p).Where("member_id = ?", u.id).Scan(ctx)
	return found(p, err, "there is no such member")
}

// ReplaceProfile implements profile.Writer.
func (u *Unit) ReplaceProfile(ctx context.Context, p *profile.Profile) error {
	read := p.UpdatedAt
	p.MemberID, p.UpdatedAt = u.id, u.now
	p.Index(text.Fold)
	result, err := u.db.NewUpdate().Model(p).ExcludeColumn("member_id").
		Where("member_id = ?", u.id).Where("updated_at = ?", read).Exec(ctx)
	if err != nil {
		return fmt.Errorf("update profile: %w", err)
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return fault.Wrap(err, fault.Conflict, "the profile was changed by somebody else: read it again and decide anew")
	}
	return nil
}
