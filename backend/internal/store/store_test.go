package store_test

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/member"
	"github.com/kith-crm/kith/backend/internal/store"
	"github.com/kith-crm/kith/backend/internal/storetest"
	"github.com/kith-crm/kith/backend/internal/token"
)

func TestMigrate(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, url string) {
		applied, err := store.Migrate(t.Context(), store.Config{URL: url})
		if err != nil || applied != 0 {
			t.Errorf("a second migration applied %d steps: %v", applied, err)
		}
	})
}

func TestOpenRefusesAnEmptyDatabase(t *testing.T) {
	t.Parallel()
	_, err := store.Open(t.Context(), store.Config{URL: filepath.Join(t.TempDir(), "kith.db")})
	if !errors.Is(err, store.ErrSchemaOlder) {
		t.Errorf("got %v", err)
	}
}

func TestMembers(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		storetest.Member(t, s, "maria")
		for name, m := range map[string]member.Member{
			"username taken": {Username: "maria", Email: "other@people.example", Plan: member.PlanFree},
			"e-mail taken":   {Username: "other", Email: "maria@people.example", Plan: member.PlanFree},
		} {
			if err := s.CreateMember(t.Context(), &m); !fault.Is(err, fault.AlreadyExists) {
				t.Errorf("%s: got %v", name, err)
			}
		}
		if err := s.SetPlan(t.Context(), "maria", member.PlanPro, time.Now()); err != nil {
			t.Errorf("set plan: %v", err)
		}
		m, err := s.GetMember(t.Context(), "maria")
		if err != nil || m.Plan != member.PlanPro {
			t.Errorf("got %+v, %v", m, err)
		}
		if _, err := s.GetMember(t.Context(), "nobody"); !fault.Is(err, fault.NotFound) {
			t.Errorf("unknown member: %v", err)
		}
		if err := s.SetPlan(t.Context(), "nobody", member.PlanPro, time.Now()); !fault.Is(err, fault.NotFound) {
			t.Errorf("plan of an unknown member: %v", err)
		}
	})
}

func TestAuthenticate(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		owner := storetest.Member(t, s, "maria")
		bearer := storetest.Token(t, s, owner, "connections", "write")
		p, err := s.Authenticate(t.Context(), bearer)
		if err != nil {
			t.Fatal(err)
		}
		if p.Tenant != owner || p.Username != "maria" || p.ReadOnly || !slices.Equal(p.Credential.Scopes, []string{"connections", "write"}) {
			t.Errorf("principal: %+v", p)
		}
		if _, err := s.Authenticate(t.Context(), bearer+"x"); !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("wrong bearer: %v", err)
		}
		other := storetest.Member(t, s, "other")
		if err := s.RevokePersonalToken(t.Context(), other, p.Credential.ID, time.Now()); !fault.Is(err, fault.NotFound) {
			t.Errorf("revoked by somebody else: %v", err)
		}
		if err := s.RevokePersonalToken(t.Context(), owner, p.Credential.ID, time.Now()); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Authenticate(t.Context(), bearer); !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("revoked bearer: %v", err)
		}
	})
}

func TestAuthenticateExpired(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, url string) {
		now := time.Now()
		s := storetest.Open(t, url, func() time.Time { return now })
		owner := storetest.Member(t, s, "maria")
		row := &token.PersonalToken{MemberID: owner, Name: "short", Hash: token.Hash("bearer"), Scopes: "account", ExpiresAt: now.Add(time.Minute)}
		if err := s.CreatePersonalToken(t.Context(), row); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Authenticate(t.Context(), "bearer"); err != nil {
			t.Errorf("before it expires: %v", err)
		}
		now = now.Add(time.Minute)
		if _, err := s.Authenticate(t.Context(), "bearer"); !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("when it expires: %v", err)
		}
	})
}

func TestOutageIsNotADeadCredential(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, url string) {
		s, err := store.Open(t.Context(), store.Config{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Authenticate(t.Context(), "bearer"); err == nil || fault.Is(err, fault.Unauthenticated) {
			t.Errorf("closed store: %v", err)
		}
		_, err = s.Tenant("mem_x", false).GetConnection(t.Context(), "con_x")
		if err == nil || fault.Is(err, fault.NotFound) {
			t.Errorf("closed store: %v", err)
		}
	})
}

func TestUpdateConnectionConflict(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		owner := storetest.Member(t, s, "maria")
		c := create(t, s, owner, connection.Draft{Name: "Ana Lopez"})
		stale := int32(1)
		if _, err := update(t, s, owner, connection.Patch{ID: c.ID, ExpectedVersion: &stale, Nickname: new("Annie")}); err != nil {
			t.Fatal(err)
		}
		if _, err := update(t, s, owner, connection.Patch{ID: c.ID, ExpectedVersion: &stale, Nickname: new("Ann")}); !fault.Is(err, fault.Conflict) {
			t.Errorf("stale version: %v", err)
		}
	})
}
