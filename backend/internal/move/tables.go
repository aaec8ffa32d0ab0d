package move

import (
	"context"
	"fmt"
	"slices"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/uptrace/bun"
)

const (
	membersTable = "members"
	statesTable  = "tenant_states"
)

// moved returns the tables that are moved, in the order of the file: a table comes after those that
// its rows refer to. tenant_states is the last one, because triggers count notes and interactions
// in it.
func moved() []string {
	return []string{
		membersTable, "profiles", "security_events",
		"connections", "removed_connections", "cards", "proposals", "photos", "handles", "duplicate_keys", "organizations", "positions", "important_dates",
		"relationships", "distinct_pairs", "groups", "group_connections", "tags", "connection_tags", "custom_fields", "saved_views", "digests",
		"notes", "note_connections", "interactions", "interaction_connections", "reminders", "reminder_connections", "changes", "change_objects", "embeddings", "source_keys",
		"jobs", "decisions", "credit_balances", "credit_entries", "agent_reads", statesTable,
	}
}

// leftOut returns the tables that are not moved, and why.
func leftOut() map[string]string {
	const (
		credential = "a credential of this installation: the member signs in and allows agents again"
		waiting    = "waits for a response to this installation, for minutes"
		operator   = "belongs to the installation, not to a member"
		derived    = "derived from notes and interactions: an import makes it again"
	)
	return map[string]string{
		"login_sessions": credential, "personal_tokens": credential, "grants": credential, "access_tokens": credential, "refresh_tokens": credential,
		"authorization_codes": credential, "mail_links": credential, "not_me_links": credential,
		"member_addresses":       "says which links of this installation may restore an address",
		"totp_secrets":           "encrypted with the secret key of this installation",
		"passkeys":               "belong to the host name of this installation",
		"recovery_codes":         "replace a second factor, which is not moved",
		"linked_identities":      "the other installation may have another identity provider, or none",
		"authorization_requests": waiting, "consent_answers": waiting, "sign_in_steps": waiting, "passkey_challenges": waiting, "device_logins": waiting, "sign_ups": waiting, "provider_attempts": waiting,
		"idempotency_keys": "answers to credentials that are not moved, kept for a day",
		"device_cards":     "what devices got from this installation: they get it again from the other one",
		"device_groups":    "what devices got from this installation",
		"files":            "waits for an import for a day at most: the member uploads it again",
		"clients":          operator, "owner_links": operator, "login_attempts": operator, "sunsets": operator, "sandbox_states": operator, "installation": operator,
		"schema_migrations": operator,
		"sources":           "encrypted with the secret key of this installation: the member adds them again, and what they have logged is known by its external key",
		"source_meetings":   "belongs to a source", "source_people": "belongs to a source", "source_cards": "belongs to a source",
		"entry_numbers": derived, "entry_words": derived, "entry_blocks": derived,
	}
}

// ended returns the states of the rows that are moved, for each table of which some rows are not.
func ended() map[string][]string {
	return map[string][]string{
		"jobs":      {"succeeded", "failed", "cancelled"},
		"decisions": {"done", "failed", "refused", "expired", "cancelled"},
	}
}

// numbered returns the columns whose numbers the database generates, for all members together: an
// import gets new numbers, in the order of the old ones.
func numbered() map[string]string {
	return map[string]string{"profiles": "number", "security_events": "id"}
}

// unmoved returns the columns of moved tables that are not moved.
func unmoved() []string {
	return []string{
		"kept_bytes",                     // an import counts it again, without the files, which stay behind
		"monthly_credits", "quota_bytes", // limits of this installation's operator
		"trace",              // of a request to this installation
		"unsubscribe_secret", // of links to this installation
	}
}

// table is a table that is moved.
type table struct {
	name  string
	order int
	// owner is the column with the member's id.
	owner string
	// columns are the columns that are moved; key has the columns that order the rows.
	columns []db.Column
	key     []string
	// states are the states of the rows that are moved; nil means all rows.
	states []string
}

// readTables returns the tables that are moved, as the database has them.
func readTables(ctx context.Context, q db.Querier) ([]table, error) {
	catalogue, err := db.Catalogue(ctx, q)
	if err != nil {
		return nil, err
	}
	tables := make([]table, len(moved()))
	for i, name := range moved() {
		found, ok := catalogue[name]
		if !ok {
			return nil, fmt.Errorf("the database has no table %s", name)
		}
		t := table{name: name, order: i, owner: ownerOf(found), key: found.Key(), states: ended()[name]}
		for _, c := range found.Columns {
			if c.Name != numbered()[name] && !slices.Contains(unmoved(), c.Name) {
				t.columns = append(t.columns, c)
			}
		}
		tables[i] = t
	}
	return tables, nil
}

// ownerOf returns the column with the id of the member whom a row belongs to; empty if there is none.
func ownerOf(t db.Table) string {
	for _, column := range []string{"tenant_id", "member_id"} {
		if t.Has(column) {
			return column
		}
	}
	if t.Name == membersTable {
		return "id"
	}
	return ""
}

// idents returns names for the argument of a statement.
func idents(names []string) any {
	quoted := make([]bun.Ident, len(names))
	for i, name := range names {
		quoted[i] = bun.Ident(name)
	}
	return bun.List(quoted)
}

func (t table) columnNames() []string {
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = c.Name
	}
	return names
}

// moves reports whether a row in a state is moved.
func (t table) moves(state string) bool { return t.states == nil || slices.Contains(t.states, state) }
