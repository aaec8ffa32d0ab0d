package db

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/observability/metrics"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Config says which database to open, and how.
type Config struct {
	// URL is a postgres:// address, or the path of a SQLite file with or
	// without sqlite:// before it.
	URL string
	// MaxConns bounds each pool of connections; 0 means 16.
	MaxConns int
	// AcceptNewer opens a database that has migrations that the binary doesn't know, if it
	// has all that the binary knows.
	AcceptNewer bool
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Logger logs what happens in the background; nil discards it.
	Logger *slog.Logger
	// SyncEachCommit makes a write to SQLite return once it is on the disk, so that it survives a
	// power cut. Concurrent writes share one fsync.
	SyncEachCommit bool
	// Fault is called before each statement outside a transaction, with "BEGIN" before each
	// transaction, and with "COMMITTED" after a commit. Tests return an error from it to
	// simulate a database that fails, or whose answer is lost. It may be nil.
	Fault func(statement string) error
	// Queries counts statements; nil counts nothing.
	Queries QueryObserver
	// MemberBytes is the quota of a member, over photos, uploaded files and recorded changes; 0 for
	// none. See Tx.Reserve.
	MemberBytes int64
	// BackUpBefore makes Migrate copy a SQLite database to a file beside it before it upgrades one that has data.
	BackUpBefore bool
	// Migrations has the folder "migrations"; nil means that of the binary. Tests upgrade with further ones.
	Migrations fs.FS

	create bool // make the file of a SQLite database that doesn't exist
}

// DB is an open database of the binary's schema. It is safe for concurrent use.
type DB struct {
	now    func() time.Time
	logger *slog.Logger
	ids    *id.Generator
	engine engine
	// memberBytes is Config.MemberBytes.
	memberBytes int64
	// prepared holds the statements that Prepared made, by text.
	prepared sync.Map

	health     health
	maintained atomic.Int64 // when the log was written that the last Maintain saw
	file       string
	fault      func(statement string) error
	queryWatch QueryObserver

	further      fs.FS // Config.Migrations
	backUpBefore bool
}

// engine is the part that differs between the two databases.
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
	// mode precedes the arguments of a prepared statement.
	mode []any
	// file and wal are SQLite's: the open file, and what makes commits durable, if that is set.
	file *sqliteFile
	wal  *walSync
}

// check fails while the database must not be used, though it answers.
func (e engine) check() error {
	if e.file == nil {
		return nil
	}
	return e.file.check()
}

// close closes all pools, then the file.
func (e engine) close() error {
	var errs []error
	for _, db := range e.pools() {
		errs = append(errs, db.Close())
	}
	return errors.Join(append(errs, e.wal.close(), e.file.close())...)
}

const (
	sqliteName   = "sqlite"
	postgresName = "postgres"
)

// Open connects, and refuses a database whose schema is not the binary's, unless it is
// newer and Config.AcceptNewer is set. It does not migrate: call Migrate first for that.
func Open(ctx context.Context, c Config) (*DB, error) {
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
	return s, nil
}

// Migrated is what Migrate did.
type Migrated struct {
	// Applied is how many migrations the database lacked.
	Applied int
	// Backup is the file with the database as it was before; "" if there is none (Config.BackUpBefore).
	Backup string
}

