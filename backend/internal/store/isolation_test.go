package store_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kith-crm/kith/backend/internal/change"
	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/idempotency"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/store"
	"github.com/kith-crm/kith/backend/internal/storetest"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/timeline"
)

// secret marks everything that the victim keeps.
const secret = "Xylophone"

// victim is a member with one of everything, all of it marked.
type victim struct {
	arranged
	brought

	tenant                        tenant.ID
	connection, note, interaction string
	email, externalKey            string
	change, relationship          string
	deletion                      string
	key                           idempotency.Key
	job                           *job.Job
}

func newVictim(t *testing.T, s *store.Store) victim {
	t.Helper()
	v := victim{tenant: storetest.Member(t, s, "victim"), email: "xylophone@victim.example", externalKey: secret + "-event"}
	err := write(t, s, v.tenant, func(ctx context.Context, u *store.Unit) error {
		made, err := connection.Create(ctx, u, connection.Draft{
			Name: secret, Organization: secret, Title: secret, Emails: []string{v.email}, Phones: []string{"+1 212 555 0100"},
			URLs: []string{"https://victim.example/xylophone"}, Tags: []string{secret},
		})
		if err != nil {
			return err
		}
		v.connection = made.Connection.ID
		note, changeID, err := timeline.AddNote(ctx, u, timeline.Note{Body: secret, ConnectionIDs: []string{v.connection}})
		if err != nil {
			return err
		}
		logged, err := timeline.LogInteraction(ctx, u, timeline.Interaction{
			Kind: "call", Summary: secret, ConnectionIDs: []string{v.connection}, ExternalKey: v.externalKey,
		})
		if err != nil {
			return err
		}
		if v.job, err = keepJob(ctx, u); err != nil {
			return err
		}
		v.note, v.interaction, v.change = note.ID, logged.Interaction.ID, changeID
		if v.brought, err = bring(ctx, u, v.connection, secret); err != nil {
			return err
		}
		if err = keepVector(ctx, u, v.connection); err != nil {
			return err
		}
		if v.arranged, err = arrange(ctx, u, v.connection, secret); err != nil {
			return err
		}
		binned, err := connection.Create(ctx, u, connection.Draft{Name: secret + " Two"})
		if err != nil {
			return err
		}
		deleted, err := connection.Delete(ctx, u, binned.Connection.ID, secret+" Two")
		if err != nil {
			return err
		}
		v.deletion = deleted.ChangeID
		ties, err := u.ListRelationshipsBetween(ctx, v.connection, v.relative)
		if err == nil {
			v.relationship = ties[0].ID
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	v.key = keepSecret(t, s, v.tenant)
	return v
}

// attempt is one use of a store method by the attacker, with arguments that
// name the victim's things. What it returns must not hold the secret.
type attempt func(ctx context.Context, v victim) (any, error)

// tenantAttempts drives every method of a Tenant that is not a write.
func tenantAttempts(data *store.Tenant) map[string]attempt {
	return within(within(within(within(arrangedReads(data), actReads(data)), insightReads(data)), within(paidReads(data), within(within(jobReads(data), vectorReads(data)), importReads(data)))), map[string]attempt{
		"GetConnection": func(ctx context.Context, v victim) (any, error) { return data.GetConnection(ctx, v.connection) },
		"ListTimeline": func(ctx context.Context, v victim) (any, error) {
			one, err := data.ListTimeline(ctx, timeline.Query{ConnectionID: v.connection, Limit: 50})
			all, allErr := data.ListTimeline(ctx, timeline.Query{Limit: 50})
			return []any{one, all, err}, allErr
		},
		"ListNotes":        func(ctx context.Context, v victim) (any, error) { return data.ListNotes(ctx, v.connection, 10) },
		"ListInteractions": func(ctx context.Context, v victim) (any, error) { return data.ListInteractions(ctx, v.connection, 10) },
		"Export": func(ctx context.Context, _ victim) (any, error) {
			var all []any
			err := data.Export(ctx, func(object any) error {
				all = append(all, object)
				return nil
			})
			return all, err
		},
		"ListChanges": func(ctx context.Context, v victim) (any, error) {
			of, err := data.ListChanges(ctx, change.Query{Limit: 50, ObjectID: v.connection})
			named, namedErr := data.ListChanges(ctx, change.Query{Limit: 50, IDs: []string{v.change}, ByAgents: true})
			bin, binErr := data.ListChanges(ctx, change.Query{Limit: 50, InBin: true})
			return []any{of, err, named, bin, binErr}, namedErr
		},
		"LoadDocuments": func(ctx context.Context, _ victim) (any, error) { return data.LoadDocuments(ctx, -1) },
	})
}

// unitAttempts drives every method of a Unit.
func unitAttempts(u *store.Unit) map[string]attempt {
	return within(within(within(within(arrangedWrites(u), actWrites(u)), profileWrites(u)), within(paidWrites(u), within(within(jobWrites(u), vectorWrites(u)), importWrites(u)))), map[string]attempt{
		"GetConnection": func(ctx context.Context, v victim) (any, error) { return u.GetConnection(ctx, v.connection) },
		"ListSharing": func(ctx context.Context, v victim) (any, error) {
			return u.ListSharing(ctx, &connection.Connection{Handles: []connection.Handle{
				{Kind: connection.KindEmail, NormalValue: v.email}, {Kind: connection.KindPhone, NormalValue: "+12125550100"},
			}})
		},
		"FindNamesake": func(ctx context.Context, _ victim) (any, error) {
			return u.FindNamesake(ctx, &connection.Connection{Name: secret, Positions: []connection.Position{{Organization: secret, Current: true}}})
		},
		"InsertConnection": func(ctx context.Context, v victim) (any, error) {
			c := &connection.Connection{TenantID: v.tenant, Name: "mine", Version: 1, CreatedAt: u.Now(), UpdatedAt: u.Now()}
			return nil, u.InsertConnection(ctx, c)
		},
		"ReplaceConnection": func(ctx context.Context, v victim) (any, error) {
			c := &connection.Connection{TenantID: v.tenant, ID: v.connection, Name: "stolen", Version: 2, UpdatedAt: u.Now()}
			return nil, u.ReplaceConnection(ctx, c)
		},
		"Participants": func(ctx context.Context, v victim) (any, error) { return u.Participants(ctx, []string{v.connection}) },
		"InsertNote": func(ctx context.Context, v victim) (any, error) {
			return nil, u.InsertNote(ctx, &timeline.Note{TenantID: v.tenant, Body: "mine", ConnectionIDs: []string{v.connection}})
		},
		"InsertInteraction": func(ctx context.Context, v victim) (any, error) {
			return nil, u.InsertInteraction(ctx, &timeline.Interaction{
				TenantID: v.tenant, Kind: "call", OccurredAt: u.Now().AddDate(1, 0, 0), ConnectionIDs: []string{v.connection},
			})
		},
		"FindInteraction": func(ctx context.Context, v victim) (any, error) { return u.FindInteraction(ctx, v.externalKey) },
		"Record": func(ctx context.Context, v victim) (any, error) {
			return u.Record(ctx, change.One("changed", "connection", v.connection, nil, nil))
		},
		"Now": func(context.Context, victim) (any, error) { return u.Now(), nil },
	})
}

func TestEveryStoreMethodIsDriven(t *testing.T) {
	t.Parallel()
	methods := func(v any) (names []string) {
		for method := range reflect.TypeOf(v).Methods() {
			names = append(names, method.Name)
		}
		return names
	}
	for _, name := range methods(&store.Tenant{}) {
		if _, ok := tenantAttempts(nil)[name]; !ok && name != "Write" {
			t.Errorf("the isolation test does not drive Tenant.%s", name)
		}
	}
	for _, name := range methods(&store.Unit{}) {
		if _, ok := unitAttempts(nil)[name]; !ok {
			t.Errorf("the isolation test does not drive Unit.%s", name)
		}
	}
}

// Whatever one member does by any store method, in any order, another member's
// data is neither seen, changed nor counted.
func TestTenantIsolation(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		v := newVictim(t, s)
		attacker := storetest.Member(t, s, "attacker")
		before := picture(t, s, v.tenant)
		data := s.Tenant(attacker, false)
		reads, writes := names(tenantAttempts(nil)), names(unitAttempts(nil))
		rapid.Check(t, func(rt *rapid.T) {
			for _, name := range rapid.SliceOfN(rapid.SampledFrom(append(reads, writes...)), 1, 6).Draw(rt, "methods") {
				if do, ok := tenantAttempts(data)[name]; ok {
					got, err := do(t.Context(), v)
					check(rt, name, got, err)
				}
				if !slices.Contains(writes, name) {
					continue
				}
				err := data.Write(t.Context(), store.Actor{}, func(ctx context.Context, u *store.Unit) error {
					got, err := unitAttempts(u)[name](ctx, v)
					check(rt, name, got, err)
					return err
				})
				check(rt, name, nil, err)
			}
			if after := picture(t, s, v.tenant); after != before {
				rt.Fatalf("the victim's data changed:\n%s\n%s", before, after)
			}
		})
	})
}

func names(attempts map[string]attempt) []string {
	var out []string
	for name := range attempts {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func check(rt *rapid.T, method string, got any, err error) {
	data, encodeErr := json.Marshal(got)
	if encodeErr != nil {
		rt.Fatalf("%s: %v", method, encodeErr)
	}
	if text := strings.ToLower(fmt.Sprint(string(data), err)); strings.Contains(text, strings.ToLower(secret)) {
		rt.Fatalf("%s shows the victim's data: %s", method, text)
	}
}

// picture is everything that a tenant keeps, as text.
func picture(t *testing.T, s *store.Store, owner tenant.ID) string {
	t.Helper()
	data := s.Tenant(owner, true)
	docs, err := data.LoadDocuments(t.Context(), -1)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := data.ListTimeline(t.Context(), timeline.Query{Limit: 50})
	if err != nil {
		t.Fatal(err)
	}
	c, err := data.GetConnection(t.Context(), docs.Changed[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	vectors, err := data.LoadVectors(t.Context(), secret, -1)
	if err != nil {
		t.Fatal(err)
	}
	changes, err := data.ListChanges(t.Context(), change.Query{Limit: 50})
	if err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal([]any{docs, entries, c, vectors, changes})
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func tenantTables() []string {
	return []string{"connections", "handles", "organizations", "positions", "tags", "connection_tags", "notes",
		"note_connections", "interactions", "interaction_connections", "changes", "groups", "group_connections",
		"important_dates", "relationships", "reminders", "credit_balances", "credit_entries", "idempotency_keys", "embeddings", "jobs", "files", "source_keys"}
}

// The wall in the database: a tenant's role sees the rows of the tenant that is
// set, and none when none is set, and no table of credentials at all.
func TestRowLevelSecurity(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, url string) {
		if !store.IsPostgres(url) {
			return
		}
		s := storetest.Open(t, url, time.Now)
		v := newVictim(t, s)
		attacker := storetest.Member(t, s, "attacker")
		db := storetest.OpenSQL(t, url)
		exec(t, db, "SET ROLE kith_tenant")
		for _, who := range []struct {
			tenant  string
			visible bool
		}{{"", false}, {string(attacker), false}, {string(v.tenant), true}} {
			exec(t, db, "SELECT set_config('app.tenant_id', '"+who.tenant+"', false)")
			for _, table := range tenantTables() {
				var n int
				if err := db.QueryRow("SELECT count(*) FROM " + table).Scan(&n); err != nil {
					t.Fatal(err)
				}
				if (n > 0) != who.visible {
					t.Errorf("tenant %q sees %d rows of %s", who.tenant, n, table)
				}
			}
		}
		exec(t, db, "SELECT set_config('app.tenant_id', '"+string(attacker)+"', false)")
		refusesOtherProfiles(t, db, attacker)
		if _, err := db.Exec("INSERT INTO tags (tenant_id, id, name, folded_name) VALUES ($1, 'tag_x', 'x', 'x')", string(v.tenant)); err == nil {
			t.Error("a row was written into another tenant")
		}
		for _, table := range []string{"members", "personal_tokens", "sandbox_states", "linked_identities", "provider_attempts", "security_events"} {
			if _, err := db.Exec("SELECT 1 FROM " + table); err == nil {
				t.Errorf("the tenant's role reads %s", table)
			}
		}
	})
}

func exec(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.Exec(statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}
