package integration_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/oauth/signin"
	"github.com/kith-crm/kith/backend/internal/retention"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/uptrace/bun/dialect"
)

// thiefStores returns each way in which a thief who was let in stores a credential, or replaces one. n
// makes it unique. Each uses the access, which was checked before.
func thiefStores(ctx context.Context, f flow) map[string]func(a account.Access, n string) error {
	s := f.s
	return map[string]func(a account.Access, n string) error{
		"session": func(a account.Access, n string) error {
			return account.CreateLoginSession(ctx, s, &account.LoginSession{Hash: "thief " + n, MemberID: a.Owner, AccessEpoch: a.Epoch, ExpiresAt: s.Now().Add(time.Hour)})
		},
		"half a sign-in": func(a account.Access, n string) error {
			return account.CreateSignInStep(ctx, s, &account.SignInStep{Hash: "thief " + n, MemberID: a.Owner, AccessEpoch: a.Epoch})
		},
		"token": func(a account.Access, n string) error {
			return account.CreatePersonalToken(ctx, s, &account.PersonalToken{MemberID: a.Owner, Name: "thief", Hash: "thief " + n, Scopes: "connections", Access: a})
		},
		"one-time codes": func(a account.Access, _ string) error {
			_, err := account.CreateTOTPSecret(ctx, s, &account.TOTPSecret{MemberID: a.Owner, Secret: "thief", Access: a}, account.NewRecoveryCodes(), "")
			return err
		},
		"passkey": func(a account.Access, n string) error {
			if err := account.CreatePasskeyChallenge(ctx, s, "thief "+n); err != nil {
				return err
			}
			row := &account.Passkey{MemberID: a.Owner, CredentialID: "thief " + n, PublicKey: []byte("x"), Name: "thief", Access: a}
			_, err := account.CreatePasskey(ctx, s, row, "thief "+n, account.NewRecoveryCodes(), "")
			return err
		},
		"identity": func(a account.Access, n string) error {
			waiting := &signin.Attempt{Hash: "thief " + n, BrowserHash: "b", Issuer: "https://thief.example", Subject: "thief " + n, Email: "x@people.example"}
			if err := signin.CreateProviderAttempt(ctx, s, waiting); err != nil {
				return err
			}
			return signin.LinkIdentity(ctx, s, "thief "+n, "b", a)
		},
		"password": func(a account.Access, _ string) error {
			_, err := account.SetPassword(ctx, s, a, "thief")
			return err
		},
	}
}

// thiefHolds returns what a thief has of a member: credentials that work now, and the password.
func thiefHolds(t *testing.T, s *db.DB, owner tenant.ID) map[string]int {
	t.Helper()
	held := map[string]int{}
	for name, query := range map[string]string{
		"sessions":   "SELECT count(*) FROM login_sessions WHERE member_id = ? AND hash LIKE 'thief%'",
		"steps":      "SELECT count(*) FROM sign_in_steps WHERE member_id = ? AND hash LIKE 'thief%'",
		"tokens":     "SELECT count(*) FROM personal_tokens WHERE member_id = ? AND hash LIKE 'thief%' AND revoked_at IS NULL",
		"apps":       "SELECT count(*) FROM totp_secrets WHERE member_id = ? AND secret = 'thief'",
		"passkeys":   "SELECT count(*) FROM passkeys WHERE member_id = ? AND credential_id LIKE 'thief%'",
		"identities": "SELECT count(*) FROM linked_identities WHERE member_id = ? AND subject LIKE 'thief%'",
		"codes":      "SELECT count(*) FROM authorization_codes WHERE member_id = ? AND used_at IS NULL",
		"grants":     "SELECT count(*) FROM grants WHERE member_id = ? AND revoked_at IS NULL",
		"passwords":  "SELECT count(*) FROM members WHERE id = ? AND password_hash = 'thief'",
		"addresses":  "SELECT count(*) FROM members WHERE id = ? AND email LIKE 'thief%'",
	} {
		var n int
		if err := s.NewRaw(query, owner).Scan(t.Context(), &n); err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			held[name] = n
		}
	}
	return held
}

