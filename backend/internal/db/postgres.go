package db

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
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
