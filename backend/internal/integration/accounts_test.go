package integration_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// readOnly makes a member one of the sandbox's.
func readOnly(t *testing.T, url string, owner tenant.ID) {
	t.Helper()
	exec(t, dbtest.OpenSQL(t, url), "UPDATE tenant_states SET read_only = TRUE WHERE tenant_id = '"+string(owner)+"'")
}

func suspend(t *testing.T, url string, owner tenant.ID) {
	t.Helper()
	exec(t, dbtest.OpenSQL(t, url), "UPDATE members SET suspended_at = created_at WHERE id = '"+string(owner)+"'")
}

func login(t *testing.T, s *db.DB, owner tenant.ID, hash string) {
	t.Helper()
	row := &account.LoginSession{Hash: hash, MemberID: owner, AccessEpoch: dbtest.Epoch(t, s, owner), ExpiresAt: s.Now().Add(time.Hour)}
	if err := account.CreateLoginSession(t.Context(), s, row); err != nil {
		t.Fatal(err)
	}
}

func TestFindMember(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		maria := dbtest.Member(t, s, "maria")
		dbtest.Member(t, s, "other")
		for _, name := range []string{"maria", "Maria", "maria@people.example", "MARIA@People.Example"} {
			if m, err := account.FindMember(t.Context(), s, name); err != nil || m.ID != maria || m.Email != "maria@people.example" || m.ReadOnly {
				t.Errorf("%q: got %+v, %v", name, m, err)
			}
		}
		for _, name := range []string{"", "mari", "maria@", "@people.example", "maria@people.example ", "%", "mar_a", "' OR ''='"} {
			if m, err := account.FindMember(t.Context(), s, name); !fault.Is(err, fault.NotFound) || m != nil {
				t.Errorf("%q: got %+v, %v", name, m, err)
			}
		}
		if m, err := account.GetMemberByID(t.Context(), s, maria); err != nil || m.Username != "maria" {
			t.Errorf("by id: %+v, %v", m, err)
		}
		if _, err := account.GetMemberByID(t.Context(), s, "mem_x"); !fault.Is(err, fault.NotFound) {
			t.Errorf("unknown id: %v", err)
		}
	})
}

func TestSetPassword(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		s := dbtest.Open(t, url, time.Now)
		maria, other, demo := dbtest.Member(t, s, "maria"), dbtest.Member(t, s, "other"), dbtest.Member(t, s, "demo-one")
		readOnly(t, url, demo)
		login(t, s, maria, "m1")
		login(t, s, maria, "m2")
		login(t, s, other, "o1")
		for _, purpose := range []account.LinkPurpose{account.PurposeReset, account.PurposeVerify} {
			mailLink(t, s, maria, "maria", "link-"+string(purpose), purpose)
		}
		if _, err := account.SetPassword(t.Context(), s, account.Access{Owner: maria}, "new"); err != nil {
			t.Fatal(err)
		}
		if m, err := account.GetMemberByID(t.Context(), s, maria); err != nil || m.PasswordHash != "new" {
			t.Errorf("got %+v, %v", m, err)
		}
		for hash, alive := range map[string]bool{"m1": false, "m2": false, "o1": true} {
			if _, err := account.GetLoginSession(t.Context(), s, hash); (err == nil) != alive {
				t.Errorf("session %s: %v", hash, err)
			}
		}
		if _, err := account.GetMailLink(t.Context(), s, "link-reset", account.PurposeReset); !fault.Is(err, fault.NotFound) {
			t.Errorf("the reset link still works: %v", err)
		}
		if _, err := account.GetMailLink(t.Context(), s, "link-verify", account.PurposeVerify); err != nil {
			t.Errorf("the verification link is gone: %v", err)
		}
		for _, nobody := range []tenant.ID{demo, "mem_x"} {
			if _, err := account.SetPassword(t.Context(), s, account.Access{Owner: nobody}, "new"); !fault.Is(err, fault.NotFound) {
				t.Errorf("%s: %v", nobody, err)
			}
		}
	})
}

func TestRevokeEverything(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		s := dbtest.Open(t, url, time.Now)
		maria, other := newFlow(t, s, "maria", nil), newFlow(t, s, "other", nil)
		bearers := map[string]bool{}
		for i, f := range []flow{maria, other} {
			f.redeem(t, f.code(t, "used "+f.name), "0")
			bearers[dbtest.Token(t, s, f.owner, asked)] = i == 1
			f.code(t, "open "+f.name)
			f.request(t, "waits "+f.name)
		}
		if err := account.RevokeEverything(t.Context(), s, maria.owner); err != nil {
			t.Fatal(err)
		}
		for bearer, alive := range bearers {
			if _, err := oauth.Authenticate(t.Context(), s, bearer); (err == nil) != alive {
				t.Errorf("a personal token that should be alive=%v: %v", alive, err)
			}
		}
		for f, alive := range map[*flow]bool{&maria: false, &other: true} {
			if f.alive(t, "0") != alive {
				t.Errorf("%s: the access token is not alive=%v", f.name, alive)
			}
			if _, err := oauth.RedeemCode(t.Context(), s, "open "+f.name, f.pair("1")); (err == nil) != alive {
				t.Errorf("%s: open code: %v", f.name, err)
			}
			if _, err := oauth.DecideRequest(t.Context(), s, "waits "+f.name, f.session, nil); (err == nil) != alive {
				t.Errorf("%s: request: %v", f.name, err)
			}
			if _, err := account.GetLoginSession(t.Context(), s, f.session); (err == nil) != alive {
				t.Errorf("%s: login session: %v", f.name, err)
			}
		}
		demo := dbtest.Member(t, s, "demo-one")
		readOnly(t, url, demo)
		for _, nobody := range []tenant.ID{demo, "mem_x"} {
			if err := account.RevokeEverything(t.Context(), s, nobody); !fault.Is(err, fault.NotFound) {
				t.Errorf("%s: %v", nobody, err)
			}
		}
	})
}

