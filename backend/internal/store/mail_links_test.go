package store_test

import (
	"sync"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/member"
	"github.com/kith-crm/kith/backend/internal/store"
	"github.com/kith-crm/kith/backend/internal/storetest"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// together runs do n times at once and returns what each call returned.
func together(n int, do func(n int) error) []error {
	errs := make([]error, n)
	gate := make(chan struct{})
	var calls sync.WaitGroup
	for i := range n {
		calls.Go(func() {
			<-gate
			errs[i] = do(i)
		})
	}
	close(gate)
	calls.Wait()
	return errs
}

// oneWins fails unless exactly one call succeeded and the others failed with the
// code.
func oneWins(t *testing.T, errs []error, code fault.Code) {
	t.Helper()
	wins := 0
	for _, err := range errs {
		switch {
		case err == nil:
			wins++
		case !fault.Is(err, code):
			t.Errorf("got %v", err)
		}
	}
	if wins != 1 {
		t.Errorf("%d of %d succeeded", wins, len(errs))
	}
}

func mailLink(t *testing.T, s *store.Store, owner tenant.ID, username, hash string, purpose member.LinkPurpose) {
	t.Helper()
	l := &member.MailLink{Hash: hash, MemberID: owner, Purpose: purpose, Email: username + "@people.example"}
	if err := s.CreateMailLink(t.Context(), l); err != nil {
		t.Fatal(err)
	}
}

func TestResetPasswordOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		maria := storetest.Member(t, s, "maria")
		login(t, s, maria, "session")
		mailLink(t, s, maria, "maria", "one", member.PurposeReset)
		mailLink(t, s, maria, "maria", "two", member.PurposeReset)
		if l, err := s.GetMailLink(t.Context(), "one", member.PurposeReset); err != nil || l.Username != "maria" || l.MemberID != maria {
			t.Errorf("got %+v, %v", l, err)
		}
		oneWins(t, together(20, func(int) error { return s.ResetPassword(t.Context(), "one", "new") }), fault.NotFound)
		m, err := s.GetMemberByID(t.Context(), maria)
		if err != nil || m.PasswordHash != "new" || m.EmailVerifiedAt.IsZero() {
			t.Errorf("got %+v, %v", m, err)
		}
		if _, err := s.GetLoginSession(t.Context(), "session"); !fault.Is(err, fault.NotFound) {
			t.Errorf("the session goes on: %v", err)
		}
		if err := s.ResetPassword(t.Context(), "two", "newer"); !fault.Is(err, fault.NotFound) {
			t.Errorf("an older link still works: %v", err)
		}
	})
}

func TestVerifyEmailOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		maria := storetest.Member(t, s, "maria")
		login(t, s, maria, "session")
		mailLink(t, s, maria, "maria", "one", member.PurposeVerify)
		oneWins(t, together(20, func(int) error { return s.VerifyEmail(t.Context(), "one") }), fault.NotFound)
		m, err := s.GetMemberByID(t.Context(), maria)
		if err != nil || m.EmailVerifiedAt.IsZero() {
			t.Errorf("got %+v, %v", m, err)
		}
		if _, err := s.GetLoginSession(t.Context(), "session"); err != nil {
			t.Errorf("the session ended: %v", err)
		}
	})
}

