package move

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/wordindex"
	"github.com/uptrace/bun"
)

// One statement inserts at most batchRows rows; it is sent once its rows have batchBytes or more.
const (
	batchRows  = 200
	batchBytes = 1 << 20
)

// Import adds the account of a file that Export wrote: all of it, or nothing. It reads the file twice,
// so that a file with an error is refused before anything is written. It fails with fault.AlreadyExists
// if the username, the e-mail address or an id is taken, and with fault.Invalid for a file of another
// version, a damaged one, or one that Export can't have written.
func Import(ctx context.Context, s *db.DB, file io.ReadSeeker) (a Account, err error) {
	schema, err := s.SchemaVersion()
	if err != nil {
		return a, err
	}
	err = s.Snapshot(ctx, func(ctx context.Context, q db.Querier) error {
		_, err := readFile(ctx, q, schema, file, nil)
		return err
	})
	if err != nil {
		return a, err
	}
	err = s.Write(ctx, func(ctx context.Context, tx db.Querier) error { // which may run more than once
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return fmt.Errorf("read the file: %w", err)
		}
		if a, err = readFile(ctx, tx, schema, file, &inserter{tx: tx}); err != nil {
			return err
		}
		if err := countSpace(ctx, tx, a.ID); err != nil {
			return err
		}
		return indexWords(ctx, s, tx, a.ID)
	})
	if db.IsTaken(err) {
		return a, fault.Wrap(err, fault.AlreadyExists, "a row of the file has an id that this installation has already, so nothing was imported")
	}
	if err == nil {
		s.LearnTables(ctx)
	}
	return a, err
}

// countSpace counts the bytes of the quota: the file has no sum of them, and the triggers that count
// found no row of tenant_states yet.
func countSpace(ctx context.Context, tx db.Querier, owner tenant.ID) error {
	_, err := tx.NewRaw(`UPDATE tenant_states SET kept_bytes = (SELECT coalesce(sum(octet_length(data)), 0) FROM photos WHERE tenant_id = ?0)
+ (SELECT coalesce(sum(octet_length(card)), 0) FROM proposals WHERE tenant_id = ?0)
+ (SELECT coalesce(sum(octet_length(effects)), 0) FROM changes WHERE tenant_id = ?0) WHERE tenant_id = ?0`, owner).Exec(ctx)
	if err != nil {
		return fmt.Errorf("count the space of an imported account: %w", err)
	}
	return nil
}

// indexWords makes the index of the words of notes and interactions.
func indexWords(ctx context.Context, s *db.DB, tx db.Querier, owner tenant.ID) error {
	x := s.TenantIn(tx, owner, s.Now(), 0)
	if err := wordindex.MarkAll(ctx, x); err != nil {
		return fmt.Errorf("list the notes and interactions of an imported account: %w", err)
	}
	return x.Derive(ctx)
}

// readFile checks a file and inserts its rows, unless insert is nil.
func readFile(ctx context.Context, q db.Querier, schema string, file io.Reader, insert *inserter) (a Account, err error) {
	tables, err := readTables(ctx, q)
	if err != nil {
		return a, err
	}
	a, err = eachRow(file, schema, tables, func(h header, t table, l line, values []any) error {
		if t.name == membersTable {
			if err := refuseTaken(ctx, q, h, l.text("email")); err != nil {
				return err
			}
		}
		return errors.Join(ctx.Err(), insert.add(ctx, t, values))
	})
	if err != nil {
		return a, err
	}
	return a, insert.flush(ctx)
}

// eachRow checks a file to its end, and calls use with each row and its values in the order of the
// table's columns.
func eachRow(file io.Reader, schema string, tables []table, use func(h header, t table, l line, values []any) error) (a Account, err error) {
	r, err := newReader(file, maxLine)
	if err != nil {
		return a, err
	}
	h, err := r.readHeader(schema)
	if err != nil {
		return a, err
	}
	a = Account{ID: h.Member, Username: h.Username, SecondFactor: h.SecondFactor}
	c, err := newChecker(h, tables)
	if err != nil {
		return a, err
	}
	for {
		l, err := r.readRow()
		if errors.Is(err, io.EOF) {
			a.Rows = r.rows
			return a, c.checkEnd()
		}
		if err != nil {
			return a, err
		}
		t, values, err := c.check(l)
		if err != nil {
			return a, err
		}
		if t.name == membersTable {
			a.Plan, a.Suspended = l.text("plan"), string(l.Row["suspended_at"]) != "null"
		}
		if err := use(h, t, l, values); err != nil {
			return a, err
		}
	}
}

// refuseTaken fails with fault.AlreadyExists if there is a member with the id, the username or the
// e-mail address.
func refuseTaken(ctx context.Context, q db.Querier, h header, email string) error {
	var taken []struct{ ID, Username, Email string }
	err := q.NewRaw("SELECT id, username, email FROM members WHERE id = ? OR username = ? OR email = ?", h.Member, h.Username, email).Scan(ctx, &taken)
	for _, m := range taken {
		switch {
		case m.ID == string(h.Member):
			return fault.New(fault.AlreadyExists, "this installation has the account already, as %s: delete that account first, if the file is newer", m.Username)
		case m.Username == h.Username:
			return fault.New(fault.AlreadyExists, "this installation has another member with the username %s, and a username never changes", m.Username)
		default:
			return fault.New(fault.AlreadyExists, "the member %s of this installation has the e-mail address %s: change one of the two addresses first", m.Username, m.Email)
		}
	}
	return err
}

// inserter inserts rows, several of a table at once. A nil inserter inserts nothing.
type inserter struct {
	tx     db.Querier
	table  table
	values []any
	rows   int
	bytes  int
}

// add inserts a row, or keeps it for the next statement.
func (i *inserter) add(ctx context.Context, t table, values []any) error {
	if i == nil {
		return nil
	}
	if i.table.name != t.name || i.rows >= batchRows || i.bytes >= batchBytes {
		if err := i.flush(ctx); err != nil {
			return err
		}
		i.table = t
	}
	i.values, i.rows = append(i.values, values...), i.rows+1
	for _, v := range values {
		switch v := v.(type) {
		case string:
			i.bytes += len(v)
		case []byte:
			i.bytes += len(v)
		}
	}
	return nil
}

// flush inserts the rows that were kept.
func (i *inserter) flush(ctx context.Context) error {
	if i == nil || i.rows == 0 {
		return nil
	}
	row := "(?" + strings.Repeat(", ?", len(i.table.columns)-1) + ")"
	statement := "INSERT INTO ? (?) VALUES " + row + strings.Repeat(", "+row, i.rows-1)
	args := append([]any{bun.Ident(i.table.name), idents(i.table.columnNames())}, i.values...)
	i.values, i.rows, i.bytes = nil, 0, 0
	if _, err := i.tx.NewRaw(statement, args...).Exec(ctx); err != nil {
		return fmt.Errorf("import %s: %w", i.table.name, err)
	}
	return nil
}
