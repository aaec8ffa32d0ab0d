package demo

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/periodic"
	"github.com/kith-crm/kith/proto/catalog"
)

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