// ownerRevokes returns each act of an owner after which access that was checked before is worth nothing.
func ownerRevokes(t *testing.T, f flow) map[string]func() error {
	t.Helper()
	link := notMeLink(t, f, f.name+"@people.example")
	present := func() account.Access {
		m, err := account.GetMemberByID(t.Context(), f.s, f.owner)
		if err != nil {
			t.Error(err)
			return account.Access{}
		}
		return m.Access()
	}
	return map[string]func() error{
		"not me": func() error {
			_, err := account.UseNotMeLink(t.Context(), f.s, link)
			return err
		},
		"new password": func() error {
			_, err := account.SetPassword(t.Context(), f.s, present(), "new")
			return err
		},
		"suspension": func() error {
			_, err := account.SuspendMember(t.Context(), f.s, f.name)
			return err
		},
		"second factor": func() error {
			row := &account.TOTPSecret{MemberID: f.owner, Secret: "owner", Access: present()}
			_, err := account.CreateTOTPSecret(t.Context(), f.s, row, account.NewRecoveryCodes(), f.session)
			return err
		},
		"everything": func() error { return account.RevokeEverything(t.Context(), f.s, f.owner) },
		"sessions":   func() error { return account.DeleteLoginSessions(t.Context(), f.s, f.owner, "") },
	}
}

// What was checked before a revocation is not stored after it.
func TestNothingIsStoredAfterARevocation(t *testing.T) {
	t.Parallel()
	for _, act := range []string{"not me", "new password", "suspension", "second factor", "everything", "sessions"} {
		t.Run(act, func(t *testing.T) {
			t.Parallel()
			eachFlow(t, func(t *testing.T, f flow) {
				m, err := account.GetMemberByID(t.Context(), f.s, f.owner)
				if err != nil {
					t.Fatal(err)
				}
				checked := m.Access()
				f.code(t, "issued before")
				if err := ownerRevokes(t, f)[act](); err != nil {
					t.Fatal(err)
				}
				for name, store := range thiefStores(t.Context(), f) {
					if err := store(checked, name); err == nil {
						t.Errorf("%s: stored after the revocation", name)
					}
				}
				if _, err := oauth.RedeemCode(t.Context(), f.s, "issued before", f.pair("1")); !fault.Is(err, fault.Conflict) {
					t.Errorf("the code: %v", err)
				}
				if act != "suspension" {
					checked.Epoch = dbtest.Epoch(t, f.s, f.owner)
					if err := thiefStores(t.Context(), f)["session"](checked, "again"); err != nil {
						t.Errorf("a sign-in afterwards: %v", err)
					}
				}
			})
		})
	}
}

// Forty requests of a thief run together with "this was not me". Nothing deadlocks, and the thief
// holds nothing.
func TestRevocationAmongRequestsInFlight(t *testing.T) {
	t.Parallel()
	eachFlow(t, func(t *testing.T, f flow) {
		m, err := account.GetMemberByID(t.Context(), f.s, f.owner)
		if err != nil {
			t.Fatal(err)
		}
		checked, stores := m.Access(), thiefStores(t.Context(), f)
		var codes []string
		for n := range 10 {
			codes = append(codes, f.code(t, fmt.Sprint("thief code ", n)))
		}
		revoke := ownerRevokes(t, f)["not me"]
		names := []string{"session", "half a sign-in", "token", "identity", "session", "passkey"}
		for n, err := range together(40, func(n int) error {
			switch {
			case n == 20:
				return revoke()
			case n < len(codes):
				_, err := oauth.RedeemCode(t.Context(), f.s, codes[n], f.pair(fmt.Sprint(n)))
				return err
			}
			return stores[names[n%len(names)]](checked, fmt.Sprint(n))
		}) {
			if n == 20 && err != nil || err != nil && !errors.Is(err, account.ErrAccessEnded) && !fault.Is(err, fault.Conflict) {
				t.Errorf("request %d: %v", n, err)
			}
		}
		if held := thiefHolds(t, f.s, f.owner); len(held) > 0 {
			t.Errorf("the thief holds %v", held)
		}
	})
}

