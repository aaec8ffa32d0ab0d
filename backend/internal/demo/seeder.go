package demo

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kith-crm/kith/backend/internal/periodic"
	"github.com/kith-crm/kith/backend/internal/store"
	"github.com/kith-crm/kith/proto/catalog"
)

// Store keeps the demo account.
type Store interface {
	// DemoDay returns the account's username and the day it is seeded for.
	DemoDay(ctx context.Context) (username, day string, err error)
	// ReplaceDemo puts the account of a day in place of the one before.
	ReplaceDemo(ctx context.Context, d store.Demo) error
}

// Seeder keeps the demo account seeded for today. Many processes may run one on
// the same store: the first to come seeds.
type Seeder struct {
	store  Store
	scopes string
	now    func() time.Time
	logger *slog.Logger

	seeded atomic.Int64 // the day, in seconds
	worker periodic.Worker
}

// checkEvery is how often the day is compared. It costs one small read.
const checkEvery = time.Minute

// NewSeeder returns a Seeder whose public token reads all of the catalogue's
// groups and writes none.
func NewSeeder(s Store, tools *catalog.Catalog, now func() time.Time, logger *slog.Logger) *Seeder {
	var scopes []string
	for _, scope := range tools.Scopes() {
		if scope != catalog.ScopeWrite {
			scopes = append(scopes, scope)
		}
	}
	return &Seeder{store: s, scopes: strings.Join(scopes, " "), now: now, logger: logger}
}

// Seed makes sure that the account is that of today. It reports whether it had
// to be made anew.
func (s *Seeder) Seed(ctx context.Context) (seeded bool, err error) {
	today := s.now().UTC()
	_, day, err := s.store.DemoDay(ctx)
	if err != nil {
		return false, err
	}
	if day != today.Format(time.DateOnly) {
		seeded, err = true, s.store.ReplaceDemo(ctx, rows(today, s.scopes))
	}
	if err == nil {
		s.seeded.Store(today.Truncate(24 * time.Hour).Unix())
	}
	return seeded, err
}

// Day is when the day began that the account was found or made for by this
// seeder; zero before.
func (s *Seeder) Day() time.Time {
	if day := s.seeded.Load(); day > 0 {
		return time.Unix(day, 0)
	}
	return time.Time{}
}

// Start seeds, and goes on to do so in the background until Stop. A failure
// later on is logged and tried again.
func (s *Seeder) Start(ctx context.Context) error {
	if _, err := s.Seed(ctx); err != nil {
		return err
	}
	s.worker.Start(ctx, checkEvery, s.again)
	return nil
}

func (s *Seeder) again(ctx context.Context) {
	switch seeded, err := s.Seed(ctx); {
	case err != nil && ctx.Err() == nil:
		s.logger.ErrorContext(ctx, "seed the sandbox", "error", err)
	case seeded:
		s.logger.InfoContext(ctx, "sandbox seeded for today")
	}
}

// Stop ends the background work. It may be called twice, or without Start.
func (s *Seeder) Stop() { s.worker.Stop() }