func TestMarkEmailVerified(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		maria := dbtest.Member(t, s, "maria")
		if err := account.MarkEmailVerified(t.Context(), s, maria, "another@people.example"); !fault.Is(err, fault.NotFound) {
			t.Errorf("another address: %v", err)
		}
		if err := account.MarkEmailVerified(t.Context(), s, maria, "maria@people.example"); err != nil {
			t.Fatal(err)
		}
		m, err := account.GetMemberByID(t.Context(), s, maria)
		if err != nil || m.EmailVerifiedAt.IsZero() {
			t.Errorf("got %+v, %v", m, err)
		}
	})
}

func TestSessionsEndWithTheirMember(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		s := dbtest.Open(t, url, time.Now)
		suspended, demo := dbtest.Member(t, s, "suspended"), dbtest.Member(t, s, "demo-one")
		login(t, s, suspended, "s")
		login(t, s, demo, "d")
		suspend(t, url, suspended)
		readOnly(t, url, demo)
		for _, hash := range []string{"s", "d"} {
			if _, err := account.GetLoginSession(t.Context(), s, hash); !fault.Is(err, fault.NotFound) {
				t.Errorf("session %s: %v", hash, err)
			}
		}
	})
}

func TestProfileRoundTrip(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		s := dbtest.Open(t, url, time.Now)
		maria := dbtest.Member(t, s, "maria")
		p, err := account.GetProfile(t.Context(), s, maria)
		if err != nil || p.Username != "maria" || p.Visibility != account.Private {
			t.Fatalf("got %+v, %v", p, err)
		}
		p.Name, p.Headline, p.Bio, p.LocationText, p.Country = "María Łopez", "Öko", "Two\nlines", "Bilbao", "ES"
		p.Organization, p.Title, p.AvatarURL = "Helios", "Founder", "https://m.example/a.png"
		p.Skills, p.Languages, p.OpenTo = []string{"Go"}, []string{"Basque"}, []string{"advice"}
		p.Links, p.Listed, p.Visibility = []account.Link{{Label: "Site", URL: "https://m.example"}}, true, account.Public
		p.FieldVisibility = map[string]account.Visibility{account.FieldTitle: account.Public, account.FieldHeadline: account.Members}
		if err := account.UpdateProfile(t.Context(), s, p); err != nil {
			t.Fatal(err)
		}
		got, err := account.GetProfile(t.Context(), s, maria)
		if diff := cmp.Diff(p, got, cmp.Comparer(time.Time.Equal)); diff != "" || err != nil {
			t.Errorf("(-want +got) %v:\n%s", err, diff)
		}
		listed, err := account.ListPublicProfiles(t.Context(), s, []string{"lopez", "founder"}, account.Position{}, 10)
		if err != nil || len(listed) != 1 {
			t.Errorf("in the directory: %v, %v", listed, err)
		}
		if hidden, err := account.ListPublicProfiles(t.Context(), s, []string{"oko"}, account.Position{}, 10); err != nil || len(hidden) != 0 {
			t.Errorf("a word that only members see is found by everyone: %v, %v", hidden, err)
		}
		readOnly(t, url, maria)
		if err := account.UpdateProfile(t.Context(), s, p); !fault.Is(err, fault.NotFound) {
			t.Errorf("a read-only page: %v", err)
		}
		if _, err := account.GetProfile(t.Context(), s, "mem_x"); !fault.Is(err, fault.NotFound) {
			t.Errorf("nobody's page: %v", err)
		}
	})
}

// A read-only member is refused when a month is opened; charges need an open month.
func TestReadOnlyMemberOpensNoMonth(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		s := dbtest.Open(t, url, time.Now)
		owner := dbtest.Member(t, s, "demo-one")
		readOnly(t, url, owner)
		if _, err := dbtest.Ledger(t, s).OpenMonth(t.Context(), owner); err == nil {
			t.Error("a month was opened")
		}
		q := dbtest.OpenSQL(t, url)
		for name, statement := range map[string]string{
			"balance": "INSERT INTO credit_balances VALUES ('" + string(owner) + "', '2026-11', 10, 10)",
			"entry": "INSERT INTO credit_entries (tenant_id, id, period, delta, balance_after, reason, tool, calls, created_at) VALUES ('" +
				string(owner) + "', 'crd_x', '2026-11', -1, 9, 'calls', 'x', 1, '2026-11-22 12:00:00')",
		} {
			if _, err := q.Exec("PRAGMA foreign_keys = on"); err != nil && !db.IsPostgres(url) {
				t.Fatal(err)
			}
			if _, err := q.Exec(statement); err == nil {
				t.Errorf("the %s was kept", name)
			}
		}
	})
}