func TestDeadMailLinks(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, url string) {
		now := time.Now()
		s := storetest.Open(t, url, func() time.Time { return now })
		for _, who := range []string{"expired", "moved", "suspended", "demo-one", "other-purpose"} {
			mailLink(t, s, storetest.Member(t, s, who), who, who, member.PurposeReset)
		}
		db := storetest.OpenSQL(t, url)
		exec(t, db, "UPDATE members SET email = 'new@people.example' WHERE username = 'moved'")
		exec(t, db, "UPDATE members SET suspended_at = created_at WHERE username = 'suspended'")
		exec(t, db, "UPDATE tenant_states SET read_only = TRUE WHERE tenant_id = (SELECT id FROM members WHERE username = 'demo-one')")
		dead := func(hash string, purpose member.LinkPurpose) {
			t.Helper()
			if _, err := s.GetMailLink(t.Context(), hash, purpose); !fault.Is(err, fault.NotFound) {
				t.Errorf("%s is shown: %v", hash, err)
			}
			err := s.ResetPassword(t.Context(), hash, "new")
			if purpose == member.PurposeVerify {
				err = s.VerifyEmail(t.Context(), hash)
			}
			if !fault.Is(err, fault.NotFound) {
				t.Errorf("%s works: %v", hash, err)
			}
		}
		dead("unknown", member.PurposeReset)
		dead("moved", member.PurposeReset)
		dead("suspended", member.PurposeReset)
		dead("demo-one", member.PurposeReset)
		dead("other-purpose", member.PurposeVerify)
		now = now.Add(member.LinkLifetime - time.Second)
		if _, err := s.GetMailLink(t.Context(), "expired", member.PurposeReset); err != nil {
			t.Errorf("a second before its end: %v", err)
		}
		now = now.Add(time.Second)
		dead("expired", member.PurposeReset)
	})
}

func signUp(t *testing.T, s *store.Store, hash, username string) {
	t.Helper()
	row := &member.SignUp{Hash: hash, Username: username, Email: "new@people.example", ReturnTo: "/settings/mcp"}
	if err := s.CreateSignUp(t.Context(), row); err != nil {
		t.Fatal(err)
	}
}

func TestCompleteSignUpOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		signUp(t, s, "one", "newby")
		signUp(t, s, "two", "newby-two")
		if row, err := s.GetSignUp(t.Context(), "one"); err != nil || row.Username != "newby" || row.ReturnTo != "/settings/mcp" {
			t.Errorf("got %+v, %v", row, err)
		}
		oneWins(t, together(20, func(int) error {
			_, err := s.CompleteSignUp(t.Context(), "one", "newby", "hash")
			return err
		}), fault.NotFound)
		m, err := s.FindMember(t.Context(), "newby")
		if err != nil || m.Email != "new@people.example" || m.PasswordHash != "hash" || m.EmailVerifiedAt.IsZero() || m.Plan != member.PlanFree {
			t.Errorf("got %+v, %v", m, err)
		}
		if p, err := s.GetProfile(t.Context(), m.ID); err != nil || p.Visibility != "private" || p.Listed {
			t.Errorf("page: %+v, %v", p, err)
		}
		if _, err := s.CompleteSignUp(t.Context(), "two", "newby-two", "hash"); !fault.Is(err, fault.NotFound) {
			t.Errorf("another sign-up of the address: %v", err)
		}
	})
}

func TestCompleteSignUpConflicts(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, url string) {
		now := time.Now()
		s := storetest.Open(t, url, func() time.Time { return now })
		storetest.Member(t, s, "taken")
		signUp(t, s, "one", "taken")
		if _, err := s.CompleteSignUp(t.Context(), "one", "taken", "hash"); !fault.Is(err, fault.AlreadyExists) {
			t.Errorf("a taken username: %v", err)
		}
		if _, err := s.GetSignUp(t.Context(), "one"); err != nil {
			t.Errorf("the link is used up: %v", err)
		}
		meanwhile := &member.Member{Username: "meanwhile", Email: "new@people.example", Plan: member.PlanFree}
		if err := s.CreateMember(t.Context(), meanwhile); err != nil {
			t.Fatal(err)
		}
		if _, err := s.CompleteSignUp(t.Context(), "one", "free-name", "hash"); !fault.Is(err, fault.Conflict) {
			t.Errorf("a taken address: %v", err)
		}
		now = now.Add(member.LinkLifetime)
		if _, err := s.GetSignUp(t.Context(), "one"); !fault.Is(err, fault.NotFound) {
			t.Errorf("after its end: %v", err)
		}
		if _, err := s.CompleteSignUp(t.Context(), "one", "free-name", "hash"); !fault.Is(err, fault.NotFound) {
			t.Errorf("after its end: %v", err)
		}
	})
}
