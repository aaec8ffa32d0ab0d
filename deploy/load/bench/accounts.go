package main

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

// accounts are members with equal networks.
type accounts struct {
	name    string // distinguishes them from others in the database
	count   int
	bearers int // of each
	people  []person
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

// batch is the number of rows per INSERT statement.
const batch = 500

// fill creates the accounts in the database: members, tokens, the network of the first
// account, and copies of it for the others. The service itself would create only about a
// thousand rows a second.
func (a accounts) fill(ctx context.Context, d *database) error {
	const timestamp = "2006-01-02 15:04:05.999999-07:00"
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
	if err := a.fillNetworks(ctx, d, now); err != nil || !a.readOnly {
		return err
	}
	_, err := d.db.ExecContext(ctx, fmt.Sprintf("UPDATE tenant_states SET read_only = TRUE WHERE tenant_id LIKE 'mem_%s_%%'", a.name))
	return err
}

// network is a table of a network. The order of the tables follows their references.
type network struct {
	table, columns string
	row            func(i int, p person) string
}

func networks(now string) []network {
	return []network{
		{"organizations", "id, name, normal_name, domain, created_at, updated_at", func(i int, p person) string {
			if i >= organizations {
				return ""
			}
			return fmt.Sprintf("'%s', 'Works %d', 'works %d', 'works%d.example', '%s', '%s'", p.organization, i, i, i, now, now)
		}},
		{"connections", "id, name, nickname, location, bio, starred, met_on, met_how, source, cadence_days, version, data_version, folded_name, created_at, updated_at", func(_ int, p person) string {
			return fmt.Sprintf("'%s', '%s', '', '%s', '', FALSE, '', '', 'import', 0, 1, 0, '%s', '%s', '%s'", p.id, p.name(), p.city, strings.ToLower(p.name()), now, now)
		}},
		{"handles", "id, connection_id, kind, value, normal_value, label, ordinal", func(i int, p person) string {
			return fmt.Sprintf("'hnd_%026d', '%s', 'email', '%s', '%s', '', 0", i, p.id, p.email, p.email)
		}},
		{"positions", "id, connection_id, organization_id, title, started_on, ended_on, current, ordinal", func(i int, p person) string {
			return fmt.Sprintf("'pos_%026d', '%s', '%s', '%s', '', '', TRUE, 0", i, p.id, p.organization, p.title)
		}},
	}
}

func (a accounts) fillNetworks(ctx context.Context, d *database, now string) error {
	first := a.tenant(0)
	for _, n := range networks(now) {
		var values []string
		for i, p := range a.people {
			if row := n.row(i, p); row != "" {
				values = append(values, "('"+first+"', "+row+")")
			}
		}
		if err := d.insert(ctx, n.table+" (tenant_id, "+n.columns+")", values); err != nil {
			return err
		}
		copies := fmt.Sprintf("INSERT INTO %s (tenant_id, %s) SELECT m.id, %s FROM members m CROSS JOIN %s s WHERE s.tenant_id = '%s' AND m.id LIKE 'mem_%s_%%' AND m.id <> '%s'",
			n.table, n.columns, "s."+strings.ReplaceAll(n.columns, ", ", ", s."), n.table, first, a.name, first)
		if _, err := d.db.ExecContext(ctx, copies); err != nil {
			return fmt.Errorf("copy %s: %w", n.table, err)
		}
	}
	return nil
}

// insert inserts rows in one transaction.
func (d *database) insert(ctx context.Context, into string, values []string) error {
	tx, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	for len(values) > 0 {
		n := min(len(values), batch)
		if _, err := tx.ExecContext(ctx, "INSERT INTO "+into+" VALUES "+strings.Join(values[:n], ",\n")); err != nil {
			return fmt.Errorf("insert into %s: %w", into, err)
		}
		values = values[n:]
	}
	return tx.Commit()
}
