package demo

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/call"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/periodic"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/proto/catalog"
	sandboxv1 "github.com/kith-crm/kith/proto/gen/kith/sandbox/v1"
	"github.com/kith-crm/kith/sandbox"
	"github.com/uptrace/bun"
)

// TokenID is the id of the sandbox's public token.
const TokenID = "pat_00000000000000000000000000"

// build returns the demo account of a day. scopes are what its public token may do.
func build(day time.Time, scopes string) (Demo, error) {
	data := sandbox.Build(day)
	out := Demo{Day: data.Day, Token: account.PersonalToken{
		ID: TokenID, MemberID: tenant.ID(data.Members[0].ID), Name: "Sandbox", Hash: account.HashSecret(sandbox.Token), Scopes: scopes, CreatedAt: data.Day,
	}}
	for _, m := range data.Members {
		out.Members = append(out.Members, account.Member{
			ID: tenant.ID(m.ID), Username: m.Username, Email: m.Email, Timezone: m.Timezone, Locale: "en",
			Plan: m.Plan, CreatedAt: data.Day, UpdatedAt: m.UpdatedAt,
		})
		out.Profiles = append(out.Profiles, page(m))
	}
	for name, domain := range data.Domains {
		out.Organizations = append(out.Organizations, people.Organization{
			Name: name, NormalName: people.NormalOrganization(name), Domain: domain, CreatedAt: data.Day, UpdatedAt: data.Day,
		})
	}
	document, err := json.Marshal(data.Document)
	out.Fill = func(ctx context.Context, tx *db.Tx) error { return importer.Seed(ctx, tx, document) }
	return out, err
}

func page(m sandbox.Member) account.Profile {
	p := m.Profile
	out := account.Profile{
		MemberID: tenant.ID(m.ID), Username: m.Username, Name: p.Name, Headline: p.Headline, Bio: p.Bio,
		LocationText: p.LocationText, Country: p.Country, Organization: p.Organization, Title: p.Title,
		Skills: p.Skills, Languages: p.Languages, OpenTo: p.OpenTo, Visibility: account.Public,
		FieldVisibility: map[string]account.Visibility{}, Listed: p.Listed, UpdatedAt: m.UpdatedAt,
	}
	for _, l := range p.Links {
		out.Links = append(out.Links, account.Link(l))
	}
	for _, field := range p.PublicFields {
		out.FieldVisibility[field] = account.Public
	}
	return out
}

// IsUsername returns a check for the usernames of the sandbox's members, which no
// other member may take.
func IsUsername(now time.Time) func(name string) bool {
	taken := map[string]bool{}
	for _, m := range sandbox.Members(now) {
		taken[m.Username] = true
	}
	return func(name string) bool { return taken[name] }
}

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
		id.Fill(&d.Organizations[i].ID, id.Organization)
	}
	if err := u.InsertAll(ctx, &d.Organizations, len(d.Organizations)); err != nil {
		return err
	}
	if err := d.Fill(ctx, u); err != nil {
		return err
	}
	return u.Derive(ctx)
}

// Seeder seeds the demo account for each day. Many processes may run one on the same
// store: the first of them seeds.
type Seeder struct {
	store  *db.DB
	scopes string
	now    func() time.Time
	logger *slog.Logger

	seeded atomic.Int64 // the day, in seconds
	worker periodic.Worker
}

// checkEvery is how often the day is checked. A check costs one small read.
const checkEvery = time.Minute

// NewSeeder returns a Seeder whose public token may read all tool groups of the
// catalogue and write none.
func NewSeeder(s *db.DB, tools *catalog.Catalog, now func() time.Time, logger *slog.Logger) *Seeder {
	var scopes []string
	for _, scope := range tools.Scopes() {
		if scope != catalog.ScopeWrite {
			scopes = append(scopes, scope)
		}
	}
	return &Seeder{store: s, scopes: strings.Join(scopes, " "), now: now, logger: logger}
}

// Seed seeds the account unless today's is already seeded, and reports whether it did.
func (s *Seeder) Seed(ctx context.Context) (seeded bool, err error) {
	today := s.now().UTC()
	_, day, err := demoDay(ctx, s.store)
	if err != nil {
		return false, err
	}
	if day != today.Format(time.DateOnly) {
		d, err := build(today, s.scopes)
		if err != nil {
			return false, err
		}
		if err := ReplaceDemo(ctx, s.store, d); err != nil {
			return false, err
		}
		seeded = true
	}
	s.seeded.Store(today.Truncate(24 * time.Hour).Unix())
	return seeded, nil
}

// Day returns the start of the day that this seeder last found or seeded the account for;
// the zero time before that.
func (s *Seeder) Day() time.Time {
	if day := s.seeded.Load(); day > 0 {
		return time.Unix(day, 0)
	}
	return time.Time{}
}

// Start seeds, and then seeds each new day in the background until Stop. Later failures
// are logged and retried.
func (s *Seeder) Start(ctx context.Context) error {
	if _, err := s.Seed(ctx); err != nil {
		return err
	}
	s.worker.Start(ctx, checkEvery, s.check)
	return nil
}

func (s *Seeder) check(ctx context.Context) {
	switch seeded, err := s.Seed(ctx); {
	case err != nil && ctx.Err() == nil:
		s.logger.ErrorContext(ctx, "seed the sandbox", "error", err)
	case seeded:
		s.logger.InfoContext(ctx, "sandbox seeded for today")
	}
}

// Stop stops the background work. It may be called twice, or without Start.
func (s *Seeder) Stop() { s.worker.Stop() }

// sandboxes implements SandboxService.
type RPC struct{ DB *db.DB }

func (h *RPC) GetSandbox(ctx context.Context, _ *sandboxv1.GetSandboxRequest) (*sandboxv1.GetSandboxResponse, error) {
	username, seededFor, err := demoDay(ctx, h.DB)
	if err != nil || username == "" {
		return &sandboxv1.GetSandboxResponse{}, err
	}
	day, err := time.Parse(time.DateOnly, seededFor)
	if err != nil {
		return nil, fmt.Errorf("read the sandbox's day: %w", err)
	}
	n, err := CountDemo(ctx, h.DB)
	if err != nil {
		return nil, err
	}
	return &sandboxv1.GetSandboxResponse{Seeded: true, Username: username, SeededFor: call.Timestamp(day), Connections: int32(n)}, nil
}