// takeover is a random sequence of acts of an owner and a thief who knows the password at first.
type takeover struct {
	flow
	*testing.T

	random *rand.Rand
	moves  int
	// links are those in the owner's mailbox, objections those in the thief's.
	links, objections []string
}

// mine is the owner's address.
func (a *takeover) mine() string { return a.name + "@people.example" }

func (a *takeover) member() *account.Member {
	m, err := account.GetMemberByID(a.Context(), a.s, a.owner)
	if err != nil {
		a.Fatal(err)
	}
	return m
}

func (a *takeover) access() account.Access { return a.member().Access() }

func (a *takeover) address() string { return a.member().Email }

// notice sends an email to an address about an event there, or about the change that replaced it.
func (a *takeover) notice(address string) {
	secret, err := account.CreateNotMeLink(a.Context(), a.s, a.owner, address)
	if err != nil && !fault.Is(err, fault.NotFound) {
		a.Error(err)
	}
	if err == nil && address == a.mine() {
		a.links = append(a.links, account.HashSecret(secret))
	}
	if err == nil && address != a.mine() && a.random.IntN(2) == 0 { // the thief says "not me", too
		if err := a.use(account.HashSecret(secret)); err != nil {
			a.Error(err)
		}
	}
}

// use uses a link. If the present address may object, it is the thief who reads that.
func (a *takeover) use(link string) error {
	done, err := account.UseNotMeLink(a.Context(), a.s, link)
	if err == nil && done.Objection != "" && done.Present != a.mine() {
		a.objections = append(a.objections, account.HashSecret(done.Objection))
	}
	return err
}

// move lets the thief change the address.
func (a *takeover) move() {
	a.moves++
	from, to, hash := a.address(), fmt.Sprintf("thief%d@people.example", a.moves), fmt.Sprint("move ", a.moves)
	changeLink(a.T, a.s, a.owner, from, hash, to)
	disputed, err := account.AddressIsDisputed(a.Context(), a.s, a.owner)
	if err != nil {
		a.Fatal(err)
	}
	if err := account.ChangeEmail(a.Context(), a.s, a.access(), "", hash); (err != nil) != disputed {
		a.Errorf("a change of an address that is disputed (%t): %v", disputed, err)
	}
	if !disputed {
		a.notice(from)
		a.notice(to)
	}
}

// credentials are those that a thief stores.
func credentials() []string {
	return []string{"session", "half a sign-in", "token", "one-time codes", "passkey", "identity", "password"}
}

// act is a random act of the thief, or of the owner with requests of the thief in flight.
func (a *takeover) act(n int, stores map[string]func(account.Access, string) error) {
	kinds := credentials()
	switch a.random.IntN(6) {
	case 0:
		a.move()
	case 1:
		a.notice(a.address())
	case 2:
		acts := map[int]func(account.Access) error{
			0: func(c account.Access) error {
				_, err := account.SetPassword(a.Context(), a.s, c, "the owner's")
				return err
			},
			1: func(account.Access) error { return account.RevokeEverything(a.Context(), a.s, a.owner) },
			2: func(account.Access) error { return account.DeleteLoginSessions(a.Context(), a.s, a.owner, "") },
			3: func(c account.Access) error {
				row := &account.TOTPSecret{MemberID: a.owner, Secret: "owner", Access: c}
				_, err := account.CreateTOTPSecret(a.Context(), a.s, row, account.NewRecoveryCodes(), "")
				return err
			},
		}
		access, chosen := a.access(), acts[a.random.IntN(len(acts))]
		together(8, func(i int) error {
			if i == 4 {
				return chosen(access)
			}
			return stores[kinds[i%len(kinds)]](access, fmt.Sprint("beside ", n, " ", i))
		})
	default:
		_ = stores[kinds[a.random.IntN(len(kinds))]](a.access(), fmt.Sprint("before ", n))
	}
}

