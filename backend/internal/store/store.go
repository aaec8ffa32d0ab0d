package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/uptrace/bun"

	"github.com/kith-crm/kith/backend/internal/credit"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/idempotency"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// Config says where and how to keep things.
type Config struct {
	// URL is a postgres:// address, or the path of a SQLite file with or
	// without sqlite:// before it.
	URL string
	// MaxConns bounds each pool of connections; 0 means 16.
	MaxConns int
	// AcceptNewer opens a database that has all that the binary knows, and more.
	AcceptNewer bool
	// Plans are the monthly credits; nil means those of credit.NewPlans.
	Plans credit.Plans
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Logger takes what happens in the background; nil discards it.
	Logger *slog.Logger
	// Queries and Credits count; nil counts nothing.
	Queries QueryObserver
	Credits CreditObserver
}

// Store is an open database of the binary's schema. It is safe for concurrent use.
type Store struct {
	now    func() time.Time
	logger *slog.Logger
	ids    *id.Generator
	engine engine
	auth   *authStatements
	// publicProfile reads the page of one username.
	publicProfile *hotStatement
	plans         credit.Plans
	// months holds the tenants whose allowance of a period was seen, by tenant.
	months sync.Map
	keys   idempotency.Registry
	counts idempotency.Counter

	file        string
	queryWatch  QueryObserver
	creditWatch CreditObserver
}

// engine is what differs between the two databases.
type engine struct {
	name string
	// service and tenants are the pools for cross-tenant and for tenant rows,
	// each for reading and for writing. In SQLite the writing pool has one
	// connection, in PostgreSQL reading and writing share a pool.
	serviceRead, serviceWrite, tenantRead, tenantWrite *bun.DB
	// admin is the pool that migrates.
	admin *bun.DB
	// lock keeps other processes from migrating until unlock is called.
	lock func(ctx context.Context) (unlock func() error, err error)
	// mode goes before a hot statement's arguments.
	mode []any
}

const (
	sqliteName   = "sqlite"
	postgresName = "postgres"
)

// Open connects, and refuses a database whose schema is not the binary's, unless it
// is a newer one and that is accepted.
// Callers Migrate first where that is wanted.
func Open(ctx context.Context, c Config) (*Store, error) {
	s, err := connect(ctx, c)
	if err != nil {
		return nil, err
	}
	switch err := s.checkSchema(ctx); {
	case errors.Is(err, ErrSchemaNewer) && c.AcceptNewer:
		s.logger.WarnContext(ctx, "the database was written by a newer kith, which is accepted")
	case err != nil:
		return nil, errors.Join(err, s.Close())
	}
	if s.auth, err = s.prepareAuth(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if s.publicProfile, err = s.preparePublicProfile(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Migrate connects and brings the schema up to the binary's. It is safe to run
// from many processes at once. A newer schema is refused.
func Migrate(ctx context.Context, c Config) (applied int, err error) {
	s, err := connect(ctx, c)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return s.migrate(ctx)
}

func connect(ctx context.Context, c Config) (*Store, error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.MaxConns == 0 {
		c.MaxConns = 16
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Plans == nil {
		var err error
		if c.Plans, err = credit.NewPlans(nil); err != nil {
			return nil, err
		}
	}
	open := openSQLite
	switch scheme, _, hasScheme := strings.Cut(c.URL, "://"); {
	case IsPostgres(c.URL):
		open = openPostgres
	case hasScheme && scheme != "sqlite" && scheme != "file":
		return nil, fmt.Errorf("the database URL begins with %s://: give the path of a SQLite file or a postgres:// address", scheme)
	}
	e, err := open(ctx, c)
	if err != nil {
		return nil, err
	}
	s := &Store{
		now: c.Now, logger: c.Logger, ids: id.NewGenerator(c.Now), engine: e, plans: c.Plans,
		file: sqlitePath(c.URL), queryWatch: nobody{}, creditWatch: nobody{},
	}
	if c.Queries != nil {
		s.queryWatch, s.engine = c.Queries, e.watched(c.Queries)
	}
	if c.Credits != nil {
		s.creditWatch = c.Credits
	}
	return s, nil
}

// IsPostgres tells whether a database URL means PostgreSQL.
func IsPostgres(url string) bool {
	return strings.HasPrefix(url, "postgres://") || strings.HasPrefix(url, "postgresql://")
}

// Engine is "sqlite" or "postgres".
func (s *Store) Engine() string { return s.engine.name }

// File is the path of a SQLite database; empty for PostgreSQL.
func (s *Store) File() string {
	if s.engine.name == postgresName {
		return ""
	}
	return s.file
}

// Close gives all connections back.
func (s *Store) Close() error {
	var errs []error
	for _, db := range s.engine.pools() {
		errs = append(errs, db.Close())
	}
	return errors.Join(errs...)
}

// Ping fails when the database cannot be reached.
func (s *Store) Ping(ctx context.Context) error {
	return translate(s.engine.serviceRead.PingContext(ctx))
}

// Pools returns each pool of connections by its name, for metrics.
func (s *Store) Pools() map[string]*sql.DB {
	pools := map[string]*sql.DB{}
	names := []string{"read", "write"}
	if s.engine.name == postgresName {
		names = []string{"service", "tenant"}
	}
	for i, db := range s.engine.pools()[:2] {
		pools[names[i]] = db.DB
	}
	return pools
}

// pools returns each pool once.
func (e engine) pools() []*bun.DB {
	var pools []*bun.DB
	for _, db := range []*bun.DB{e.serviceRead, e.serviceWrite, e.tenantRead, e.tenantWrite, e.admin} {
		seen := db == nil
		for _, p := range pools {
			seen = seen || p == db
		}
		if !seen {
			pools = append(pools, db)
		}
	}
	return pools
}

// time returns the present as the databases keep it: UTC, in microseconds.
func (s *Store) time() time.Time { return s.now().UTC().Truncate(time.Microsecond) }

type tenantKey struct{}

// withTenant names the tenant for connections that are taken from a pool under
// this context; row-level security reads it.
func withTenant(ctx context.Context, t tenant.ID) context.Context {
	return context.WithValue(ctx, tenantKey{}, t)
}

func tenantFrom(ctx context.Context) tenant.ID {
	t, _ := ctx.Value(tenantKey{}).(tenant.ID)
	return t
}
