package integration_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/people"
)

func TestMigrate(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		done, err := db.Migrate(t.Context(), db.Config{URL: url, BackUpBefore: true})
		if err != nil || done != (db.Migrated{}) {
			t.Errorf("a second migration did %+v: %v", done, err)
		}
	})
}

func TestOpenRefusesAnEmptyDatabase(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "kith.db")
	if _, err := db.Open(t.Context(), db.Config{URL: path}); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("without a file: %v", err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Open(t.Context(), db.Config{URL: path}); !errors.Is(err, db.ErrSchemaOlder) {
		t.Errorf("an empty file: %v", err)
	}
}

func TestMembers(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		dbtest.Member(t, s, "maria")
		for name, m := range map[string]account.Member{
			"username taken": {Username: "maria", Email: "other@people.example", Plan: account.PlanFree},
			"e-mail taken":   {Username: "other", Email: "maria@people.example", Plan: account.PlanFree},
		} {
			if err := account.CreateMember(t.Context(), s, &m); !fault.Is(err, fault.AlreadyExists) {
				t.Errorf("%s: got %v", name, err)
			}
		}
		if err := dbtest.Ledger(t, s).SetPlan(t.Context(), "maria", account.PlanPro, time.Now()); err != nil {
			t.Errorf("set plan: %v", err)
		}
		m, err := account.GetMember(t.Context(), s, "maria")
		if err != nil || m.Plan != account.PlanPro {
			t.Errorf("got %+v, %v", m, err)
		}
		if _, err := account.GetMember(t.Context(), s, "nobody"); !fault.Is(err, fault.NotFound) {
			t.Errorf("unknown member: %v", err)
		}
		if err := dbtest.Ledger(t, s).SetPlan(t.Context(), "nobody", account.PlanPro, time.Now()); !fault.Is(err, fault.NotFound) {
			t.Errorf("plan of an unknown member: %v", err)
		}
	})
}

func TestAuthenticate(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "maria")
		bearer := dbtest.Token(t, s, owner, "connections", "write")
		p, err := oauth.Authenticate(t.Context(), s, bearer)
		if err != nil {
			t.Fatal(err)
		}
		if p.Tenant != owner || p.Username != "maria" || p.ReadOnly || !slices.Equal(p.Credential.Scopes, []string{"connections", "write"}) {
			t.Errorf("principal: %+v", p)
		}
		if _, err := oauth.Authenticate(t.Context(), s, bearer+"x"); !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("wrong bearer: %v", err)
		}
		other := dbtest.Member(t, s, "other")
		if err := account.RevokePersonalToken(t.Context(), s, other, p.Credential.ID, time.Now()); !fault.Is(err, fault.NotFound) {
			t.Errorf("revoked by another member: %v", err)
		}
		if err := account.RevokePersonalToken(t.Context(), s, owner, p.Credential.ID, time.Now()); err != nil {
			t.Fatal(err)
		}
		if _, err := oauth.Authenticate(t.Context(), s, bearer); !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("revoked bearer: %v", err)
		}
	})
}

func TestAuthenticateExpired(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		now := time.Now()
		s := dbtest.Open(t, url, func() time.Time { return now })
		owner := dbtest.Member(t, s, "maria")
		row := &account.PersonalToken{MemberID: owner, Name: "short", Hash: account.HashSecret("bearer"), Scopes: "account", ExpiresAt: now.Add(time.Minute)}
		if err := account.CreatePersonalToken(t.Context(), s, row); err != nil {
			t.Fatal(err)
		}
		if _, err := oauth.Authenticate(t.Context(), s, "bearer"); err != nil {
			t.Errorf("before it expires: %v", err)
		}
		now = now.Add(time.Minute)
		if _, err := oauth.Authenticate(t.Context(), s, "bearer"); !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("when it expires: %v", err)
		}
	})
}

func TestOutageIsNotADeadCredential(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		s, err := db.Open(t.Context(), db.Config{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := oauth.Authenticate(t.Context(), s, "bearer"); err == nil || fault.Is(err, fault.Unauthenticated) {
			t.Errorf("closed store: %v", err)
		}
		_, err = people.GetConnection(t.Context(), s.Tenant("mem_x", false), "con_x")
		if err == nil || fault.Is(err, fault.NotFound) {
			t.Errorf("closed store: %v", err)
		}
	})
}

func TestUpdateConnectionConflict(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "maria")
		c := create(t, s, owner, people.Draft{Name: "Ana Lopez"})
		stale := int32(1)
		if _, err := update(t, s, owner, people.Patch{ID: c.ID, ExpectedVersion: &stale, Nickname: new("Annie")}); err != nil {
			t.Fatal(err)
		}
		if _, err := update(t, s, owner, people.Patch{ID: c.ID, ExpectedVersion: &stale, Nickname: new("Ann")}); !fault.Is(err, fault.Conflict) {
			t.Errorf("stale version: %v", err)
		}
	})
}
