package integration_test

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// together runs do n times at once and returns what each call returned.
func together(n int, do func(n int) error) []error {
	errs := make([]error, n)
	start := make(chan struct{})
	var calls sync.WaitGroup
	for i := range n {
		calls.Go(func() {
			<-start
			errs[i] = do(i)
		})
	}
	close(start)
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

func mailLink(t *testing.T, s *db.DB, owner tenant.ID, username, hash string, purpose account.LinkPurpose) {
	t.Helper()
	l := &account.MailLink{Hash: hash, MemberID: owner, Purpose: purpose, Email: username + "@people.example"}
	if err := account.CreateMailLink(t.Context(), s, l); err != nil {
		t.Fatal(err)
	}
}

func TestResetPasswordOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		maria := dbtest.Member(t, s, "maria")
		login(t, s, maria, "session")
		mailLink(t, s, maria, "maria", "one", account.PurposeReset)
		mailLink(t, s, maria, "maria", "two", account.PurposeReset)
		if l, err := account.GetMailLink(t.Context(), s, "one", account.PurposeReset); err != nil || l.Username != "maria" || l.MemberID != maria {
			t.Errorf("got %+v, %v", l, err)
		}
		oneWins(t, together(20, func(int) error { return account.ResetPassword(t.Context(), s, "one", "new") }), fault.NotFound)
		m, err := account.GetMemberByID(t.Context(), s, maria)
		if err != nil || m.PasswordHash != "new" || m.EmailVerifiedAt.IsZero() {
			t.Errorf("got %+v, %v", m, err)
		}
		if _, err := account.GetLoginSession(t.Context(), s, "session"); !fault.Is(err, fault.NotFound) {
			t.Errorf("the session goes on: %v", err)
		}
		if err := account.ResetPassword(t.Context(), s, "two", "newer"); !fault.Is(err, fault.NotFound) {
			t.Errorf("an older link still works: %v", err)
		}
	})
}

func TestVerifyEmailOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		maria := dbtest.Member(t, s, "maria")
		login(t, s, maria, "session")
		mailLink(t, s, maria, "maria", "one", account.PurposeVerify)
		oneWins(t, together(20, func(int) error { return account.VerifyEmail(t.Context(), s, "one") }), fault.NotFound)
		m, err := account.GetMemberByID(t.Context(), s, maria)
		if err != nil || m.EmailVerifiedAt.IsZero() {
			t.Errorf("got %+v, %v", m, err)
		}
		if _, err := account.GetLoginSession(t.Context(), s, "session"); err != nil {
			t.Errorf("the session ended: %v", err)
		}
	})
}

func changeLink(t *testing.T, s *db.DB, owner tenant.ID, email, hash, newEmail string) {
	t.Helper()
	l := &account.MailLink{Hash: hash, MemberID: owner, Purpose: account.PurposeChange, Email: email, NewEmail: newEmail}
	if err := account.CreateMailLink(t.Context(), s, l); err != nil {
		t.Fatal(err)
	}
}

func TestChangeEmailOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		maria, other := dbtest.Member(t, s, "maria"), dbtest.Member(t, s, "other")
		login(t, s, maria, "session")
		login(t, s, other, "other's session")
		changeLink(t, s, maria, "maria@people.example", "one", "new@people.example")
		changeLink(t, s, maria, "maria@people.example", "two", "newer@people.example")
		mailLink(t, s, maria, "maria", "reset", account.PurposeReset)
		changeLink(t, s, other, "other@people.example", "other's", "new@people.example")
		if err := account.ChangeEmail(t.Context(), s, account.Access{Owner: other}, "", "one"); !fault.Is(err, fault.NotFound) {
			t.Errorf("another member used the link: %v", err)
		}
		oneWins(t, together(20, func(n int) error {
			return account.ChangeEmail(t.Context(), s, account.Access{Owner: maria}, "", []string{"one", "two"}[n%2])
		}), fault.NotFound)
		m, err := account.GetMemberByID(t.Context(), s, maria)
		if err != nil || m.Email != "new@people.example" && m.Email != "newer@people.example" || m.EmailVerifiedAt.IsZero() {
			t.Errorf("got %+v, %v", m, err)
		}
		if _, err := account.GetLoginSession(t.Context(), s, "session"); !fault.Is(err, fault.NotFound) {
			t.Errorf("the session goes on: %v", err)
		}
		if err := account.ResetPassword(t.Context(), s, "reset", "new"); !fault.Is(err, fault.NotFound) {
			t.Errorf("a link to the old address still works: %v", err)
		}
		if _, err := account.GetLoginSession(t.Context(), s, "other's session"); err != nil {
			t.Errorf("another member's session ended: %v", err)
		}
	})
}

// Of two members who change to the same address at once, one gets it.
func TestChangeEmailToOneAddress(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owners := []tenant.ID{dbtest.Member(t, s, "maria"), dbtest.Member(t, s, "other")}
		changeLink(t, s, owners[0], "maria@people.example", "0", "new@people.example")
		changeLink(t, s, owners[1], "other@people.example", "1", "new@people.example")
		login(t, s, owners[0], "0")
		login(t, s, owners[1], "1")
		errs := together(2, func(n int) error {
			return account.ChangeEmail(t.Context(), s, account.Access{Owner: owners[n]}, "", strconv.Itoa(n))
		})
		oneWins(t, errs, fault.Conflict)
		for n, err := range errs {
			m, findErr := account.GetMemberByID(t.Context(), s, owners[n])
			if findErr != nil || (m.Email == "new@people.example") != (err == nil) {
				t.Errorf("%v, and then %+v, %v", err, m, findErr)
			}
			if _, gone := account.GetLoginSession(t.Context(), s, strconv.Itoa(n)); (gone == nil) != (err != nil) {
				t.Errorf("%v, and then the session: %v", err, gone)
			}
		}
	})
}

