package main

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// chains is the number of agents that refresh at the same time.
const chains = 64

// The public client of the grants.
const (
	benchClient   = "cli_01J00000000000000000000000"
	benchRedirect = "https://bench.example/callback"
)

// grants creates an agent with grants, and writes the files of the load generator: the
// refresh request and the first refresh token of each chain.
func (s seeder) grants(ctx context.Context, db *sql.DB) error {
	var scopes, owner string
	if err := db.QueryRowContext(ctx, "SELECT t.scopes, t.member_id FROM personal_tokens t JOIN members m ON m.id = t.member_id WHERE m.username = '"+
		s.username+"' LIMIT 1").Scan(&scopes, &owner); err != nil {
		return fmt.Errorf("find the member's token: %w", err)
	}
	expires := time.Now().UTC().Add(24 * time.Hour).Format(timestamp)
	var first []string
	err := inTransaction(ctx, db, func(tx *sql.Tx) error {
		statements := []string{fmt.Sprintf(`INSERT INTO clients (id, name, redirect_uris, created_at) VALUES ('%s', 'bench', '["%s"]', '%s')`,
			benchClient, benchRedirect, now())}
		for i := range chains {
			bearer := fmt.Sprintf("kith_rt_bench_%06d_0123456789abcdef0123456789abcdef", i)
			first = append(first, bearer)
			sum := sha256.Sum256([]byte(bearer))
			statements = append(statements,
				fmt.Sprintf("INSERT INTO grants (id, member_id, client_id, scopes, resource, created_at) VALUES ('gra_bench%d', '%s', '%s', '%s', '', '%s')",
					i, owner, benchClient, scopes, now()),
				fmt.Sprintf("INSERT INTO access_tokens (grant_id, hash, scopes, created_at, expires_at) VALUES ('gra_bench%d', 'bench%d', '%s', '%s', '%s')",
					i, i, scopes, now(), expires),
				fmt.Sprintf("INSERT INTO refresh_tokens (hash, grant_id, created_at, expires_at) VALUES ('%s', 'gra_bench%d', '%s', '%s')",
					hex.EncodeToString(sum[:]), i, now(), expires))
		}
		for _, statement := range statements {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("make grants: %w", err)
	}
	return s.writeRefresh(first)
}

func (s seeder) writeRefresh(first []string) error {
	request, err := json.Marshal(map[string]any{
		"method": "POST", "path": "/oauth/token", "status": 200,
		"headers": map[string]string{"Content-Type": "application/x-www-form-urlencoded"},
		"body":    "grant_type=refresh_token&client_id=" + benchClient + "&refresh_token={{v}}",
		"expect":  []string{`"access_token"`}, "capture": `"refresh_token":"([^"]+)"`,
	})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(s.out, "ours-refresh.jsonl"), append(request, '\n'), 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.out, "ours-refresh.vars"), []byte(strings.Join(first, "\n")+"\n"), 0o600)
}
