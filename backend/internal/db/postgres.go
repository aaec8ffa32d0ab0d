package db

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
)

// The PostgreSQL roles to which Kith's connections switch. The baseline migration creates them.
const (
	tenantRole  = "kith_tenant"
	serviceRole = "kith_service"
)

// applicationName is how PostgreSQL lists the connections of Kith.
const applicationName = "kith"

// migrationLock is the key of the advisory lock that one migrating process holds.
const migrationLock = 0x6b697468

// connectTimeout is how long connecting may take, unless connect_timeout in the URL says so:
// without a bound, a host that no longer answers would hold connections of the pool for minutes.
const connectTimeout = 10 * time.Second

// openPostgres opens a pool for each role. Statements use the simple protocol, except prepared ones
// and those whose arguments were taken out: these request the cached mode. With
// pool_mode=transaction in the URL, connections are those of openPooled.
func openPostgres(ctx context.Context, c Config) (engine, error) {
	conf, err := pgx.ParseConfig(c.URL)
	if err != nil {
		// pgx masks the password in this message.
		return engine{}, fmt.Errorf("the database URL cannot be read: %w", err)
	}
	conf.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	conf.RuntimeParams["application_name"] = applicationName
	conf.ConnectTimeout = cmp.Or(conf.ConnectTimeout, connectTimeout)
	pooled, err := takePoolMode(conf)
	if err != nil {
		return engine{}, err
	}
	e := engine{name: postgresName, mode: []any{pgx.QueryExecModeCacheStatement}}
	var service, tenants *bun.DB
	if pooled {
		e.mode = nil
		e.admin, service, tenants = openPooled(conf, c.MaxConns)
	} else {
		e.admin = openPool(postgresConnector{stdlib.GetConnector(*conf)}, 2)
		service = openPool(postgresConnector{stdlib.GetConnector(*conf, stdlib.OptionAfterConnect(takeRole(serviceRole)))}, c.MaxConns)
		tenants = openPool(postgresConnector{stdlib.GetConnector(*conf,
			stdlib.OptionAfterConnect(takeRole(tenantRole)), stdlib.OptionResetSession(setTenant))}, c.MaxConns)
	}
	e.serviceRead, e.serviceWrite, e.tenantRead, e.tenantWrite = service, service, tenants, tenants
	e.lock = func(ctx context.Context) (func() error, error) { return advisoryLock(ctx, e.admin) }
	if err := e.admin.PingContext(ctx); err != nil {
		return engine{}, errors.Join(fmt.Errorf("cannot reach the database: %w", err), e.admin.Close(), service.Close(), tenants.Close())
	}
	return e, nil
}

func openPool(connector driver.Connector, conns int) *bun.DB {
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	return bun.NewDB(db, postgresDialect{pgdialect.New()}, bun.WithDiscardUnknownColumns())
}

// postgresConnector opens connections that keep their statements prepared.
type postgresConnector struct{ driver.Connector }

// Connect implements driver.Connector.
func (c postgresConnector) Connect(ctx context.Context) (driver.Conn, error) {
	opened, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	conn, ok := opened.(*stdlib.Conn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("%T is no connection of pgx", opened), opened.Close())
	}
	return &postgresConn{Conn: conn}, nil
}

// postgresConn is a connection whose statements are prepared, and kept by pgx. database/sql calls
// ResetSession, which sets the tenant, before each use except the first. A connection may have been
// opened without the context of a caller, so the first use calls ResetSession here.
type postgresConn struct {
	*stdlib.Conn

	used bool
}

// ResetSession implements driver.SessionResetter. database/sql drops a connection only for
// driver.ErrBadConn: after any other error it would use the connection with the previous tenant.
func (c *postgresConn) ResetSession(ctx context.Context) error {
	if err := c.Conn.ResetSession(ctx); err != nil {
		return errors.Join(driver.ErrBadConn, err)
	}
	c.used = true
	return nil
}

func (c *postgresConn) first(ctx context.Context) error {
	if c.used {
		return nil
	}
	return c.ResetSession(ctx)
}

// BeginTx implements driver.ConnBeginTx.
func (c *postgresConn) BeginTx(ctx context.Context, options driver.TxOptions) (driver.Tx, error) {
	if err := c.first(ctx); err != nil {
		return nil, err
	}
	tx, err := c.Conn.BeginTx(ctx, options)
	return tx, begun(ctx, c.Conn.Conn(), err)
}

// begun returns the error of a BEGIN. If the connection is gone, that is driver.ErrBadConn:
// BEGIN changes nothing, so database/sql may repeat it on another connection.
func begun(ctx context.Context, conn *pgx.Conn, err error) error {
	if err != nil && conn.IsClosed() && ctx.Err() == nil {
		return driver.ErrBadConn
	}
	return err
}

