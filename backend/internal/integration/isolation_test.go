package integration_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/billing"
	"github.com/kith-crm/kith/backend/internal/dav"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/decision"
	"github.com/kith-crm/kith/backend/internal/digest"
	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/idempotency"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/kinds"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/photos"
	"github.com/kith-crm/kith/backend/internal/search"
	"github.com/kith-crm/kith/backend/internal/sources"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/timeline"
	"github.com/kith-crm/kith/backend/internal/views"
	"pgregory.net/rapid"
)

// secret marks everything that the victim keeps.
const secret = "Xylophone"

// victim is a member with one of everything, all of it marked.
type victim struct {
	ledger *billing.Ledger
	keys   *idempotency.Keys
	arranged
	brought

	photo                         *photos.Photo
	tenant                        tenant.ID
	connection, note, interaction string
	organization                  string
	email, externalKey            string
	change, relationship          string
	deletion, binned              string
	key                           idempotency.Key
	job, decisionJob              *job.Job
	decision                      *decision.Decision
}

func newVictim(t *testing.T, s *db.DB) victim {
	t.Helper()
	v := victim{ledger: dbtest.Ledger(t, s), keys: dbtest.Keys(t, s), tenant: dbtest.Member(t, s, "victim"), email: "xylophone@victim.example", externalKey: secret + "-event"}
	read := billing.Charge{Tenant: v.tenant, Tool: "search_connections", Price: 1, CredentialID: "grt_1", CredentialName: secret}
	if _, err := v.ledger.ChargeRead(t.Context(), read); err != nil {
		t.Fatal(err)
	}
	if err := v.ledger.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	v.photo = photo(t)
	err := write(t, s, v.tenant, func(ctx context.Context, u *db.Tx) error {
		made, err := people.Create(ctx, u, people.Draft{
			Name: secret, Organization: secret, Title: secret, Emails: []string{v.email}, Phones: []string{"+1 212 555 0100"},
			URLs: []string{"https://victim.example/xylophone"}, Tags: []string{secret},
		})
		if err != nil {
			return err
		}
		v.connection, v.organization = made.Connection.ID, made.Connection.Positions[0].OrganizationID
		if _, err := photos.Set(ctx, u, v.connection, v.photo); err != nil {
			return err
		}
		note, changeID, err := timeline.AddNote(ctx, u, timeline.Note{Body: secret, ConnectionIDs: []string{v.connection}})
		if err != nil {
			return err
		}
		logged, err := timeline.LogInteractions(ctx, u, timeline.Interaction{
			Kind: "call", Summary: secret, ConnectionIDs: []string{v.connection}, ExternalKey: v.externalKey,
		})
		if err != nil {
			return err
		}
		if v.job, err = keepJob(ctx, u); err != nil {
			return err
		}
		if v.decision, err = keepDecision(ctx, u, secret); err != nil {
			return err
		}
		if v.decisionJob, err = job.GetJob(ctx, u, v.decision.TaskID); err != nil {
			return err
		}
		v.note, v.interaction, v.change = note.ID, logged.Interactions[0].ID, changeID
		if v.brought, err = bring(ctx, u, v.connection, secret); err != nil {
			return err
		}
		if err = keepVector(ctx, u, v.connection); err != nil {
			return err
		}
		if v.arranged, err = arrange(ctx, u, v.connection, secret); err != nil {
			return err
		}
		binned, err := people.Create(ctx, u, people.Draft{Name: secret + " Two"})
		if err != nil {
			return err
		}
		deleted, err := people.Delete(ctx, u, kinds.All(), binned.Connection.ID, secret+" Two")
		if err != nil {
			return err
		}
		v.deletion, v.binned = deleted.ChangeID, binned.Connection.ID
		ties, err := people.ListRelationshipsBetween(ctx, u, v.connection, v.relative)
		if err == nil {
			v.relationship = ties[0].ID
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	keepCards(t, s, v.tenant, v.connection, secret)
	v.key = keepSecret(t, s, v.tenant)
	err = s.Write(t.Context(), func(ctx context.Context, tx db.Querier) error {
		_, err := tx.NewRaw("UPDATE members SET timezone = ?, locale = ? WHERE id = ?", secret, secret, v.tenant).Exec(ctx)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// attempt is one call of a store function by the attacker, with arguments that name the victim's
// objects. What it returns must not hold the secret.
type attempt func(ctx context.Context, v victim) (any, error)

// tenantAttempts are calls of every function that reads with a db.Tenant.
func tenantAttempts(data *db.Tenant) map[string]attempt {
	return within(partReads(data), arrangedReads(data), actReads(data), insightReads(data), paidReads(data), jobReads(data), decisionReads(data), cardReads(data), vectorReads(data), importReads(data), sourceReads(data), map[string]attempt{
		"GetConnection": func(ctx context.Context, v victim) (any, error) { return people.GetConnection(ctx, data, v.connection) },
		"NoConnection": func(ctx context.Context, v victim) (any, error) {
			return nil, people.NoConnection(ctx, data, v.connection)
		},
		"ListTimeline": func(ctx context.Context, v victim) (any, error) {
			one, err := timeline.ListTimeline(ctx, data, timeline.Query{ConnectionID: v.connection, Limit: 50})
			all, allErr := timeline.ListTimeline(ctx, data, timeline.Query{Limit: 50})
			return []any{one, all, err}, allErr
		},
		"CountInteractions": func(ctx context.Context, v victim) (any, error) {
			all, err := timeline.CountInteractions(ctx, data, timeline.CountQuery{By: timeline.ByTag, Tag: secret, Limit: 9, Zone: time.UTC})
			_, ofOne := timeline.CountInteractions(ctx, data, timeline.CountQuery{ConnectionIDs: []string{v.connection}, Limit: 9, Zone: time.UTC})
			return []any{all, err}, ofOne
		},
		"AllLive": func(ctx context.Context, v victim) (any, error) {
			return nil, people.AllLive(ctx, data, []string{v.connection})
		},
		"ListIntroduced": func(ctx context.Context, v victim) (any, error) {
			ids, err := people.ListIntroduced(ctx, data, []string{v.connection, v.relative})
			if len(ids) > 0 {
				return secret, err
			}
			return ids, err
		},
		"ListNotes": func(ctx context.Context, v victim) (any, error) {
			return timeline.ListNotes(ctx, data, []string{v.connection}, 10)
		},
		"ListPinned": func(ctx context.Context, v victim) (any, error) {
			return timeline.ListPinned(ctx, data, v.connection)
		},
		"ListInteractions": func(ctx context.Context, v victim) (any, error) {
			return timeline.ListInteractions(ctx, data, []string{v.connection}, 10)
		},
		"Export": func(ctx context.Context, _ victim) (any, error) {
			var all []any
			err := export.Export(ctx, data, func(object any) error {
				all = append(all, object)
				return nil
			})
			return all, err
		},
		"ListChanges": func(ctx context.Context, v victim) (any, error) {
			of, err := history.ListChanges(ctx, data, history.Query{Limit: 50, ObjectIDs: []string{v.connection}})
			named, namedErr := history.ListChanges(ctx, data, history.Query{Limit: 50, IDs: []string{v.change}, ByAgents: true})
			bin, binErr := history.ListChanges(ctx, data, history.Query{Limit: 50, InBin: true})
			return []any{of, err, named, bin, binErr}, namedErr
		},
		"CountByCredential": func(ctx context.Context, _ victim) (any, error) {
			return history.CountByCredential(ctx, data, time.Time{})
		},
		"Versions": func(ctx context.Context, v victim) (any, error) {
			found, err := photos.Versions(ctx, data, []string{v.connection})
			large, largeErr := photos.Largest(ctx, data, []string{v.connection})
			if image, err := photos.Get(ctx, data, v.connection, 48); err == nil || len(found)+len(large) > 0 {
				return []any{secret, found, large, image}, nil
			}
			return err, largeErr
		},
		"LoadDocuments": func(ctx context.Context, _ victim) (any, error) { return search.LoadDocuments(ctx, data, -1) },
	})
}

// txAttempts are calls of every function that uses a db.Tx.
func txAttempts(u *db.Tx) map[string]attempt {
	return within(partWrites(u), arrangedWrites(u), actWrites(u), profileWrites(u), paidWrites(u), jobWrites(u), decisionWrites(u), cardWrites(u), vectorWrites(u), importWrites(u), sourceWrites(u), map[string]attempt{
		"GetConnection": func(ctx context.Context, v victim) (any, error) { return people.GetConnection(ctx, u, v.connection) },
		"ListSharing": func(ctx context.Context, v victim) (any, error) {
			return people.ListSharing(ctx, u, &people.Connection{Handles: []people.Handle{
				{Kind: people.KindEmail, NormalValue: v.email}, {Kind: people.KindPhone, NormalValue: "+12125550100"},
			}})
		},
		"FindNamesakes": func(ctx context.Context, _ victim) (any, error) {
			colleagues, others, err := people.FindNamesakes(ctx, u, &people.Connection{Name: secret, Positions: []people.Position{{Organization: secret, Current: true}}})
			return append(colleagues, others...), err
		},
		"InsertConnection": func(ctx context.Context, v victim) (any, error) {
			c := &people.Connection{TenantID: v.tenant, Name: "mine", Version: 1, CreatedAt: u.Now(), UpdatedAt: u.Now()}
			return nil, people.InsertConnection(ctx, u, c)
		},
		"ReplaceConnection": func(ctx context.Context, v victim) (any, error) {
			c := &people.Connection{TenantID: v.tenant, ID: v.connection, Name: "stolen", Version: 2, UpdatedAt: u.Now()}
			return nil, people.ReplaceConnection(ctx, u, c)
		},
		"Participants": func(ctx context.Context, v victim) (any, error) {
			return people.Participants(ctx, u, []string{v.connection})
		},
		"LiveOf": func(ctx context.Context, v victim) (any, error) {
			return people.LiveOf(ctx, u, []string{v.connection})
		},
		"InsertNote": func(ctx context.Context, v victim) (any, error) {
			return nil, timeline.InsertNote(ctx, u, &timeline.Note{TenantID: v.tenant, Body: "mine", ConnectionIDs: []string{v.connection}})
		},
		"InsertInteraction": func(ctx context.Context, v victim) (any, error) {
			return nil, timeline.InsertInteraction(ctx, u, &timeline.Interaction{
				TenantID: v.tenant, Kind: "call", OccurredAt: u.Now().AddDate(1, 0, 0), ConnectionIDs: []string{v.connection},
			})
		},
		"FindInteraction": func(ctx context.Context, v victim) (any, error) {
			return timeline.FindInteraction(ctx, u, v.externalKey)
		},
		"Row": func(ctx context.Context, v victim) (any, error) {
			none := func(context.Context, *db.Tx, string, *people.Organization) error { return nil }
			return history.Row(u, none).Current(ctx, []string{v.organization})
		},
		"Record": func(ctx context.Context, v victim) (any, error) {
			return history.Record(ctx, u, history.One("changed", "connection", v.connection, nil, nil))
		},
		"Insert": func(ctx context.Context, v victim) (any, error) {
			_, setErr := photos.Set(ctx, u, v.connection, v.photo)
			_, removeErr := photos.Remove(ctx, u, v.connection)
			if setErr == nil || removeErr == nil {
				return secret, errors.Join(setErr, removeErr)
			}
			return nil, photos.Insert(ctx, u, map[string]*photos.Photo{v.connection: v.photo})
		},
		"Now": func(context.Context, victim) (any, error) { return u.Now(), nil },
	})
}

// Every exported function that is given a tenant's handle and makes statements with it
// is tried by the attacker.
func TestEveryStatementIsTried(t *testing.T) {
	t.Parallel()
	tried := within(tenantAttempts(nil), txAttempts(nil))
	files, err := filepath.Glob("../*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range parsed.Decls {
			f, ok := declaration.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !f.Name.IsExported() || !makesStatements(f) {
				continue
			}
			found++
			if _, ok := tried[f.Name.Name]; !ok {
				t.Errorf("the isolation test does not try %s.%s", parsed.Name.Name, f.Name.Name)
			}
		}
	}
	if found < 50 {
		t.Errorf("%d functions were found", found)
	}
}

// makesStatements tells whether a function is given a tenant's handle and makes a
// statement with it.
func makesStatements(f *ast.FuncDecl) bool {
	handle := ""
	for _, p := range f.Type.Params.List {
		kind := p.Type
		if pointer, ok := kind.(*ast.StarExpr); ok {
			kind = pointer.X
		}
		if of, ok := kind.(*ast.SelectorExpr); ok && len(p.Names) > 0 && slices.Contains([]string{"Tx", "Reader", "Tenant"}, of.Sel.Name) {
			handle = p.Names[0].Name
		}
	}
	made := false
	ast.Inspect(f, func(n ast.Node) bool {
		if call, ok := n.(*ast.SelectorExpr); ok && handle != "" {
			of, isName := call.X.(*ast.Ident)
			made = made || isName && of.Name == handle && slices.Contains([]string{
				"From", "NewRaw", "NewSelect", "NewInsert", "NewUpdate", "NewDelete", "Delete", "QueryContext", "InsertAll", "Snapshot",
			}, call.Sel.Name)
		}
		return true
	})
	return made
}

// Any sequence of one member's store calls neither shows, changes nor counts another
// member's data.
func TestTenantIsolation(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, isolates)
}

// The same holds through a pooler, where members share server connections.
func TestTenantIsolationThroughPooler(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves out what needs PgBouncer; `make test` runs it")
	}
	isolates(t, dbtest.Open(t, dbtest.Pooled(t), time.Now))
}

func isolates(t *testing.T, s *db.DB) {
	t.Helper()
	v := newVictim(t, s)
	before, attackers := picture(t, s, v.tenant), 0
	reads, writes := names(tenantAttempts(nil)), names(txAttempts(nil))
	rapid.Check(t, func(rt *rapid.T) {
		// Use a new attacker each time: rows that an earlier one made with the victim's ids would
		// be their own, so they may be deleted.
		attackers++
		data := s.Tenant(dbtest.Member(t, s, fmt.Sprintf("attacker-%d", attackers)), false)
		for _, name := range rapid.SliceOfN(rapid.SampledFrom(append(reads, writes...)), 1, 6).Draw(rt, "methods") {
			if do, ok := tenantAttempts(data)[name]; ok {
				got, err := do(t.Context(), v)
				check(rt, name, got, err)
			}
			if !slices.Contains(writes, name) {
				continue
			}
			err := data.Write(t.Context(), db.Actor{}, func(ctx context.Context, u *db.Tx) error {
				got, err := txAttempts(u)[name](ctx, v)
				check(rt, name, got, err)
				return err
			})
			check(rt, name, nil, err)
		}
		if after := picture(t, s, v.tenant); after != before {
			rt.Fatalf("the victim's data changed:\n%s\n%s", before, after)
		}
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
func picture(t *testing.T, s *db.DB, owner tenant.ID) string {
	t.Helper()
	data := s.Tenant(owner, true)
	docs, err := search.LoadDocuments(t.Context(), data, -1)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := timeline.ListTimeline(t.Context(), data, timeline.Query{Limit: 50})
	if err != nil {
		t.Fatal(err)
	}
	c, err := people.GetConnection(t.Context(), data, docs.Changed[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	vectors, err := search.LoadVectors(t.Context(), data, secret, -1)
	if err != nil {
		t.Fatal(err)
	}
	changes, err := history.ListChanges(t.Context(), data, history.Query{Limit: 50})
	if err != nil {
		t.Fatal(err)
	}
	settings, err := account.GetSettings(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	saved, err := views.ListViews(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	fields, err := people.ListFields(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	told, err := people.ListDistinctPairs(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	asked, err := decision.List(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	cards, _, err := dav.ListProposals(t.Context(), data, 10)
	if err != nil {
		t.Fatal(err)
	}
	mailed, err := digest.GetDigest(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	calendars, err := sources.List(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	ahead, err := sources.Ahead(t.Context(), data, time.Now().AddDate(-1, 0, 0), time.Now().AddDate(1, 0, 0))
	if err != nil {
		t.Fatal(err)
	}
	met, err := sources.Strangers(t.Context(), data, calendars[0].ID, 50)
	if err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal([]any{docs, entries, c, vectors, changes, settings, saved, fields, told, asked, mailed, cards, calendars, ahead, met})
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func tenantTables() []string {
	return []string{"connections", "handles", "duplicate_keys", "organizations", "positions", "tags", "connection_tags", "notes",
		"note_connections", "interactions", "interaction_connections", "changes", "change_objects", "groups", "group_connections",
		"important_dates", "relationships", "distinct_pairs", "reminders", "credit_balances", "credit_entries", "agent_reads", "idempotency_keys", "embeddings", "jobs", "decisions", "files", "source_keys", "saved_views", "sources", "source_meetings", "source_people", "source_cards", "digests", "custom_fields", "photos", "removed_connections", "cards", "device_cards", "device_groups", "proposals"}
}

// Row-level security: a tenant's role sees the rows of the tenant that is set, none when
// no tenant is set, and no table of credentials.
func TestRowLevelSecurity(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		if !db.IsPostgres(url) {
			return
		}
		s := dbtest.Open(t, url, time.Now)
		v := newVictim(t, s)
		attacker := dbtest.Member(t, s, "attacker")
		db := dbtest.OpenSQL(t, url)
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
		refusesOtherMembers(t, db, attacker)
		if _, err := db.Exec("INSERT INTO tags (tenant_id, id, name, folded_name) VALUES ($1, 'tag_x', 'x', 'x')", string(v.tenant)); err == nil {
			t.Error("a row was written into another tenant")
		}
		for _, table := range []string{"personal_tokens", "sandbox_states", "installation", "linked_identities", "provider_attempts", "security_events", "totp_secrets", "passkeys", "passkey_challenges", "recovery_codes", "sign_in_steps", "device_logins"} {
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