func TestDeadMailLinks(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		now := time.Now()
		s := dbtest.Open(t, url, func() time.Time { return now })
		owners := map[string]tenant.ID{}
		for _, who := range []string{"expired", "moved", "suspended", "demo-one", "other-purpose"} {
			owners[who] = dbtest.Member(t, s, who)
			mailLink(t, s, owners[who], who, who, account.PurposeReset)
			changeLink(t, s, owners[who], who+"@people.example", "change-"+who, "changed-"+who+"@people.example")
		}
		db := dbtest.OpenSQL(t, url)
		exec(t, db, "UPDATE members SET email = 'new@people.example' WHERE username = 'moved'")
		exec(t, db, "UPDATE members SET suspended_at = created_at WHERE username = 'suspended'")
		exec(t, db, "UPDATE tenant_states SET read_only = TRUE WHERE tenant_id = (SELECT id FROM members WHERE username = 'demo-one')")
		dead := func(hash string, purpose account.LinkPurpose) {
			t.Helper()
			if _, err := account.GetMailLink(t.Context(), s, hash, purpose); !fault.Is(err, fault.NotFound) {
				t.Errorf("%s is shown: %v", hash, err)
			}
			err := account.ResetPassword(t.Context(), s, hash, "new")
			if purpose == account.PurposeVerify {
				err = account.VerifyEmail(t.Context(), s, hash)
			}
			if !fault.Is(err, fault.NotFound) {
				t.Errorf("%s works: %v", hash, err)
			}
		}
		deadChanges := func(of ...string) {
			t.Helper()
			for _, who := range of {
				if err := account.ChangeEmail(t.Context(), s, account.Access{Owner: owners[who]}, "", "change-"+who); !fault.Is(err, fault.NotFound) {
					t.Errorf("the address of %s changes: %v", who, err)
				}
			}
		}
		deadChanges("moved", "suspended", "demo-one")
		if err := account.ChangeEmail(t.Context(), s, account.Access{Owner: owners["expired"]}, "", "expired"); !fault.Is(err, fault.NotFound) {
			t.Errorf("a link for another purpose changes the address: %v", err)
		}
		dead("unknown", account.PurposeReset)
		dead("moved", account.PurposeReset)
		dead("suspended", account.PurposeReset)
		dead("demo-one", account.PurposeReset)
		dead("other-purpose", account.PurposeVerify)
		now = now.Add(account.LinkLifetime - time.Second)
		if _, err := account.GetMailLink(t.Context(), s, "expired", account.PurposeReset); err != nil {
			t.Errorf("a second before its end: %v", err)
		}
		now = now.Add(time.Second)
		dead("expired", account.PurposeReset)
		deadChanges("expired")
	})
}

func signUp(t *testing.T, s *db.DB, hash, username string) {
	t.Helper()
	row := &account.SignUp{Hash: hash, Username: username, Email: "new@people.example", ReturnTo: "/settings/mcp"}
	if err := account.CreateSignUp(t.Context(), s, row); err != nil {
		t.Fatal(err)
	}
}

func TestCompleteSignUpOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		signUp(t, s, "one", "newby")
		signUp(t, s, "two", "newby-two")
		if row, err := account.GetSignUp(t.Context(), s, "one"); err != nil || row.Username != "newby" || row.ReturnTo != "/settings/mcp" {
			t.Errorf("got %+v, %v", row, err)
		}
		oneWins(t, together(20, func(int) error {
			_, err := account.CompleteSignUp(t.Context(), s, "one", "newby", "hash")
			return err
		}), fault.NotFound)
		m, err := account.FindMember(t.Context(), s, "newby")
		if err != nil || m.Email != "new@people.example" || m.PasswordHash != "hash" || m.EmailVerifiedAt.IsZero() || m.Plan != account.PlanFree {
			t.Errorf("got %+v, %v", m, err)
		}
		if p, err := account.GetProfile(t.Context(), s, m.ID); err != nil || p.Visibility != "private" || p.Listed {
			t.Errorf("page: %+v, %v", p, err)
		}
		if _, err := account.CompleteSignUp(t.Context(), s, "two", "newby-two", "hash"); !fault.Is(err, fault.NotFound) {
			t.Errorf("another sign-up of the address: %v", err)
		}
	})
}

func TestCompleteSignUpConflicts(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		now := time.Now()
		s := dbtest.Open(t, url, func() time.Time { return now })
		dbtest.Member(t, s, "taken")
		signUp(t, s, "one", "taken")
		if _, err := account.CompleteSignUp(t.Context(), s, "one", "taken", "hash"); !fault.Is(err, fault.AlreadyExists) {
			t.Errorf("a taken username: %v", err)
		}
		if _, err := account.GetSignUp(t.Context(), s, "one"); err != nil {
			t.Errorf("the link is used up: %v", err)
		}
		meanwhile := &account.Member{Username: "meanwhile", Email: "new@people.example", Plan: account.PlanFree}
		if err := account.CreateMember(t.Context(), s, meanwhile); err != nil {
			t.Fatal(err)
		}
		if _, err := account.CompleteSignUp(t.Context(), s, "one", "free-name", "hash"); !fault.Is(err, fault.Conflict) {
			t.Errorf("a taken address: %v", err)
		}
		now = now.Add(account.LinkLifetime)
		if _, err := account.GetSignUp(t.Context(), s, "one"); !fault.Is(err, fault.NotFound) {
			t.Errorf("after its end: %v", err)
		}
		if _, err := account.CompleteSignUp(t.Context(), s, "one", "free-name", "hash"); !fault.Is(err, fault.NotFound) {
			t.Errorf("after its end: %v", err)
		}
	})
}
