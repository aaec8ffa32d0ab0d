package store

import (
	"context"
	"strings"

	"github.com/uptrace/bun"

	"github.com/kith-crm/kith/backend/internal/profile"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
)

// publicProfiles selects pages that anybody may see, with their usernames.
func (s *Store) publicProfiles(rows *[]profile.Profile) *bun.SelectQuery {
	return s.engine.serviceRead.NewSelect().Model(rows).
		ColumnExpr("?TableAlias.*").ColumnExpr("m.username").
		Join("JOIN members AS m ON m.id = ?TableAlias.member_id").
		Where("?TableAlias.visibility = ?", profile.Public).
		Where("m.suspended_at IS NULL")
}

// GetPublicProfiles implements profile.Store.
func (s *Store) GetPublicProfiles(ctx context.Context, usernames []string) ([]profile.Profile, error) {
	var rows []profile.Profile
	err := s.publicProfiles(&rows).Where("m.username IN (?)", bun.List(usernames)).Scan(ctx)
	return rows, translate(err)
}

// ListPublicProfiles implements profile.Store.
func (s *Store) ListPublicProfiles(ctx context.Context, words []string, after profile.Position, limit int) ([]profile.Profile, error) {
	var rows []profile.Profile
	q := s.publicProfiles(&rows).Where("?TableAlias.listed").
		Where("(?TableAlias.sort_name, m.username) > (?, ?)", after.SortName, after.Username)
	escape := strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)
	for _, word := range words {
		q = q.Where(`?TableAlias.search_text LIKE ? ESCAPE '\'`, "%"+escape.Replace(word)+"%")
	}
	err := q.OrderExpr("?TableAlias.sort_name, m.username").Limit(int64(limit)).Scan(ctx)
	return rows, translate(err)
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
