package move

import (
	"context"
	"fmt"
	"io"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/uptrace/bun"
)

// Account describes an account that was exported or imported.
type Account struct {
	ID       tenant.ID
	Username string
	// Rows are how many rows are in the file.
	Rows int
	// SecondFactor reports whether the member had a second factor, which is not in the file.
	SecondFactor bool
	// Plan is the member's plan, and Suspended reports whether they are suspended, according to the file.
	// Only Import sets them.
	Plan      string
	Suspended bool
	// Unfinished are how many jobs are not in the file because they had not ended. Only Export counts
	// them.
	Unfinished int

	version int64
}

// Export writes the account of a member as of one moment, while others may write. It fails with
// fault.NotFound if there is no such member, and with fault.ReadOnly for a demo account.
//
// Set away if the member was suspended only for this move: then the file says that they are not
// suspended, and Export fails with fault.Conflict if a call that was already running changed the
// account during the export.
func Export(ctx context.Context, s *db.DB, username string, away bool, out io.Writer) (a Account, err error) {
	schema, err := s.SchemaVersion()
	if err != nil {
		return a, err
	}
	w := newWriter(out)
	err = s.Snapshot(ctx, func(ctx context.Context, q db.Querier) error {
		if a, err = describe(ctx, q, username); err != nil {
			return err
		}
		a.Suspended = a.Suspended && !away
		h := header{Format: format, Schema: schema, Member: a.ID, Username: a.Username, SecondFactor: a.SecondFactor, ExportedAt: s.Now()}
		if err := w.write(h); err != nil {
			return err
		}
		tables, err := readTables(ctx, q)
		if err != nil {
			return err
		}
		for _, t := range tables {
			if err := exportTable(ctx, q, w, t, a.ID, away); err != nil {
				return fmt.Errorf("export %s: %w", t.name, err)
			}
		}
		return nil
	})
	if err != nil {
		return a, err
	}
	if away {
		if err := unchanged(ctx, s, a); err != nil {
			return a, err
		}
	}
	a.Rows = w.rows
	return a, w.close()
}

// unchanged fails with fault.Conflict if the account was written to since it was described.
func unchanged(ctx context.Context, s *db.DB, a Account) error {
	var version int64
	err := s.NewRaw("SELECT data_version FROM tenant_states WHERE tenant_id = ?", a.ID).Scan(ctx, &version)
	if err == nil && version != a.version {
		err = fault.New(fault.Conflict, "a call that was already running changed the account of %s during the export: export it again", a.Username)
	}
	return err
}

// describe returns the description of an account that is to be exported.
func describe(ctx context.Context, q db.Querier, username string) (Account, error) {
	a := Account{Username: username}
	var readOnly bool
	err := q.NewRaw("SELECT m.id, m.suspended_at IS NOT NULL, s.data_version, s.read_only FROM members AS m JOIN tenant_states AS s ON s.tenant_id = m.id WHERE m.username = ?",
		username).Scan(ctx, &a.ID, &a.Suspended, &a.version, &readOnly)
	if _, err := db.Found(&a, err, account.NoMember(username).Error()); err != nil {
		return a, err
	}
	if readOnly {
		return a, fault.New(fault.ReadOnly, "%s is the demo account, which every installation has: it cannot be moved", username)
	}
	err = q.NewRaw("SELECT EXISTS (SELECT 1 FROM totp_secrets WHERE member_id = ?0 UNION ALL SELECT 1 FROM passkeys WHERE member_id = ?0), (SELECT count(*) FROM jobs WHERE tenant_id = ?0 AND state NOT IN (?1))",
		a.ID, bun.List(ended()["jobs"])).Scan(ctx, &a.SecondFactor, &a.Unfinished)
	return a, err
}

// exportTable writes the member's rows of a table, each as soon as the database sends it.
func exportTable(ctx context.Context, q db.Querier, w *writer, t table, owner tenant.ID, away bool) (err error) {
	query, args := "SELECT ? FROM ? WHERE ? = ?", []any{idents(t.columnNames()), bun.Ident(t.name), bun.Ident(t.owner), owner}
	if t.states != nil {
		query, args = query+" AND state IN (?)", append(args, bun.List(t.states))
	}
	rows, err := q.QueryContext(ctx, query+" ORDER BY ?", append(args, idents(t.key))...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // Err reports the errors of reading
	values, targets := make([]any, len(t.columns)), make([]any, len(t.columns))
	for i := range values {
		targets[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return fmt.Errorf("read a row: %w", err)
		}
		row := make(map[string]any, len(values))
		for i, c := range t.columns {
			if row[c.Name], err = encode(c.Kind, values[i]); err != nil {
				return fmt.Errorf("column %s: %w", c.Name, err)
			}
		}
		if away && t.name == membersTable {
			row["suspended_at"] = nil
		}
		if err := w.writeRow(t.name, row); err != nil {
			return err
		}
	}
	return rows.Err()
}
