// Command trgm searches the people's names with pg_trgm of PostgreSQL, with typos.
package main

import (
	"context"
	"os"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/kith-crm/kith/deploy/load/peers/data"
)

func main() {
	set := data.Load()
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("PEER_DATABASE_URL"))
	data.Must(err)
	for _, statement := range []string{
		`CREATE EXTENSION IF NOT EXISTS pg_trgm`,
		`CREATE TABLE people (id text PRIMARY KEY, name text, email text, organization text, title text, city text)`,
	} {
		_, err := pool.Exec(ctx, statement)
		data.Must(err)
	}
	_, err = pool.CopyFrom(ctx, pgx.Identifier{"people"}, []string{"id", "name", "email", "organization", "title", "city"},
		pgx.CopyFromSlice(len(set.People), func(i int) ([]any, error) {
			p := set.People[i]
			return []any{p.ID, p.Name, p.Email, p.Organization, p.Title, p.City}, nil
		}))
	data.Must(err)
	for _, statement := range []string{`CREATE INDEX ON people USING gin (name gin_trgm_ops)`, `ANALYZE people`} { //nolint:misspell // as SQL spells
		_, err := pool.Exec(ctx, statement)
		data.Must(err)
	}
	data.ServeSearch(func(ctx context.Context, q string) ([]data.Person, error) {
		rows, err := pool.Query(ctx, `SELECT id, name, email, organization, title, city FROM people
WHERE name % $1 ORDER BY similarity(name, $1) DESC LIMIT 10`, q)
		if err != nil {
			return nil, err
		}
		return pgx.CollectRows(rows, pgx.RowToStructByPos[data.Person])
	})
}
