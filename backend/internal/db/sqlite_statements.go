package db

import (
	"context"
	"database/sql/driver"
	"errors"

	lru "github.com/hashicorp/golang-lru/v2/simplelru"
)

// maxKept is how many statements a connection to SQLite keeps prepared; each takes about
// 10 KiB.
const maxKept = 128

// sqliteConnector opens connections that keep their statements prepared.
type sqliteConnector struct{ driver.Connector }

// Connect implements driver.Connector.
func (c sqliteConnector) Connect(ctx context.Context) (driver.Conn, error) {
	opened, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	plain, ok := opened.(sqliteDriverConn)
	if !ok {
		return nil, errors.Join(errors.New("the SQLite driver lacks a method that Kith uses"), opened.Close())
	}
	conn := &sqliteConn{sqliteDriverConn: plain}
	conn.kept, err = lru.NewLRU(maxKept, func(_ string, s *keptStatement) { s.drop() })
	return conn, err
}

// sqliteDriverConn is what database/sql uses of the driver's connection.
type sqliteDriverConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// sqliteConn is a connection that keeps statements. Like all of database/sql's, it is used
// by one goroutine at a time.
type sqliteConn struct {
	sqliteDriverConn

	kept *lru.LRU[string, *keptStatement]
}

// keptStatement is a prepared statement. It is busy while its rows are read: a statement has
// one result at a time.
type keptStatement struct {
	driverStatement

	busy, dropped bool
}

// driverStatement is what we use of the driver's statement.
type driverStatement interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// drop closes the statement, at once or when its rows have been read. The error of Close is
// ignored: the statement's last run has already returned it.
func (s *keptStatement) drop() {
	s.dropped = true
	if !s.busy {
		_ = s.Close()
	}
}

// release ends a run.
func (s *keptStatement) release() {
	s.busy = false
	if s.dropped {
		_ = s.Close()
	}
}

// Close implements driver.Conn.
func (c *sqliteConn) Close() error {
	c.kept.Purge()
	return c.sqliteDriverConn.Close()
}

// acquire returns the prepared statement with a text, or nil if its rows are being read.
func (c *sqliteConn) acquire(ctx context.Context, text string) (*keptStatement, error) {
	s, ok := c.kept.Get(text)
	switch {
	case ok && s.busy:
		return nil, nil
	case ok:
		s.busy = true
		return s, nil
	}
	prepared, err := c.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	made, ok := prepared.(driverStatement)
	if !ok {
		return nil, errors.Join(errors.New("the SQLite driver lacks a method that Kith uses"), prepared.Close())
	}
	s = &keptStatement{driverStatement: made, busy: true}
	c.kept.Add(text, s)
	return s, nil
}

// questionMark is the placeholder of SQLite.
func questionMark(text []byte, _ int) []byte { return append(text, '?') }

// ExecContext implements driver.ExecerContext.
func (c *sqliteConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	p, keep := part(query, questionMark)
	if !keep || len(args) > 0 {
		return c.sqliteDriverConn.ExecContext(ctx, p.text, args)
	}
	s, err := c.acquire(ctx, p.text)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return c.sqliteDriverConn.ExecContext(ctx, p.text, p.arguments)
	}
	defer s.release()
	return s.ExecContext(ctx, p.arguments)
}

// QueryContext implements driver.QueryerContext.
func (c *sqliteConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	p, keep := part(query, questionMark)
	if !keep || len(args) > 0 {
		return c.sqliteDriverConn.QueryContext(ctx, p.text, args)
	}
	s, err := c.acquire(ctx, p.text)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return c.sqliteDriverConn.QueryContext(ctx, p.text, p.arguments)
	}
	rows, err := s.QueryContext(ctx, p.arguments)
	if err != nil {
		s.release()
		return nil, err
	}
	return &keptRows{Rows: rows, statement: s}, nil
}

// keptRows are the rows of a kept statement.
type keptRows struct {
	driver.Rows

	statement *keptStatement
}

// Close implements driver.Rows.
func (r *keptRows) Close() error {
	err := r.Rows.Close()
	r.statement.release()
	return err
}
