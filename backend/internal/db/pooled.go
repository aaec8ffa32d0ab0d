package db

import (
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
)

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
