package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/kith-crm/kith/backend/internal/change"
	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/member"
	"github.com/kith-crm/kith/backend/internal/profile"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/kith-crm/kith/backend/internal/token"
)

// Demo is the demo account of a day, and the other members of the sandbox.
type Demo struct {
	// Day is midnight UTC of the day that the dates are relative to.
	Day time.Time
	// Members are the demo account and the other members, Profiles theirs.
	Members  []member.Member
	Profiles []profile.Profile
	// Token is the demo account's.
	Token token.PersonalToken
	// Organizations of the demo account, without ids.
	Organizations []connection.Organization
	// Fill writes all else of the demo account, in the transaction that replaces it.
	Fill func(ctx context.Context, w importer.Writer) error
}

// DemoDay returns the username of the demo account and the day (YYYY-MM-DD) for which it
// is seeded; both are empty before the first seeding.
func (s *Store) DemoDay(ctx context.Context) (username, day string, err error) {
	err = s.engine.serviceRead.NewRaw("SELECT username, seeded_for FROM sandbox_states").Scan(ctx, &username, &day)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return username, day, translate(err)
}

// CountDemo returns how many connections the demo account has.
func (s *Store) CountDemo(ctx context.Context) (n int, err error) {
	err = s.engine.serviceRead.NewRaw(`SELECT count(*) FROM connections c JOIN members m ON m.id = c.tenant_id
JOIN sandbox_states s ON s.username = m.username`).Scan(ctx, &n)
	return n, translate(err)
}

// ReplaceDemo replaces the sandbox's members and all that they have by those of another
// day, in one transaction; it does nothing when that day is seeded already. The members
// are read-only afterwards.
func (s *Store) ReplaceDemo(ctx context.Context, d Demo) error {
	err := s.engine.serviceWrite.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		if s.engine.name == postgresName {
			if _, err := tx.ExecContext(ctx, "LOCK TABLE sandbox_states IN EXCLUSIVE MODE"); err != nil {
				return err
			}
		}
		var day string
		err := tx.NewRaw("SELECT seeded_for FROM sandbox_states").Scan(ctx, &day)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if day == d.Day.Format(time.DateOnly) {
			return nil
		}
		return s.replaceDemo(ctx, tx, d)
	})
	if err != nil {
		return fmt.Errorf("seed the sandbox: %w", translate(err))
	}
	return nil
}

func (s *Store) replaceDemo(ctx context.Context, tx bun.Tx, d Demo) error {
	ids := make([]tenant.ID, len(d.Members))
	for i, m := range d.Members {
		ids[i] = m.ID
	}
	version, err := removeDemo(ctx, tx, ids)
	if err != nil {
		return err
	}
	if err := insertDemoMembers(ctx, tx, d, ids); err != nil {
		return err
	}
	if err := s.fillDemo(ctx, tx, d, version+1); err != nil {
		return err
	}
	if _, err := tx.NewRaw("UPDATE tenant_states SET read_only = TRUE, data_version = ? WHERE tenant_id IN (?)", version+1, bun.List(ids)).Exec(ctx); err != nil {
		return err
	}
	_, err = tx.NewRaw(`INSERT INTO sandbox_states (id, username, seeded_for) VALUES (1, ?, ?)
ON CONFLICT (id) DO UPDATE SET username = excluded.username, seeded_for = excluded.seeded_for`, d.Members[0].Username, d.Day.Format(time.DateOnly)).Exec(ctx)
	return err
}

// removeDemo deletes the sandbox's members with all that they have, and returns the data
// version of the demo account, whose id is the first.
func removeDemo(ctx context.Context, tx bun.Tx, ids []tenant.ID) (version int64, err error) {
	err = tx.NewRaw("SELECT data_version FROM tenant_states WHERE tenant_id = ?", ids[0]).Scan(ctx, &version)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, err
	}
	if _, err := tx.NewRaw("UPDATE tenant_states SET read_only = FALSE WHERE tenant_id IN (?)", bun.List(ids)).Exec(ctx); err != nil {
		return 0, err
	}
	// The tenant's rows go first: the triggers that guard them ask for its state.
	for _, table := range ownedTables() {
		if _, err := tx.NewRaw("DELETE FROM ? WHERE tenant_id IN (?)", bun.Ident(table), bun.List(ids)).Exec(ctx); err != nil {
			return 0, err
		}
	}
	_, err = tx.NewRaw("DELETE FROM members WHERE id IN (?)", bun.List(ids)).Exec(ctx)
	return version, err
}

// insertDemoMembers is insertMember for all members, and inserts the token.
func insertDemoMembers(ctx context.Context, tx bun.Tx, d Demo, ids []tenant.ID) error {
	if _, err := tx.NewInsert().Model(&d.Members).Exec(ctx); err != nil {
		return err
	}
	if _, err := tx.NewRaw(`INSERT INTO tenant_states (tenant_id, data_version, read_only)
SELECT id, 0, FALSE FROM members WHERE id IN (?)`, bun.List(ids)).Exec(ctx); err != nil {
		return err
	}
	for i := range d.Profiles {
		d.Profiles[i].Index(text.Fold)
	}
	if _, err := tx.NewInsert().Model(&d.Profiles).Exec(ctx); err != nil {
		return err
	}
	_, err := tx.NewInsert().Model(&d.Token).Exec(ctx)
	return err
}

// fillDemo gives the demo account what it has.
func (s *Store) fillDemo(ctx context.Context, tx bun.Tx, d Demo, version int64) error {
	u := &Unit{
		scope: scope{db: tx, id: d.Members[0].ID}, ids: s.ids, now: d.Day, version: version, touched: map[string]struct{}{},
	}
	for i := range d.Organizations {
		d.Organizations[i].TenantID = u.id
		if err := u.nameRow(&d.Organizations[i].ID, id.Organization); err != nil {
			return err
		}
	}
	if err := u.insertAll(ctx, &d.Organizations, len(d.Organizations)); err != nil {
		return err
	}
	return d.Fill(ctx, demoWriter{u})
}

// demoWriter writes rows of the demo account. Nothing else is imported into it, and
// nothing undone: it writes neither keys of sources nor changes.
type demoWriter struct{ *Unit }

// KeepBatch implements importer.Writer.
func (w demoWriter) KeepBatch(ctx context.Context, b *importer.Batch) error {
	b.Keys = nil
	return w.Unit.KeepBatch(ctx, b)
}

// Record implements importer.Writer.
func (demoWriter) Record(context.Context, change.Draft) (string, error) { return "", nil }