// takeBack lets the owner use the links in their mailbox, the newest first, while requests of the thief
// with access that was checked before are in flight.
func (a *takeover) takeBack(checked []account.Access, stores map[string]func(account.Access, string) error) {
	kinds := credentials()
	for i, link := range slices.Backward(a.links) {
		for n, err := range together(40, func(n int) error {
			if n == 20 {
				return a.use(link)
			}
			_ = stores[kinds[n%len(kinds)]](checked[n%len(checked)], fmt.Sprint(i, " ", n))
			return nil
		}) {
			if n == 20 && err != nil && !fault.Is(err, fault.NotFound) {
				a.Errorf("the link: %v", err)
			}
		}
	}
}

// reset tries to choose a new password with a link that was mailed to the member's address.
func (a *takeover) reset(hash string) error {
	l := &account.MailLink{Hash: hash, MemberID: a.owner, Purpose: account.PurposeReset, Email: a.address()}
	if err := account.CreateMailLink(a.Context(), a.s, l); err != nil {
		a.Fatal(err)
	}
	return account.ResetPassword(a.Context(), a.s, hash, "of "+hash)
}

// After the owner used the links in their mailbox, a thief holds nothing, whatever the two did before,
// and whatever of the thief was in flight. If the thief objects, it gives them nothing either, and the
// people who run the service give the account to its owner.
func TestOwnerAlwaysGetsTheAccountBack(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			eachTimedFlow(t, func(t *testing.T, f flow, advance func(time.Duration)) {
				a := &takeover{flow: f, T: t, random: rand.New(rand.NewPCG(seed, 31))} //nolint:gosec // repeatable
				stores := thiefStores(t.Context(), f)
				var checked []account.Access
				for n := range 12 {
					checked = append(checked, a.access())
					advance(time.Second)
					a.act(n, stores)
				}
				checked = append(checked, a.access())
				if len(a.links) == 0 {
					a.notice(a.mine())
				}
				a.takeBack(checked, stores)
				moved := a.address() != a.mine()
				held := thiefHolds(t, f.s, f.owner)
				delete(held, "addresses")
				if len(held) > 0 {
					t.Errorf("the thief holds %v", held)
				}
				if err := a.reset("early"); moved && !fault.Is(err, fault.NotFound) {
					t.Errorf("a new password while the address is disputed: %v", err)
				}
				objects := moved && seed%2 == 0
				if objects {
					for _, o := range a.objections {
						if _, err := account.ObjectToRestoration(t.Context(), f.s, o); err != nil && !fault.Is(err, fault.NotFound) {
							t.Error(err)
						}
					}
				}
				advance(account.RestoreWait)
				a.takeBack(checked, stores)
				if objects {
					if err := a.reset("objected"); !fault.Is(err, fault.NotFound) {
						t.Errorf("a new password after an objection: %v", err)
					}
					if err := account.ReplacePassword(t.Context(), f.s, f.owner, "the owner's"); err != nil {
						t.Error(err)
					}
				} else if got := a.address(); got != a.mine() {
					t.Errorf("the address is %s", got)
				}
				if held = thiefHolds(t, f.s, f.owner); objects {
					delete(held, "addresses")
				}
				if len(held) > 0 {
					t.Errorf("at the end, the thief holds %v", held)
				}
				if err := a.reset("last"); err != nil {
					t.Errorf("the owner's new password: %v", err)
				}
				for _, kind := range credentials() { // of before
					if err := stores[kind](checked[len(checked)-1], "late "+kind); err == nil {
						t.Errorf("%s: stored late", kind)
					}
				}
			})
		})
	}
}

// changed gives the member another address, as a thief would.
func (a *takeover) changed(hash, to string) {
	changeLink(a.T, a.s, a.owner, a.address(), hash, to)
	if err := account.ChangeEmail(a.Context(), a.s, a.access(), "", hash); err != nil {
		a.Fatal(err)
	}
}

// uses uses a link and returns what it did.
func (a *takeover) uses(link string) *account.EndedAccess {
	done, err := account.UseNotMeLink(a.Context(), a.s, link)
	if err != nil {
		a.Fatal(err)
	}
	return done
}