// Migrate connects and brings the schema up to the binary's; it makes the file of a SQLite database that
// doesn't exist. It is safe to run from many processes at once. A schema that is newer or another program's is refused.
func Migrate(ctx context.Context, c Config) (done Migrated, err error) {
	c.create = true
	s, err := connect(ctx, c)
	if err != nil {
		return Migrated{}, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return s.migrate(ctx)
}

func connect(ctx context.Context, c Config) (*DB, error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	fault := func(string) error { return nil }
	if c.Fault != nil {
		fault = func(statement string) error { return c.Fault(withoutMarks(statement)) }
	}
	if c.MaxConns == 0 {
		c.MaxConns = 16
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
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
	checked := func(statement string) error {
		return cmp.Or(e.check(), fault(statement))
	}
	s := &DB{
		now: c.Now, logger: c.Logger, ids: id.NewGenerator(c.Now), engine: e, memberBytes: c.MemberBytes,
		fault: checked, file: sqlitePath(c.URL), queryWatch: noop{}, further: c.Migrations, backUpBefore: c.BackUpBefore,
	}
	if c.Queries != nil {
		s.queryWatch, s.engine = c.Queries, e.watched(c.Queries)
	}
	return s, nil
}

// IsPostgres reports whether a database URL means PostgreSQL.
func IsPostgres(url string) bool {
	return strings.HasPrefix(url, "postgres://") || strings.HasPrefix(url, "postgresql://")
}

// Engine is "sqlite" or "postgres".
func (s *DB) Engine() string { return s.engine.name }

// File is the path of a SQLite database; empty for PostgreSQL.
func (s *DB) File() string {
	if s.engine.name == postgresName {
		return ""
	}
	return s.file
}

// Close closes all connections.
func (s *DB) Close() error { return s.engine.close() }

// Ping fails when the database cannot be reached.
func (s *DB) Ping(ctx context.Context) error {
	return Coded(s.engine.serviceRead.PingContext(ctx))
}

// Pools returns each pool of connections by its name, for metrics.
func (s *DB) Pools() map[string]*sql.DB {
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

// Now returns the current time as the databases store it: UTC, in microseconds.
func (s *DB) Now() time.Time { return s.now().UTC().Truncate(time.Microsecond) }

type tenantKey struct{}

// withTenant returns a context that sets the tenant for connections taken from a pool;
// row-level security reads it.
func withTenant(ctx context.Context, t tenant.ID) context.Context {
	return context.WithValue(ctx, tenantKey{}, t)
}

func tenantFrom(ctx context.Context) tenant.ID {
	t, _ := ctx.Value(tenantKey{}).(tenant.ID)
	return t
}

// NewID returns a new id with a prefix of package id.
func (s *DB) NewID(prefix string) (string, error) { return s.ids.New(prefix) }

// NewSelect begins a statement that reads across tenants.
func (s *DB) NewSelect() *bun.SelectQuery { return s.pool(s.engine.serviceRead, "").NewSelect() }

// NewRaw is a statement that reads across tenants.
func (s *DB) NewRaw(query string, args ...any) *bun.RawQuery {
	return s.pool(s.engine.serviceRead, "").NewRaw(query, args...)
}

// QueryContext runs a statement that reads across tenants.
func (s *DB) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return s.pool(s.engine.serviceRead, "").QueryContext(ctx, query, args...)
}

// NewWrite is a statement that writes across tenants, a transaction of its own.
func (s *DB) NewWrite(query string, args ...any) *bun.RawQuery {
	return s.pool(s.engine.serviceWrite, "").NewRaw(query, args...)
}

// NewInsert is NewWrite for an insert.
func (s *DB) NewInsert() *bun.InsertQuery { return s.pool(s.engine.serviceWrite, "").NewInsert() }

// NewUpdate is NewWrite for an update.
func (s *DB) NewUpdate() *bun.UpdateQuery { return s.pool(s.engine.serviceWrite, "").NewUpdate() }

// NewDelete is NewWrite for a delete.
func (s *DB) NewDelete() *bun.DeleteQuery { return s.pool(s.engine.serviceWrite, "").NewDelete() }

// Dialect implements Querier.
func (s *DB) Dialect() schema.Dialect { return s.engine.serviceRead.Dialect() }

// Write runs fn in one transaction across tenants, which is committed when fn returns nil. PostgreSQL may
// abort a transaction because of another one; then fn runs again, in a new transaction. So fn must set
// its results anew each time, and do nothing that a rollback does not take back.
func (s *DB) Write(ctx context.Context, fn func(context.Context, Querier) error) error {
	return s.inTx(ctx, s.engine.serviceWrite, nil, func(ctx context.Context, tx bun.Tx) error { return fn(ctx, tx) })
}

// Snapshot runs fn in one reading transaction across tenants, so that all its statements see the
// same state.
func (s *DB) Snapshot(ctx context.Context, fn func(context.Context, Querier) error) error {
	return s.inTx(ctx, s.engine.serviceRead, s.engine.snapshot(), func(ctx context.Context, tx bun.Tx) error { return fn(ctx, tx) })
}

// snapshot returns the options of a reading transaction.
func (e engine) snapshot() *sql.TxOptions {
	if e.name == sqliteName {
		return nil // a SQLite transaction is a snapshot, and its driver knows no levels
	}
	return &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead}
}

// maxTries is how often a transaction is tried that PostgreSQL aborts because of others.
const maxTries = 5

// inTx runs fn in one transaction of a pool. It repeats a transaction that ended in a deadlock or a
// serialisation failure, maxTries times at most, with a short random wait.
func (s *DB) inTx(ctx context.Context, pool *bun.DB, options *sql.TxOptions, fn func(context.Context, bun.Tx) error) error {
	writes := pool != s.engine.serviceRead
	err := s.fault("BEGIN")
	if err == nil {
		run := func(ctx context.Context, tx bun.Tx) error {
			if writes {
				s.health.begun.Store(time.Now().UnixNano())
				defer s.health.begun.Store(0)
			}
			return fn(ctx, tx)
		}
		err = runInTx(ctx, pool, options, run)
		for try := 1; try < maxTries && isAborted(err) && waitShortly(ctx, try); try++ {
			err = runInTx(ctx, pool, options, run)
		}
	}
	if err == nil && writes {
		if err = s.engine.wal.wait(); err == nil {
			s.health.written.Store(time.Now().UnixNano())
		}
	}
	if err == nil {
		err = s.fault("COMMITTED")
	}
	return Coded(err)
}

// endings are the functions to call when a transaction has ended. They are in its context.
type endings struct{ all []func(error) }

type endingsKey struct{}

var errPanic = errors.New("the transaction ended in a panic")

// runInTx runs fn in one transaction, and then what OnEnd was given.
func runInTx(ctx context.Context, pool *bun.DB, options *sql.TxOptions, fn func(context.Context, bun.Tx) error) error {
	ends, err := &endings{}, errPanic
	defer func() {
		for _, end := range ends.all {
			end(err)
		}
	}()
	err = pool.RunInTx(context.WithValue(ctx, endingsKey{}, ends), options, fn)
	return err
}

// OnEnd calls fn after the transaction of ctx, with nil if it was committed, or else its error. If the transaction is
// repeated, fn is called after the try that registered it. A commit of SQLite may not be on the disk by then. OnEnd panics
// if ctx is not that of a transaction.
func OnEnd(ctx context.Context, fn func(error)) {
	ends := ctx.Value(endingsKey{}).(*endings) //nolint:forcetypeassert // nothing else has the key
	ends.all = append(ends.all, fn)
}

// OnCommit calls fn after the transaction of ctx if it was committed. It is otherwise like OnEnd.
func OnCommit(ctx context.Context, fn func()) {
	OnEnd(ctx, func(err error) {
		if err == nil {
			fn()
		}
	})
}

// waitShortly waits up to 20 ms for each try so far. It returns false if the context ends before.
func waitShortly(ctx context.Context, try int) bool {
	timer := time.NewTimer(rand.N(time.Duration(try) * 20 * time.Millisecond))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// ScanRows reads rows of Prepared.Rows into models, and closes them.
func (s *DB) ScanRows(ctx context.Context, rows *sql.Rows, into any) error {
	return Coded(s.engine.serviceRead.ScanRows(ctx, rows, into))
}

func (s *DB) pool(of *bun.DB, t tenant.ID) pool {
	p := pool{DB: of, tenant: t, fault: s.fault}
	if of == s.engine.serviceWrite {
		p.wal = s.engine.wal
	}
	return p
}

// Coded gives a database's error the code that callers act on. Errors that already have
// a code, and errors that callers can't act on, are returned unchanged.
func Coded(err error) error {
	var coded *fault.Error
	switch {
	case err == nil, errors.As(err, &coded), errors.Is(err, sql.ErrNoRows), errors.Is(err, context.Canceled):
		return err
	case isReadOnly(err):
		return fault.Wrap(err, fault.ReadOnly, "this account is read-only")
	case isOutage(err):
		return fault.Wrap(err, fault.Unavailable, "the store cannot be reached; try again shortly")
	default:
		return err
	}
}

// readOnlyMark is the message of the triggers that refuse writes to a read-only tenant.
const readOnlyMark = "kith: tenant is read-only"

func isReadOnly(err error) bool { return strings.Contains(err.Error(), readOnlyMark) }

// isDamage reports whether SQLite found its file damaged, or not to be a database.
func isDamage(err error) bool {
	lite, ok := errors.AsType[*sqlite.Error](err)
	return ok && (lite.Code()&0xff == sqlite3.SQLITE_CORRUPT || lite.Code()&0xff == sqlite3.SQLITE_NOTADB)
}

func isOutage(err error) bool {
	if errors.Is(err, errStoreLost) || errors.Is(err, errNotDurable) {
		return true
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		// 08 connection, 53 resources, 57P operator; 25006 a standby, which is no longer or not
		// yet the primary; 40 and 55P03 succeed on a retry.
		class := pg.Code[:min(2, len(pg.Code))]
		return class == "08" || class == "53" || class == "40" || strings.HasPrefix(pg.Code, "57P") || pg.Code == "25006" || pg.Code == "55P03"
	}
	if lite, ok := errors.AsType[*sqlite.Error](err); ok {
		switch lite.Code() & 0xff {
		case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL,
			sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
			return true
		}
		return false
	}
	var connect *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &connect) || errors.As(err, &network) || errors.Is(err, driver.ErrBadConn) ||
		errors.Is(err, sql.ErrConnDone) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || pgconn.SafeToRetry(err)
}

// IsUnwritable reports whether SQLite could not write its file: the disk is full, broken or read-only. Reads go on.
func IsUnwritable(err error) bool {
	lite, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return false
	}
	switch lite.Code() & 0xff {
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY:
		return true
	default:
		return false
	}
}

