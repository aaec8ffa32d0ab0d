package demo

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/uptrace/bun"
)

// Demo is the demo account of a day, and the other members of the sandbox.
type Demo struct {
	// Day is midnight UTC of the day that the dates are relative to.
	Day time.Time
	// Members are the demo account and the other members, Profiles theirs.
	Members  []account.Member
	Profiles []account.Profile
	// Token is the demo account's.
	Token account.PersonalToken
	// Organizations of the demo account, without ids.
	Organizations []people.Organization
	// Fill writes the rest of the demo account, in the transaction that replaces it.
	Fill func(ctx context.Context, tx *db.Tx) error
}

// demoDay returns the username of the demo account and the day (YYYY-MM-DD) for which it
// is seeded; both are empty before the first seeding.
func demoDay(ctx context.Context, s *db.DB) (username, day string, err error) {
	err = s.NewRaw("SELECT username, seeded_for FROM sandbox_states").Scan(ctx, &username, &day)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return username, day, err
}

// Member returns the demo account. It fails with fault.NotFound if it is not seeded. The
// result is never an account that can be changed.
func Member(ctx context.Context, s *db.DB) (owner tenant.ID, err error) {
	err = s.NewRaw(`SELECT m.id FROM members m JOIN sandbox_states s ON s.username = m.username
JOIN tenant_states t ON t.tenant_id = m.id AND t.read_only`).Scan(ctx, &owner)
	if errors.Is(err, sql.ErrNoRows) {
		return "", fault.New(fault.NotFound, "there is no demo account")
	}
	return owner, err
}

// CountDemo returns how many connections the demo account has.
func CountDemo(ctx context.Context, s *db.DB) (n int, err error) {
	err = s.NewRaw(`SELECT count(*) FROM connections c JOIN members m ON m.id = c.tenant_id
JOIN sandbox_states s ON s.username = m.username`).Scan(ctx, &n)
	return n, err
}

// ReplaceDemo replaces the sandbox's members and all their data with those of another day,
// in one transaction. It does nothing when that day is already seeded. The members are
// read-only afterwards.
func ReplaceDemo(ctx context.Context, s *db.DB, d Demo) error {
	err := s.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		if err := db.LockTable(ctx, tx, "sandbox_states"); err != nil {
			return err
		}
		var day string
		err := tx.NewRaw("SELECT seeded_for FROM sandbox_states").Scan(ctx, &day)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if day == d.Day.Format(time.DateOnly) {
			return nil
		}
		return replaceDemo(ctx, s, tx, d)
	})
	if err != nil {
		return fmt.Errorf("seed the sandbox: %w", err)
	}
	return nil
}

// RemoveDemo deletes the sandbox's members with all their data, and reports whether there were any. Only they
// are read-only.
func RemoveDemo(ctx context.Context, s *db.DB) (removed bool, err error) {
	err = s.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		if err := db.LockTable(ctx, tx, "sandbox_states"); err != nil {
			return err
		}
		var ids []tenant.ID
		if err := tx.NewRaw("SELECT tenant_id FROM tenant_states WHERE read_only").Scan(ctx, &ids); err != nil {
			return err
		}
		if removed = len(ids) > 0; !removed {
			return nil
		}
		if _, err := removeDemo(ctx, tx, ids); err != nil {
			return err
		}
		_, err := tx.NewRaw("DELETE FROM sandbox_states").Exec(ctx)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("remove the sandbox: %w", err)
	}
	return removed, nil
}

func replaceDemo(ctx context.Context, s *db.DB, tx db.Querier, d Demo) error {
	ids := make([]tenant.ID, len(d.Members))
	for i, m := range d.Members {
		ids[i] = m.ID
	}
	version, err := removeDemo(ctx, tx, ids)
	if err != nil {
		return err
	}
	if err := account.InsertMembers(ctx, tx, d.Members, d.Profiles); err != nil {
		return err
	}
	if _, err := tx.NewInsert().Model(&d.Token).Exec(ctx); err != nil {
		return err
	}
	if err := fillDemo(ctx, s, tx, d, version+1); err != nil {
		return err
	}
	if _, err := tx.NewRaw("UPDATE tenant_states SET read_only = TRUE, data_version = ? WHERE tenant_id IN (?)", version+1, bun.List(ids)).Exec(ctx); err != nil {
		return err
	}
	_, err = tx.NewRaw(`INSERT INTO sandbox_states (id, username, seeded_for) VALUES (1, ?, ?)
ON CONFLICT (id) DO UPDATE SET username = excluded.username, seeded_for = excluded.seeded_for`, d.Members[0].Username, d.Day.Format(time.DateOnly)).Exec(ctx)
	return err
}

// removeDemo deletes the sandbox's members with all their data, and returns the data
// version of the demo account, whose id comes first.
func removeDemo(ctx context.Context, tx db.Querier, ids []tenant.ID) (version int64, err error) {
	err = tx.NewRaw("SELECT data_version FROM tenant_states WHERE tenant_id = ?", ids[0]).Scan(ctx, &version)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, err
	}
	if _, err := tx.NewRaw("UPDATE tenant_states SET read_only = FALSE WHERE tenant_id IN (?)", bun.List(ids)).Exec(ctx); err != nil {
		return 0, err
	}
	// Delete the tenant's rows first: the triggers that guard them read its state.
	for _, table := range account.OwnedTables() {
		if _, err := tx.NewRaw("DELETE FROM ? WHERE tenant_id IN (?)", bun.Ident(table), bun.List(ids)).Exec(ctx); err != nil {
			return 0, err
		}
	}
	_, err = tx.NewRaw("DELETE FROM members WHERE id IN (?)", bun.List(ids)).Exec(ctx)
	return version, err
}

// fillDemo writes the demo account's data.
func fillDemo(ctx context.Context, s *db.DB, tx db.Querier, d Demo, version int64) error {
	u := s.TenantIn(tx, d.Members[0].ID, d.Day, version)
	for i := range d.Organizations {
		d.Organizations[i].TenantID = u.TenantID()
		if err := people.NameRow(u, &d.Organizations[i].ID, id.Organization); err != nil {
			return err
		}
	}
	if err := u.InsertAll(ctx, &d.Organizations, len(d.Organizations)); err != nil {
		return err
	}
	return d.Fill(ctx, u)
}
