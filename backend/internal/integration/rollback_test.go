package integration_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/oauth"
)

// step is one statement of a transition.
type step struct{ event, table, when string }

func (s step) String() string { return strings.TrimSpace(s.event + " " + s.table + " " + s.when) }

// makeBreakable lets each step fail while its name stands in the table broken; in
// PostgreSQL as if the disk were full.
func makeBreakable(t *testing.T, db *sql.DB, postgres bool, transitions map[string]transition) {
	t.Helper()
	exec(t, db, "CREATE TABLE broken (step TEXT)")
	if postgres {
		exec(t, db, `CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$BEGIN
IF EXISTS (SELECT 1 FROM broken WHERE step = TG_ARGV[0]) THEN RAISE EXCEPTION 'injected failure' USING ERRCODE = '53100'; END IF;
RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END; END$$`)
	}
	made := map[step]bool{}
	for _, c := range transitions {
		for _, s := range c.steps {
			if made[s] {
				continue
			}
			made[s] = true
			create := fmt.Sprintf("CREATE TRIGGER broken_%d BEFORE %s ON %s FOR EACH ROW", len(made), s.event, s.table)
			if s.when != "" {
				create += " WHEN (" + s.when + ")"
			}
			if postgres {
				exec(t, db, fmt.Sprintf("%s EXECUTE FUNCTION broken('%s')", create, s))
			} else {
				exec(t, db, fmt.Sprintf("%s BEGIN SELECT RAISE(ABORT, 'injected failure') FROM broken WHERE step = '%s'; END", create, s))
			}
		}
	}
}

// transition is a method of grant.Store that runs several statements.
type transition struct {
	steps []step
	// prepare makes what the transition starts from, under a name of its own.
	prepare func(t *testing.T, f flow, name string)
	run     func(t *testing.T, f flow, name string) error
	// unchanged reports whether the rows that prepare made are unchanged.
	unchanged func(t *testing.T, f flow, name string) bool
	// code is the code of the transition's own error; empty if it succeeds.
	code fault.Code
}

func transitions() map[string]transition {
	redeemed := func(t *testing.T, f flow, name string) { f.redeem(t, f.code(t, "code "+name), name) }
	replayable := func(t *testing.T, f flow, name string) {
		redeemed(t, f, name)
		if err := f.rotate(t, name, name+" next"); err != nil {
			t.Fatal(err)
		}
	}
	return map[string]transition{
		"redeem": {
			steps: []step{
				{"UPDATE", "authorization_codes", ""}, {"INSERT", "grants", ""}, {"UPDATE", "authorization_codes", "NEW.grant_id IS NOT NULL"},
				{"UPDATE", "clients", ""}, {"INSERT", "access_tokens", ""}, {"INSERT", "refresh_tokens", ""},
			},
			prepare: func(t *testing.T, f flow, name string) { f.code(t, "code "+name) },
			run: func(t *testing.T, f flow, name string) error {
				_, err := oauth.RedeemCode(t.Context(), f.s, "code "+name, f.pair(name))
				return err
			},
			unchanged: func(t *testing.T, f flow, name string) bool {
				code, err := oauth.GetCode(t.Context(), f.s, "code "+name)
				return err == nil && code.UsedAt.IsZero() && code.GrantID == "" && !f.alive(t, name)
			},
		},
		"redeem a used code": {
			steps:   []step{{"UPDATE", "grants", ""}},
			prepare: redeemed,
			run: func(t *testing.T, f flow, name string) error {
				_, err := oauth.RedeemCode(t.Context(), f.s, "code "+name, f.pair(name+" again"))
				return err
			},
			unchanged: func(t *testing.T, f flow, name string) bool { return f.alive(t, name) },
			code:      fault.Conflict,
		},
		"rotate": {
			steps: []step{
				{"UPDATE", "refresh_tokens", ""}, {"INSERT", "access_tokens", ""}, {"UPDATE", "access_tokens", ""},
				{"INSERT", "refresh_tokens", ""},
			},
			prepare:   redeemed,
			run:       func(t *testing.T, f flow, name string) error { return f.rotate(t, name, name+" next") },
			unchanged: func(t *testing.T, f flow, name string) bool { return f.alive(t, name) && !f.alive(t, name+" next") },
		},
		"rotate a spent token": {
			steps:     []step{{"UPDATE", "grants", ""}},
			prepare:   replayable,
			run:       func(t *testing.T, f flow, name string) error { return f.rotate(t, name, name+" again") },
			unchanged: func(t *testing.T, f flow, name string) bool { return f.alive(t, name+" next") },
			code:      fault.Conflict,
		},
		"revoke": {
			steps:   []step{{"UPDATE", "grants", ""}},
			prepare: redeemed,
			run: func(t *testing.T, f flow, name string) error {
				_, err := oauth.RevokeToken(t.Context(), f.s, f.access(name), f.client)
				return err
			},
			unchanged: func(t *testing.T, f flow, name string) bool { return f.alive(t, name) },
		},
		"decide": {
			steps:   []step{{"UPDATE", "authorization_requests", ""}, {"INSERT", "consent_answers", ""}, {"INSERT", "authorization_codes", ""}},
			prepare: func(t *testing.T, f flow, name string) { f.request(t, "request "+name) },
			run: func(t *testing.T, f flow, name string) error {
				_, err := oauth.DecideRequest(t.Context(), f.s, "request "+name, f.session, &oauth.AuthorizationCode{Hash: "code " + name, MemberID: f.owner, Scopes: asked})
				return err
			},
			unchanged: func(t *testing.T, f flow, name string) bool {
				_, err := oauth.GetCode(t.Context(), f.s, "code "+name)
				return fault.Is(err, fault.NotFound)
			},
		},
	}
}

// Each statement of each transition fails in turn. The transition is rolled back, the error
// says that the database failed (and never makes a client drop its credential), and the
// same call succeeds afterwards.
func TestTransitionsAreWhole(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		f := newFlow(t, dbtest.Open(t, url, time.Now), "maria", nil)
		db, postgres := dbtest.OpenSQL(t, url), db.IsPostgres(url)
		makeBreakable(t, db, postgres, transitions())
		for method, c := range transitions() {
			for n, s := range c.steps {
				t.Run(fmt.Sprintf("%s, %s", method, s), func(t *testing.T) {
					name := fmt.Sprintf("%s %d", method, n)
					c.prepare(t, f, name)
					exec(t, db, fmt.Sprintf("INSERT INTO broken VALUES ('%s')", s))
					err := c.run(t, f, name)
					for _, code := range []fault.Code{fault.Conflict, fault.NotFound, fault.Invalid, fault.ReadOnly} {
						if err == nil || fault.Is(err, code) {
							t.Errorf("it says %v", err)
						}
					}
					if postgres && !fault.Is(err, fault.Unavailable) {
						t.Errorf("a full disk is %v", err)
					}
					if !c.unchanged(t, f, name) {
						t.Error("something is left of it")
					}
					exec(t, db, "DELETE FROM broken")
					if err := c.run(t, f, name); err != nil && !fault.Is(err, c.code) || err == nil && c.code != "" {
						t.Errorf("afterwards: %v", err)
					}
					if c.unchanged(t, f, name) {
						t.Error("afterwards it did nothing")
					}
				})
			}
		}
	})
}