// IsTaken reports whether an insert failed because a row has the same unique key.
func IsTaken(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code == "23505"
	}
	var lite *sqlite.Error
	return errors.As(err, &lite) && (lite.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE || lite.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY)
}

// Statement is a statement that was sent to the database.
type Statement struct{ text string }

// Operation returns the first word, in lower case.
func (s Statement) Operation() string { return Operation(s.text) }

// namedTable finds what may be the name of a table.
var namedTable = regexp.MustCompile(`(?i)\b(?:from|into|update|join)\s+"?([a-z_]+)`)

// Table returns the first table that the statement names; empty if it names none of Kith's.
func (s Statement) Table() string {
	for _, found := range namedTable.FindAllStringSubmatch(s.text, -1) {
		if tableNames()[found[1]] {
			return found[1]
		}
	}
	return ""
}

// tableNames returns the names of all tables in the migrations.
var tableNames = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	create := regexp.MustCompile(`(?m)^CREATE (?:VIRTUAL )?TABLE (\w+)`)
	files, _ := fs.Glob(migrationFiles, "migrations/*/*.sql") // the pattern is right
	for _, file := range files {
		text, _ := migrationFiles.ReadFile(file) // it is there
		for _, found := range create.FindAllSubmatch(text, -1) {
			names[string(found[1])] = true
		}
	}
	return names
})