// ExecContext implements driver.ExecerContext.
func (c *postgresConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if err := c.first(ctx); err != nil {
		return nil, err
	}
	query, args = prepare(query, args)
	return c.Conn.ExecContext(ctx, query, args)
}

// QueryContext implements driver.QueryerContext.
func (c *postgresConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if err := c.first(ctx); err != nil {
		return nil, err
	}
	query, args = prepare(query, args)
	return c.Conn.QueryContext(ctx, query, args)
}

// prepare takes the marked arguments out of a statement, and requests the cached mode for it.
func prepare(query string, args []driver.NamedValue) (string, []driver.NamedValue) {
	p, keep := part(query, func(text []byte, n int) []byte { return strconv.AppendInt(append(text, '$'), int64(n), 10) })
	if !keep || len(args) > 0 {
		return p.text, args
	}
	return p.text, append([]driver.NamedValue{{Ordinal: 1, Value: pgx.QueryExecModeCacheStatement}}, p.arguments...)
}

// takeRole sets the role, and makes PostgreSQL plan prepared statements once: they look up rows by
// keys, which is faster than planning.
func takeRole(role string) func(context.Context, *pgx.Conn) error {
	return func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "SET ROLE "+role+"; SET plan_cache_mode = force_generic_plan")
		return err
	}
}

// tenantSetting is the setting of a connection that holds its current tenant.
const tenantSetting = "kith.tenant"

// setTenant sets whose rows row-level security shows to the next statements: those of the
// tenant of the context, or none.
func setTenant(ctx context.Context, conn *pgx.Conn) error {
	want := string(tenantFrom(ctx))
	data := conn.PgConn().CustomData()
	if have, ok := data[tenantSetting].(string); ok && have == want {
		return nil
	}
	if _, err := conn.Exec(ctx, "SELECT set_config('app.tenant_id', $1, false)", want); err != nil {
		return err
	}
	data[tenantSetting] = want
	return nil
}

// lockRetry is how long advisoryLock waits before it asks again.
const lockRetry = 100 * time.Millisecond

// advisoryLock waits for the lock, and holds it in a transaction of its own: a transaction
// keeps its connection through a pooler, too. While it waits, it holds no connection, because a
// pooler may have few.
func advisoryLock(ctx context.Context, db *bun.DB) (unlock func() error, err error) {
	for {
		unlock, err := tryAdvisoryLock(ctx, db)
		if err != nil {
			return nil, fmt.Errorf("cannot lock the database: %w", err)
		}
		if unlock != nil {
			return unlock, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("cannot lock the database: %w", ctx.Err())
		case <-time.After(lockRetry):
		}
	}
}

// tryAdvisoryLock returns nil if another process has the lock.
func tryAdvisoryLock(ctx context.Context, db *bun.DB) (unlock func() error, err error) {
	// Not the caller's context: its end would release the lock before the work has ended.
	tx, err := db.BeginTx(context.WithoutCancel(ctx), nil)
	if err != nil {
		return nil, err
	}
	var free bool
	_, err = tx.ExecContext(ctx, "SET LOCAL idle_in_transaction_session_timeout = 0")
	if err == nil {
		err = tx.NewRaw("SELECT pg_try_advisory_xact_lock(?)", migrationLock).Scan(ctx, &free)
	}
	if err != nil || !free {
		return nil, errors.Join(err, tx.Rollback())
	}
	return tx.Rollback, nil
}

// poolMode is the parameter of a database URL that says that a pooler, such as PgBouncer,
// is between Kith and the server. The pooler gives a server connection to each transaction
// ("transaction") or to each client ("session").
const poolMode = "pool_mode"

// takePoolMode removes the parameter from the settings of connections, and reports whether a
// pooler gives each transaction any server connection. Without the parameter, connections
// fail if there is a pooler.
func takePoolMode(conf *pgx.ConnConfig) (shared bool, err error) {
	mode := conf.RuntimeParams[poolMode]
	delete(conf.RuntimeParams, poolMode)
	switch mode {
	case "":
		conf.AfterConnect = refusePooler
	case "transaction":
		shared = true
	case "session":
	default:
		err = fmt.Errorf("pool_mode in the database URL is %q: give transaction or session", mode)
	}
	return shared, err
}

// errPooler means that there is a pooler, but the database URL doesn't say so.
var errPooler = errors.New("the database URL leads to a connection pooler: add the parameter pool_mode=transaction to it, or pool_mode=session if " +
	"the pooler keeps one server connection for each client")

// refusePooler fails if a pooler is in between. The role and the tenant that a connection
// sets would stay with the server connection, which the pooler gives to others. A pooler reports
// process ids of its own, which shows that there is one.
func refusePooler(ctx context.Context, conn *pgconn.PgConn) error {
	results, err := conn.Exec(ctx, "SELECT pg_backend_pid()").ReadAll()
	if err != nil {
		return err
	}
	if string(results[0].Rows[0][0]) != strconv.FormatUint(uint64(conn.PID()), 10) {
		return errPooler
	}
	return nil
}

