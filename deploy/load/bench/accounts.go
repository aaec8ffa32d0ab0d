package main

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
)

// accounts are members with equal networks.
type accounts struct {
	name    string // distinguishes them from others in the database
	count   int
	bearers int // of each
	// people are the network of each account. Kith imports that of the first account and sets the people's ids.
	people []person
	// readOnly makes them demo accounts, whose calls cost no credits.
	readOnly bool
}

// bearer is a personal token of an account.
func (a accounts) bearer(account, k int) string {
	return fmt.Sprintf("bench_%s_%d_%d_0123456789abcdef0123456789abcdef", a.name, account, k)
}

// session is the secret in the cookie of an account's browser.
func (a accounts) session(account int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "session of %s %d", a.name, account))
	return base64.RawURLEncoding.EncodeToString(sum[:]) // as long as the secrets that the service makes
}

func (a accounts) tenant(account int) string { return fmt.Sprintf("mem_%s_%07d", a.name, account) }

// scopes are all scopes.
const scopes = "connections timeline organize reminders insights imports directory account write"

// timestamp is how both databases read times.
const timestamp = "2006-01-02 15:04:05.999999-07:00"

// fill creates the accounts in the database, without people.
func (a accounts) fill(ctx context.Context, d *database) error {
	now, tomorrow := time.Now().UTC().Format(timestamp), time.Now().UTC().AddDate(0, 0, 1).Format(timestamp)
	var members, states, profiles, tokens, sessions []string
	for i := range a.count {
		id := a.tenant(i)
		members = append(members, fmt.Sprintf("('%s', 'bench-%s-%d', '%s@people.example', 'free', '%s', '%s')", id, a.name, i, id, now, now))
		states = append(states, fmt.Sprintf("('%s')", id))
		name, headline := fmt.Sprint("Bench ", i), fmt.Sprintf("bench%d@example.com answers every question about benches", i)
		words := strings.ToLower(name + " " + headline)
		profiles = append(profiles, fmt.Sprintf(`('%s', 'bench-%s-%d', '%s', '%s', 'public', '{"headline":"public"}', TRUE, '%s', '%s', '%s', '%s')`,
			id, a.name, i, name, headline, words, words, strings.ToLower(name), now))
		secret := sha256.Sum256([]byte(a.session(i)))
		sessions = append(sessions, fmt.Sprintf("('%s', 'ses_%s_%d', '%s', 'a browser', '', '%s', '%s', '%s', '%s')", hex.EncodeToString(secret[:]), a.name, i, id, now, now, now, tomorrow))
		for k := range a.bearers {
			sum := sha256.Sum256([]byte(a.bearer(i, k)))
			tokens = append(tokens, fmt.Sprintf("('pat_%s_%d_%d', '%s', 'bench', '%s', '%s', '%s')", a.name, i, k, id, hex.EncodeToString(sum[:]), scopes, now))
		}
	}
	for _, rows := range []struct {
		into   string
		values []string
	}{
		{"members (id, username, email, plan, created_at, updated_at)", members},
		{"tenant_states (tenant_id)", states},
		{"profiles (member_id, username, name, headline, visibility, field_visibility, listed, search_text, member_text, sort_name, updated_at)", profiles},
		{"personal_tokens (id, member_id, name, hash, scopes, created_at)", tokens},
		{"login_sessions (hash, id, member_id, device, address, created_at, authenticated_at, last_used_at, expires_at)", sessions},
	} {
		if err := d.insert(ctx, rows.into, rows.values); err != nil {
			return err
		}
	}
	return nil
}

// copy copies the rows of the first account's network for the other accounts, in every table of members' data.
// The service itself would create only about a thousand rows a second.
func (a accounts) copy(ctx context.Context, d *database) error {
	tables, err := d.memberTables(ctx)
	if err != nil {
		return err
	}
	first := a.tenant(0)
	for table, columns := range tables {
		if err := d.exec(ctx, fmt.Sprintf("INSERT INTO %[1]s (tenant_id, %[2]s) SELECT m.id, %[3]s FROM members m CROSS JOIN (SELECT * FROM %[1]s WHERE tenant_id = '%[4]s') s WHERE m.id LIKE 'mem_%[5]s_%%' AND m.id <> '%[4]s'",
			table, columns, "s."+strings.ReplaceAll(columns, ", ", ", s."), first, a.name)); err != nil {
			return err
		}
	}
	if a.readOnly {
		return d.exec(ctx, fmt.Sprintf("UPDATE tenant_states SET read_only = TRUE WHERE tenant_id LIKE 'mem_%s_%%'", a.name))
	}
	return nil
}

