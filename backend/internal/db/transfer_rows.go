package db

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"math"
	"math/big"
	"time"

	"github.com/uptrace/bun"
)

// side is one of the two databases of Transfer, with the connection of its transaction.
type side struct {
	db      *DB
	dialect transferDialect
	conn    *sql.Conn
}

func newSide(ctx context.Context, s *DB, pool *bun.DB) (*side, error) {
	conn, err := pool.DB.Conn(ctx)
	if err != nil {
		return nil, errors.Join(Coded(err), s.Close())
	}
	dialect := sqliteTransfer()
	if s.engine.name == postgresName {
		dialect = postgresTransfer()
	}
	return &side{db: s, dialect: dialect, conn: conn}, nil
}

// close ends the side and rolls back what was not committed.
func (s *side) close() error {
	_, _ = s.conn.ExecContext(context.Background(), "ROLLBACK") // fails if nothing is left to roll back
	return errors.Join(s.conn.Close(), s.db.Close())
}

func (s *side) exec(ctx context.Context, statement string) error {
	_, err := s.conn.ExecContext(ctx, statement)
	return err
}

// list runs a query. next returns where to scan a row, and what to do with it then.
func (s *side) list(ctx context.Context, query string, next func() (into []any, then func())) (err error) {
	rows, err := s.conn.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		into, then := next()
		if err := rows.Scan(into...); err != nil {
			return err
		}
		then()
	}
	return rows.Err()
}

// checkEmpty fails if a table has a row.
func (s *side) checkEmpty(ctx context.Context, t table) error {
	var has bool
	err := s.conn.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM "`+t.name+`")`).Scan(&has)
	if err != nil {
		return fmt.Errorf("look into the target: %w", err)
	}
	if has {
		return fmt.Errorf("the target is not empty: its table %s has rows; name an empty database", t.name)
	}
	return nil
}

// read calls use with each row of a table, whose values are nil or of the types of value.
// The row is valid during the call.
func (s *side) read(ctx context.Context, t table, use func(row []any) error) (err error) {
	rows, err := s.conn.QueryContext(ctx, "SELECT "+t.quoted()+` FROM "`+t.name+`"`)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	row, into := make([]any, len(t.columns)), make([]any, len(t.columns))
	for i := range row {
		into[i] = &row[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		for i, kind := range t.kinds {
			if row[i], err = value(kind, row[i]); err != nil {
				return fmt.Errorf("column %s: %w", t.columns[i], err)
			}
		}
		if err := use(row); err != nil {
			return err
		}
	}
	return rows.Err()
}

// value returns what a driver read of a column as nil, string, []byte, int64, float64, bool
// or a time.Time in UTC, the same for both drivers. SQLite's columns take values of any
// type: it fails for one that is not of the column's kind.
func value(k kind, read any) (any, error) {
	switch v := read.(type) {
	case nil:
		return nil, nil
	case string:
		if k == kindText {
			return v, nil
		}
	case []byte:
		switch k {
		case kindBytes:
			return v, nil
		case kindText: // SQLite keeps it as bytes if it was written as bytes
			return string(v), nil
		}
	case int64:
		switch {
		case k == kindInt:
			return v, nil
		case k == kindBool && (v == 0 || v == 1):
			return v == 1, nil
		case k == kindFloat && int64(float64(v)) == v:
			return float64(v), nil
		}
	case float64:
		if k == kindFloat {
			return v, nil
		}
	case bool:
		if k == kindBool {
			return v, nil
		}
	case time.Time:
		if k == kindTime {
			return v.UTC(), nil
		}
	}
	return nil, fmt.Errorf("a row has a value of the type %T where %s is expected", read, k)
}

// digest identifies a set of rows, in whatever order they are read.
type digest struct {
	rows int64
	// sum is the sum of the hashes of the rows, modulo 2^256.
	sum [sha256.Size]byte
}

func (d *digest) String() string { return hex.EncodeToString(d.sum[:]) }

// modulus is 2^256.
var modulus = new(big.Int).Lsh(big.NewInt(1), 8*sha256.Size)

// add adds a row of values.
func (d *digest) add(row []any) {
	h := sha256.New()
	for _, v := range row {
		addValue(h, v)
	}
	sum := new(big.Int).SetBytes(h.Sum(nil))
	sum.Add(sum, new(big.Int).SetBytes(d.sum[:])).Mod(sum, modulus).FillBytes(d.sum[:])
	d.rows++
}

// addValue writes a value with its length, so that no two rows are written the same.
// Times have nanoseconds, to notice when a database cuts them off.
func addValue(h hash.Hash, v any) {
	var text []byte
	switch v := v.(type) {
	case nil:
		_, _ = h.Write([]byte{0}) // a hash never fails
		return
	case string:
		text = []byte(v)
	case []byte:
		text = v
	case int64:
		text = binary.BigEndian.AppendUint64(nil, uint64(v))
	case float64:
		text = binary.BigEndian.AppendUint64(nil, math.Float64bits(v))
	case bool:
		text = []byte{0}
		if v {
			text[0] = 1
		}
	case time.Time:
		text = binary.BigEndian.AppendUint64(nil, uint64(v.Unix()))
		text = binary.BigEndian.AppendUint32(text, uint32(v.Nanosecond()))
	}
	_, _ = h.Write(binary.BigEndian.AppendUint64([]byte{1}, uint64(len(text))))
	_, _ = h.Write(text)
}
