package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
)

// The roles that connections use; the walls migration creates them.
const (
	tenantRole  = "kith_tenant"
	serviceRole = "kith_service"
)

// applicationName is how PostgreSQL lists the connections of Kith.
const applicationName = "kith"

// migrationLock is the key of the advisory lock that one migrating process holds.
const migrationLock = 0x6b697468

// openPostgres opens a pool for each role. Statements use the simple protocol, but for those
// whose arguments were taken out, and prepared ones, which request the cached mode.
func openPostgres(ctx context.Context, c Config) (engine, error) {
	conf, err := pgx.ParseConfig(c.URL)
	if err != nil {
		// pgx masks the password in this message.
		return engine{}, fmt.Errorf("the database URL cannot be read: %w", err)
	}
	conf.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	conf.RuntimeParams["application_name"] = applicationName
	admin := openPool(conf, 2)
	if err := admin.PingContext(ctx); err != nil {
		return engine{}, errors.Join(fmt.Errorf("cannot reach the database: %w", err), admin.Close())
	}
	service := openPool(conf, c.MaxConns, stdlib.OptionAfterConnect(takeRole(serviceRole)))
	tenants := openPool(conf, c.MaxConns,
		stdlib.OptionAfterConnect(takeRole(tenantRole)), stdlib.OptionResetSession(setTenant))
	return engine{
		name:        postgresName,
		serviceRead: service, serviceWrite: service, tenantRead: tenants, tenantWrite: tenants, admin: admin,
		lock: func(ctx context.Context) (func() error, error) { return advisoryLock(ctx, admin) },
		mode: []any{pgx.QueryExecModeCacheStatement},
	}, nil
}

func openPool(conf *pgx.ConnConfig, conns int, options ...stdlib.OptionOpenDB) *bun.DB {
	db := sql.OpenDB(postgresConnector{stdlib.GetConnector(*conf, options...)})
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	return bun.NewDB(db, postgresDialect{pgdialect.New()})
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

// postgresConn is a connection whose statements are prepared, and kept by pgx. database/sql
// resets a session, which sets the tenant, before each use but the first, and may have opened the
// connection for nobody in particular: the first use resets it here.
type postgresConn struct {
	*stdlib.Conn

	used bool
}

// ResetSession implements driver.SessionResetter. database/sql gives up a connection for
// driver.ErrBadConn only: with any other error it would use that of the tenant before.
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
	return c.Conn.BeginTx(ctx, options)
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

// takeRole sets the role, and makes prepared statements be planned once: they look up rows
// by keys, and planning takes longer than that.
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

// advisoryLock waits for the lock on a separate connection, which releases it when it
// closes.
func advisoryLock(ctx context.Context, db *bun.DB) (func() error, error) {
	conn, err := db.DB.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot lock the database: %w", err)
	}
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", migrationLock); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot lock the database: %w", err), conn.Close())
	}
	return func() error {
		_, err := conn.ExecContext(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", migrationLock)
		return errors.Join(err, conn.Close())
	}, nil
}