// pooledConnector opens connections to a pooler. A transaction may run on any server
// connection, so nothing is left there: no prepared statement, and the role and the tenant
// are set for the transaction only.
type pooledConnector struct {
	driver.Connector

	role string // empty for the user of the database URL
}

// Connect implements driver.Connector.
func (c pooledConnector) Connect(ctx context.Context) (driver.Conn, error) {
	opened, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	conn, ok := opened.(*stdlib.Conn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("%T is no connection of pgx", opened), opened.Close())
	}
	return &pooledConn{Conn: conn, role: c.role}, nil
}

type pooledConn struct {
	*stdlib.Conn

	role string
}

// settings returns the statement that sets the role and the tenant for a transaction.
func (c *pooledConn) settings(ctx context.Context) string {
	if c.role == "" {
		return ""
	}
	id := strings.ReplaceAll(string(tenantFrom(ctx)), "'", "''")
	return "SELECT set_config('role', '" + c.role + "', true), set_config('app.tenant_id', '" + id + "', true);\n"
}

// inTx reports whether a transaction is open.
func (c *pooledConn) inTx() bool { return c.Conn.Conn().PgConn().TxStatus() != 'I' }

// BeginTx implements driver.ConnBeginTx.
func (c *pooledConn) BeginTx(ctx context.Context, options driver.TxOptions) (driver.Tx, error) {
	begin := "BEGIN"
	if level := sql.IsolationLevel(options.Isolation); level != sql.LevelDefault {
		begin += " ISOLATION LEVEL " + level.String()
	}
	if options.ReadOnly {
		begin += " READ ONLY"
	}
	if err := c.begin(ctx, begin); err != nil {
		return nil, err
	}
	return pooledTx{ctx, c}, nil
}

func (c *pooledConn) begin(ctx context.Context, begin string) error {
	_, err := c.Conn.Conn().Exec(ctx, begin+";\n"+c.settings(ctx))
	if err != nil {
		err = errors.Join(begun(ctx, c.Conn.Conn(), err), c.endFailed())
	}
	return err
}

// endFailed ends a transaction in which a statement failed. Otherwise the pooler would keep a
// server connection for it.
func (c *pooledConn) endFailed() error {
	conn := c.Conn.Conn()
	if conn.IsClosed() || !c.inTx() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_, err := conn.Exec(ctx, "ROLLBACK")
	return err
}

// pooledTx is a transaction.
type pooledTx struct {
	ctx  context.Context //nolint:containedctx // driver.Tx takes none
	conn *pooledConn
}

// Commit implements driver.Tx.
func (x pooledTx) Commit() error {
	tag, err := x.conn.Conn.Conn().Exec(x.ctx, "COMMIT")
	if err == nil && tag.String() == "ROLLBACK" {
		err = pgx.ErrTxCommitRollback
	}
	return err
}

// Rollback implements driver.Tx.
func (x pooledTx) Rollback() error { return x.conn.endFailed() }

// ExecContext implements driver.ExecerContext. The server runs statements that are sent
// together in one transaction.
func (c *pooledConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	query = withoutMarks(query)
	if !c.inTx() {
		query = c.settings(ctx) + query
	}
	return c.Conn.ExecContext(ctx, query, args)
}

// QueryContext implements driver.QueryerContext. pgx returns the rows of the first of several
// statements, so a transaction is begun before, and ended with the statement.
func (c *pooledConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	query = withoutMarks(query)
	if c.inTx() || c.role == "" {
		return c.Conn.QueryContext(ctx, query, args)
	}
	if err := c.begin(ctx, "BEGIN"); err != nil {
		return nil, err
	}
	opened, err := c.Conn.QueryContext(ctx, query+"\n;COMMIT", args)
	if err != nil {
		return nil, errors.Join(err, c.endFailed())
	}
	rows, ok := opened.(*stdlib.Rows)
	if !ok {
		return nil, errors.Join(fmt.Errorf("%T are no rows of pgx", opened), opened.Close(), c.endFailed())
	}
	return pooledRows{rows, c}, nil
}

// pooledRows ends the transaction if the statement fails while its rows are read.
type pooledRows struct {
	*stdlib.Rows

	conn *pooledConn
}

// Close implements driver.Rows.
func (r pooledRows) Close() error { return errors.Join(r.Rows.Close(), r.conn.endFailed()) }

// openPooled opens the pools of a pooler.
func openPooled(conf *pgx.ConnConfig, conns int) (admin, service, tenants *bun.DB) {
	open := func(role string, conns int) *bun.DB {
		return openPool(pooledConnector{stdlib.GetConnector(*conf), role}, conns)
	}
	return open("", 2), open(serviceRole, conns), open(tenantRole, conns)
}