// A link of before a change of the address ends access only: the mailbox may be another person's. That
// of the change restores the address when it is used again after the wait.
func TestNotMeRestoresTheAddress(t *testing.T) {
	t.Parallel()
	eachTimedFlow(t, func(t *testing.T, f flow, advance func(time.Duration)) {
		a := &takeover{flow: f, T: t}
		before := notMeLink(t, f, a.mine())
		advance(time.Second)
		a.changed("move", "next@people.example")
		told, next := notMeLink(t, f, a.mine()), notMeLink(t, f, "next@people.example")
		if done := a.uses(before); done.Reset || !done.RestoresAt.IsZero() || a.address() != "next@people.example" {
			t.Fatalf("the link of before: %+v, %s", done, a.address())
		}
		first := a.uses(told)
		if first.Reset || first.Replaced || first.Objection == "" || !first.RestoresAt.Equal(f.s.Now().Add(account.RestoreWait)) || a.address() != "next@people.example" {
			t.Fatalf("the first use: %+v, %s", first, a.address())
		}
		if _, err := account.UseNotMeLink(t.Context(), f.s, next); !fault.Is(err, fault.NotFound) {
			t.Errorf("the link that went to the other address: %v", err)
		}
		advance(account.RestoreWait - time.Second)
		login(t, f.s, f.owner, "with a passkey of before")
		if done := a.uses(told); done.Reset || done.Objection != "" || !done.RestoresAt.Equal(first.RestoresAt) {
			t.Errorf("used early: %+v", done)
		}
		if _, err := account.GetLoginSession(t.Context(), f.s, "with a passkey of before"); !fault.Is(err, fault.NotFound) {
			t.Errorf("a session of the wait: %v", err)
		}
		// A link to the present address ends access, and does not end the wait.
		if done := a.uses(notMeLink(t, f, "next@people.example")); done.Reset {
			t.Errorf("a link to the present address: %+v", done)
		}
		advance(time.Second)
		if done := a.uses(told); !done.Reset || !done.Replaced || done.Present != "next@people.example" || a.address() != a.mine() {
			t.Fatalf("after the wait: %+v, %s", done, a.address())
		}
		if _, err := account.ObjectToRestoration(t.Context(), f.s, account.HashSecret(first.Objection)); !fault.Is(err, fault.NotFound) {
			t.Errorf("an objection that is too late: %v", err)
		}
		if _, err := account.CreateNotMeLink(t.Context(), f.s, f.owner, "next@people.example"); !fault.Is(err, fault.NotFound) {
			t.Errorf("a new link to the other address: %v", err)
		}
		if err := a.reset("reset"); err != nil {
			t.Errorf("the owner's new password: %v", err)
		}
		// Another member took the address in the meantime.
		a.changed("again", "third@people.example")
		told = notMeLink(t, f, a.mine())
		other := dbtest.Member(t, f.s, "other")
		change(t, f.s, "UPDATE members SET email = '"+a.mine()+"' WHERE username = 'other'")
		login(t, f.s, f.owner, "the thief's")
		login(t, f.s, other, "other's")
		if done := a.uses(told); done.Reset || !done.Taken {
			t.Fatalf("the link to an address that is taken: %+v", done)
		}
		if _, err := account.GetLoginSession(t.Context(), f.s, "the thief's"); !fault.Is(err, fault.NotFound) {
			t.Errorf("the session goes on: %v", err)
		}
		if _, err := account.GetLoginSession(t.Context(), f.s, "other's"); err != nil {
			t.Errorf("another member's session: %v", err)
		}
	})
}