// memberTables returns the tables of members' data with their columns, without tenant_id and numbers that the
// database gives. It leaves out tenant_states, where each account already has a row, and jobs, whose ids are
// unique in the whole database.
func (d *database) memberTables(ctx context.Context) (map[string]string, error) {
	query := `SELECT t.name, group_concat('"' || c.name || '"', ', ') FROM sqlite_master t JOIN pragma_table_info(t.name) c
WHERE t.type = 'table' AND c.name <> 'tenant_id' AND NOT (c.type = 'INTEGER' AND c.pk = 1)
  AND EXISTS (SELECT 1 FROM pragma_table_info(t.name) WHERE name = 'tenant_id') AND t.name NOT IN ('tenant_states', 'jobs')
GROUP BY t.name`
	if d.admin != "" {
		query = `SELECT table_name, string_agg(quote_ident(column_name), ', ')
FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
WHERE table_schema = current_schema() AND table_type = 'BASE TABLE' AND column_name <> 'tenant_id' AND is_identity = 'NO'
  AND table_name IN (SELECT table_name FROM information_schema.columns WHERE column_name = 'tenant_id' AND table_schema = current_schema())
  AND table_name NOT IN ('tenant_states', 'jobs')
GROUP BY table_name`
	}
	return d.pairs(ctx, query)
}

// pairs returns the two columns of a query.
func (d *database) pairs(ctx context.Context, query string) (map[string]string, error) {
	rows, err := d.db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	found := map[string]string{}
	for rows.Next() {
		var key, value string
		if err := rows.Scan(&key, &value); err != nil {
			return nil, err
		}
		found[key] = value
	}
	return found, rows.Err()
}

// identify sets the ids of the people.
func (a accounts) identify(ctx context.Context, d *database) error {
	ids, err := d.pairs(ctx, "SELECT name, id FROM connections WHERE tenant_id = '"+a.tenant(0)+"'")
	if err != nil {
		return err
	}
	for i, p := range a.people {
		if a.people[i].id = ids[p.name()]; a.people[i].id == "" {
			return fmt.Errorf("%s was not imported", p.name())
		}
	}
	return nil
}

// chains is the number of agents that refresh at the same time.
const chains = 64

// The public client of the grants.
const (
	benchClient   = "cli_01J00000000000000000000000"
	benchRedirect = "https://bench.example/callback"
)

// refreshToken is the first refresh token of an agent.
func refreshToken(i int) string {
	return fmt.Sprintf("kith_rt_bench_%06d_0123456789abcdef0123456789abcdef", i)
}

// grants creates a client with grants of a member, each with its first refresh token.
func (d *database) grants(ctx context.Context, owner string) error {
	now, expires := time.Now().UTC().Format(timestamp), time.Now().UTC().Add(24*time.Hour).Format(timestamp)
	var grants, access, refresh []string
	for i := range chains {
		sum := sha256.Sum256([]byte(refreshToken(i)))
		grants = append(grants, fmt.Sprintf("('gra_bench%d', '%s', '%s', '%s', '', '', '%s')", i, owner, benchClient, scopes, now))
		access = append(access, fmt.Sprintf("('gra_bench%d', 'bench%d', '%s', '%s', '%s')", i, i, scopes, now, expires))
		refresh = append(refresh, fmt.Sprintf("('%s', 'gra_bench%d', '%s', '%s')", hex.EncodeToString(sum[:]), i, now, expires))
	}
	return errors.Join(
		d.insert(ctx, "clients (id, name, redirect_uris, created_at)", []string{fmt.Sprintf(`('%s', 'bench', '["%s"]', '%s')`, benchClient, benchRedirect, now)}),
		d.insert(ctx, "grants (id, member_id, client_id, scopes, tools, resource, created_at)", grants),
		d.insert(ctx, "access_tokens (grant_id, hash, scopes, created_at, expires_at)", access),
		d.insert(ctx, "refresh_tokens (hash, grant_id, created_at, expires_at)", refresh))
}
