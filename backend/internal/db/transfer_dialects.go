package db

import "context"

// transferDialect is what differs between the databases for Transfer.
type transferDialect struct {
	beginRead, beginWrite string
	// columns lists table, column, type and whether it is SQLite's rowid.
	columns string
	// references lists each table with each table that it refers to.
	references string
	// openTables switches off row-level security and triggers, within the transaction, and returns
	// a function that switches them on again.
	openTables func(ctx context.Context, s *side, tables []table) (restore func(context.Context) error, err error)
	// writer returns a function that writes a row of a table, and one that ends the table,
	// with the error that stopped the writing.
	writer func(ctx context.Context, s *side, t table) (write func(row []any) error, finish func(error) error)
	// refreshStatistics tells the database's planner about the new rows.
	refreshStatistics func(ctx context.Context, s *side) error
}