// QueryObserver observes statements.
type QueryObserver interface {
	// Observe is called after each statement, with one of the
	// outcomes of metrics.
	Observe(ctx context.Context, s Statement, outcome string, d time.Duration)
}

// noop counts nothing.
type noop struct{}

func (noop) Observe(context.Context, Statement, string, time.Duration) {}

// queryWatch is a query hook of bun that reports statements to an observer.
type queryWatch struct{ observer QueryObserver }

// BeforeQuery implements bun.QueryHook.
func (queryWatch) BeforeQuery(ctx context.Context, _ *bun.QueryEvent) context.Context { return ctx }

// AfterQuery implements bun.QueryHook.
func (w queryWatch) AfterQuery(ctx context.Context, e *bun.QueryEvent) {
	w.observer.Observe(ctx, Statement{e.Query}, Outcome(e.Err), time.Since(e.StartTime))
}

// watched adds a query hook for the statements of all pools.
func (e engine) watched(o QueryObserver) engine {
	again := map[*bun.DB]*bun.DB{}
	for _, db := range e.pools() {
		again[db] = db.WithQueryHook(queryWatch{o})
	}
	for _, db := range []**bun.DB{&e.serviceRead, &e.serviceWrite, &e.tenantRead, &e.tenantWrite, &e.admin} {
		*db = again[*db]
	}
	return e
}

// Operation returns the first word of a statement, in lower case.
func Operation(query string) string {
	query = strings.TrimLeft(query, " \n\t(")
	if end := strings.IndexAny(query, " \n\t("); end > 0 {
		query = query[:end]
	}
	switch query { // most of them, without an allocation
	case "SELECT":
		return "select"
	case "INSERT":
		return "insert"
	case "UPDATE":
		return "update"
	case "DELETE":
		return "delete"
	case "WITH":
		return "with"
	}
	return strings.ToLower(query)
}

// Outcome returns how a statement ended, as metrics.Queries counts it.
func Outcome(err error) string {
	switch {
	case err == nil, errors.Is(err, sql.ErrNoRows):
		return metrics.QueryOK
	case errors.Is(err, context.Canceled):
		return metrics.QueryAbandoned
	case isConflict(err):
		return metrics.QueryConflict
	case isOutage(err):
		return metrics.QueryUnavailable
	default:
		return metrics.QueryFailed
	}
}

// isAborted reports whether a transaction may succeed when it is repeated: PostgreSQL ended it because of
// a deadlock or a serialisation failure, or the random id of a new object is taken.
func isAborted(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code == "40P01" || pg.Code == "40001" || IsTaken(err) && pg.ConstraintName == pg.TableName+"_pkey"
	}
	lite, ok := errors.AsType[*sqlite.Error](err)
	return ok && lite.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY && idIsTaken.MatchString(lite.Error())
}

// idIsTaken matches the error of an insert with an id that another object of the member has.
var idIsTaken = regexp.MustCompile(`: \w+\.tenant_id, \w+\.id\b`)

// isConflict reports whether a statement was aborted because of another transaction, so
// that it may succeed when it is repeated.
func isConflict(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return strings.HasPrefix(pg.Code, "40") || pg.Code == "55P03"
	}
	lite, ok := errors.AsType[*sqlite.Error](err)
	return ok && (lite.Code()&0xff == sqlite3.SQLITE_BUSY || lite.Code()&0xff == sqlite3.SQLITE_LOCKED)
}