// Whoever reads a member's old mailbox does not get the account if the member objects, and the objection
// gives access to nobody. It has no end but the decision of the people who run the service.
func TestObjectionLeavesTheDecisionToTheOperator(t *testing.T) {
	t.Parallel()
	eachTimedFlow(t, func(t *testing.T, f flow, advance func(time.Duration)) {
		a := &takeover{flow: f, T: t}
		a.changed("move", "next@people.example")
		told := notMeLink(t, f, a.mine())
		objection := account.HashSecret(a.uses(told).Objection)
		for name, err := range map[string]error{
			"a new password": a.reset("waiting"),
			"another address": func() error {
				changeLink(t, f.s, f.owner, "next@people.example", "away", "third@people.example")
				return account.ChangeEmail(t.Context(), f.s, a.access(), "", "away")
			}(),
		} {
			if !fault.Is(err, fault.NotFound) {
				t.Errorf("%s in the wait: %v", name, err)
			}
		}
		for _, err := range together(20, func(int) error {
			l, err := account.ObjectToRestoration(t.Context(), f.s, objection)
			if err == nil && !l.ObjectedAt.Equal(f.s.Now()) {
				t.Errorf("it objected at %s", l.ObjectedAt)
			}
			return err
		}) {
			if err != nil {
				t.Error(err)
			}
		}
		for range 2 {
			advance(account.NotMeLifetime)
			if _, err := retention.Sweep(t.Context(), f.s, f.s.Now()); err != nil {
				t.Fatal(err)
			}
			if done := a.uses(told); !done.Disputed || done.Reset || a.address() != "next@people.example" {
				t.Errorf("the link after the objection: %+v", done)
			}
		}
		if err := a.reset("disputed"); !fault.Is(err, fault.NotFound) {
			t.Errorf("a new password after the objection: %v", err)
		}
		if err := account.ReplacePassword(t.Context(), f.s, f.owner, "decided"); err != nil {
			t.Fatal(err)
		}
		if _, err := account.UseNotMeLink(t.Context(), f.s, told); !fault.Is(err, fault.NotFound) {
			t.Errorf("the link after the decision: %v", err)
		}
		if err := a.reset("afterwards"); err != nil {
			t.Errorf("a new password after the decision: %v", err)
		}
	})
}

// The limit of tokens holds for tokens that are made at the same time.
func TestTokensAreLimitedTogether(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		maria := dbtest.Member(t, s, "maria")
		for range account.MaxTokens - 5 {
			dbtest.Token(t, s, maria, "connections")
		}
		made := 0
		for _, err := range together(40, func(n int) error {
			return account.CreatePersonalToken(t.Context(), s, &account.PersonalToken{MemberID: maria, Name: "x", Hash: fmt.Sprint(n), Scopes: "connections"})
		}) {
			switch {
			case err == nil:
				made++
			case !fault.Is(err, fault.Exhausted):
				t.Error(err)
			}
		}
		if made != 5 {
			t.Errorf("%d more tokens were made", made)
		}
	})
}

// A transaction that PostgreSQL aborts because of a deadlock is repeated, and nobody sees an error. SQLite has
// one writer, so there the second begins when the first has ended.
func TestDeadlocksAreRepeated(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		pg := s.Dialect().Name() == dialect.PG
		members := []tenant.ID{dbtest.Member(t, s, "maria"), dbtest.Member(t, s, "other")}
		var first sync.WaitGroup // until both hold a lock that the other one wants
		first.Add(len(members))
		var tries atomic.Int64
		for i, err := range together(len(members), func(i int) error {
			return s.Write(t.Context(), func(ctx context.Context, tx db.Querier) error {
				try := tries.Add(1)
				for n := range members {
					_, err := tx.NewRaw("UPDATE members SET access_epoch = access_epoch + 1 WHERE id = ?", members[(i+n)%len(members)]).Exec(ctx)
					if err != nil {
						return err
					}
					if pg && n == 0 && try <= int64(len(members)) {
						first.Done()
						first.Wait()
					}
				}
				return nil
			})
		}) {
			if err != nil {
				t.Errorf("transaction %d: %v", i, err)
			}
		}
		for _, m := range members {
			if n := dbtest.Epoch(t, s, m); n != int64(len(members)) {
				t.Errorf("%s was changed %d times", m, n)
			}
		}
		if n := tries.Load(); pg && n < 3 {
			t.Errorf("%d tries: nothing deadlocked", n)
		}
	})
}
