// Command seed fills a running Kith with the people of a benchmark database, so that it
// can be measured with the same request files as its peers.
//
//	seed -peers bench.db -database kith.db -url http://127.0.0.1:PORT -token T -username U -out DIR
//
// It creates connections through the service's tools. It writes the thousand tokens of the
// request files and the public members directly to the database, because no command creates
// so many.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver, registered as "pgx"
	"golang.org/x/sync/errgroup"
	_ "modernc.org/sqlite" // the driver, registered as "sqlite"
)

// The sizes of the peers' data set.
const (
	bearers       = 1000
	publicMembers = 500
	writers       = 8
)

type seeder struct {
	peers, database, url, token, username, out string
}

func main() {
	var s seeder
	flag.StringVar(&s.peers, "peers", "", "the peers' SQLite file")
	flag.StringVar(&s.database, "database", "", "Kith's database")
	flag.StringVar(&s.url, "url", "", "address of the running service")
	flag.StringVar(&s.token, "token", "", "a personal token of the member")
	flag.StringVar(&s.username, "username", "", "the member")
	flag.StringVar(&s.out, "out", ".", "the folder for the request files")
	flag.Parse()
	if err := s.run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "seed:", err)
		os.Exit(1)
	}
}

func (s seeder) run(ctx context.Context) error {
	if err := s.connections(ctx); err != nil {
		return err
	}
	driver := "sqlite"
	if strings.HasPrefix(s.database, "postgres") {
		driver = "pgx"
	}
	db, err := sql.Open(driver, s.database)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	return errors.Join(s.tokens(ctx, db), s.members(ctx, db), s.grants(ctx, db))
}

// connections creates every contact of the peers' data set with create_connection.
func (s seeder) connections(ctx context.Context) error {
	peers, err := sql.Open("sqlite", s.peers)
	if err != nil {
		return err
	}
	defer func() { _ = peers.Close() }()
	rows, err := peers.QueryContext(ctx, "SELECT name, email, company, title, city FROM contacts")
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for rows.Next() {
		var name, email, company, title, city string
		if err := rows.Scan(&name, &email, &company, &title, &city); err != nil {
			return err
		}
		group.Go(func() error {
			return s.create(ctx, map[string]any{
				"name": name, "emails": []string{email}, "organization": company, "title": title, "location": city, "on_duplicate": "create",
			})
		})
	}
	return errors.Join(rows.Err(), group.Wait())
}

func (s seeder) create(ctx context.Context, arguments map[string]any) error {
	body, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call",
		"params": map[string]any{"name": "create_connection", "arguments": arguments},
	})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/mcp/v1", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+s.token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	if err != nil || !bytes.Contains(answer, []byte(`"isError":false`)) {
		return fmt.Errorf("create a connection: %s: %w", answer, err)
	}
	return nil
}

// tokens adds the tokens that the request files send.
func (s seeder) tokens(ctx context.Context, db *sql.DB) error {
	var scopes, owner string
	if err := db.QueryRowContext(ctx, "SELECT t.scopes, t.member_id FROM personal_tokens t JOIN members m ON m.id = t.member_id WHERE m.username = '"+
		s.username+"' LIMIT 1").Scan(&scopes, &owner); err != nil {
		return fmt.Errorf("find the member's token: %w", err)
	}
	return inTransaction(ctx, db, func(tx *sql.Tx) error {
		for i := range bearers {
			bearer := fmt.Sprintf("bench_tok_%06d_0123456789abcdef0123456789abcdef", i)
			sum := sha256.Sum256([]byte(bearer))
			if _, err := tx.ExecContext(ctx, fmt.Sprintf(
				"INSERT INTO personal_tokens (id, member_id, name, hash, scopes, created_at) VALUES ('pat_bench%d', '%s', 'bench', '%s', '%s', '%s')",
				i, owner, hex.EncodeToString(sum[:]), scopes, now())); err != nil {
				return err
			}
		}
		return nil
	})
}

// members adds members with public profiles, bench-0 and so on.
func (s seeder) members(ctx context.Context, db *sql.DB) error {
	return inTransaction(ctx, db, func(tx *sql.Tx) error {
		for i := range publicMembers {
			statements := []string{
				fmt.Sprintf("INSERT INTO members (id, username, email, plan, created_at, updated_at) VALUES ('mem_bench%d', 'bench-%d', 'bench%d@example.com', 'free', '%s', '%s')", i, i, i, now(), now()),
				fmt.Sprintf("INSERT INTO tenant_states (tenant_id) VALUES ('mem_bench%d')", i),
				fmt.Sprintf(`INSERT INTO profiles (member_id, name, headline, visibility, field_visibility, listed, updated_at)
VALUES ('mem_bench%d', 'Bench Member %d', 'bench%d@example.com answers every question about benches', 'public', '{"headline":"public"}', FALSE, '%s')`, i, i, i, now()),
			}
			for _, statement := range statements {
				if _, err := tx.ExecContext(ctx, statement); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// timestamp is the format of a time in SQLite.
const timestamp = "2006-01-02 15:04:05.999999-07:00"

func now() string { return time.Now().UTC().Format(timestamp) }

func inTransaction(ctx context.Context, db *sql.DB, fn func(tx *sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := fn(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}
