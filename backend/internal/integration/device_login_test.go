package integration_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/retention"
)

// finish asks for the app password of a program.
func finish(t *testing.T, s *db.DB, secret string) (username, password string, err error) {
	t.Helper()
	return account.FinishDeviceLogin(t.Context(), s, secret)
}

// waits fails unless the program with a secret gets no app password.
func waits(t *testing.T, s *db.DB, what, secret string) {
	t.Helper()
	if username, password, err := finish(t, s, secret); !fault.Is(err, fault.NotFound) || password != "" && username == "" {
		t.Errorf("%s: %q, %v", what, username, err)
	}
}

// A program gets an app password once, after a member allowed it, and nobody else does.
func TestDeviceLogin(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "vera")
		secret, page := deviceLogin(t, s, "203.0.113.0/24")
		waits(t, s, "before", secret)
		waits(t, s, "by the secret of the page", page)
		waits(t, s, "without a secret", "")
		if _, err := account.GetDeviceLogin(t.Context(), s, secret); !fault.Is(err, fault.NotFound) {
			t.Errorf("the secret of the program opens the page: %v", err)
		}
		found, err := account.GetDeviceLogin(t.Context(), s, page)
		if err != nil || found.Program != "DAVx5/4.5" || found.Network != "203.0.113.0/24" {
			t.Fatalf("%+v, %v", found, err)
		}
		if found.Hash == secret || found.PageHash == page {
			t.Error("a secret is stored")
		}
		device, err := allowed(t, s, owner, page, "Phone")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := allowed(t, s, dbtest.Member(t, s, "mallory"), page, "Mine"); !fault.Is(err, fault.NotFound) {
			t.Errorf("it is allowed twice: %v", err)
		}
		if err := account.RefuseDeviceLogin(t.Context(), s, page); !fault.Is(err, fault.NotFound) {
			t.Errorf("it is refused after it was allowed: %v", err)
		}
		username, password, err := finish(t, s, secret)
		if err != nil || username != "vera" {
			t.Fatalf("%q, %v", username, err)
		}
		who, err := oauth.AuthenticateDevice(t.Context(), s, username, password)
		if err != nil || who.Credential.ID != device.ID || who.Tenant != owner {
			t.Errorf("%+v, %v", who, err)
		}
		waits(t, s, "again", secret)
	})
}

// Of programs that ask at the same time, and of members who answer at the same time, one wins.
func TestDeviceLoginAtOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "vera")
		_, page := deviceLogin(t, s, "")
		oneWins(t, together(20, func(n int) error {
			if n%2 == 0 {
				return account.RefuseDeviceLogin(t.Context(), s, page)
			}
			_, err := allowed(t, s, owner, page, fmt.Sprint("Phone ", n))
			return err
		}), fault.NotFound)
		secret, next := deviceLogin(t, s, "")
		if _, err := allowed(t, s, owner, next, "Phone"); err != nil {
			t.Fatal(err)
		}
		passwords := make([]string, 20)
		oneWins(t, together(20, func(n int) (err error) {
			_, passwords[n], err = finish(t, s, secret)
			return err
		}), fault.NotFound)
		working := 0
		for _, password := range passwords {
			if _, err := oauth.AuthenticateDevice(t.Context(), s, "vera", password); err == nil {
				working++
			}
		}
		if working != 1 {
			t.Errorf("%d passwords work", working)
		}
	})
}

// A program gets nothing that was refused, removed, revoked or too late.
func TestDeviceLoginEnds(t *testing.T) {
	t.Parallel()
	eachTimedFlow(t, func(t *testing.T, f flow, advance func(time.Duration)) {
		refused, page := deviceLogin(t, f.s, "")
		if err := account.RefuseDeviceLogin(t.Context(), f.s, page); err != nil {
			t.Fatal(err)
		}
		waits(t, f.s, "refused", refused)
		if _, err := allowed(t, f.s, f.owner, page, "x"); !fault.Is(err, fault.NotFound) {
			t.Errorf("it is allowed after it was refused: %v", err)
		}

		removed, page := deviceLogin(t, f.s, "")
		device, err := allowed(t, f.s, f.owner, page, "x")
		if err != nil {
			t.Fatal(err)
		}
		if err := account.RemoveDevice(t.Context(), f.s, f.owner, device.ID); err != nil {
			t.Fatal(err)
		}
		waits(t, f.s, "removed", removed)

		revoked, page := deviceLogin(t, f.s, "")
		if _, err := allowed(t, f.s, f.owner, page, "x"); err != nil {
			t.Fatal(err)
		}
		if err := account.RevokeEverything(t.Context(), f.s, f.owner); err != nil {
			t.Fatal(err)
		}
		waits(t, f.s, "revoked", revoked)

		unanswered, open := deviceLogin(t, f.s, "")
		late, page := deviceLogin(t, f.s, "")
		device, err = allowed(t, f.s, f.owner, page, "x")
		if err != nil {
			t.Fatal(err)
		}
		advance(account.DeviceLoginLifetime)
		waits(t, f.s, "late", late)
		waits(t, f.s, "unanswered", unanswered)
		if _, err := allowed(t, f.s, f.owner, open, "x"); !fault.Is(err, fault.NotFound) {
			t.Errorf("it is allowed too late: %v", err)
		}
		if _, err := retention.Sweep(t.Context(), f.s, f.s.Now()); err != nil {
			t.Fatal(err)
		}
		devices, err := account.ListDevices(t.Context(), f.s, f.owner)
		for _, d := range devices {
			if d.ID == device.ID {
				t.Error("a device whose program never came back stays")
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	})
}

// A suspended member's program gets no app password until the member is back.
func TestDeviceLoginOfSuspendedMember(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "vera")
		secret, page := deviceLogin(t, s, "")
		if _, err := allowed(t, s, owner, page, "Phone"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.NewWrite("UPDATE members SET suspended_at = ? WHERE id = ?", s.Now(), owner).Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
		waits(t, s, "suspended", secret)
	})
}

// What one network, or all together, can let wait is bounded, and time makes room again.
func TestDeviceLoginsAreBounded(t *testing.T) {
	t.Parallel()
	eachTimedFlow(t, func(t *testing.T, f flow, advance func(time.Duration)) {
		begin := func(network string) error {
			_, _, err := account.BeginDeviceLogin(t.Context(), f.s, "x", network)
			return err
		}
		for range 20 {
			if err := begin("203.0.113.0/24"); err != nil {
				t.Fatal(err)
			}
		}
		if err := begin("203.0.113.0/24"); !fault.Is(err, fault.Exhausted) {
			t.Errorf("the 21st of a network: %v", err)
		}
		_, err := f.s.NewWrite(`INSERT INTO device_logins (hash, page_hash, program, network, created_at, expires_at)
WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 9979)
SELECT 'h' || n, 'p' || n, 'x', 'n' || n, d.created_at, d.expires_at FROM n, (SELECT created_at, expires_at FROM device_logins LIMIT 1) d`).Exec(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := begin("198.51.100.0/24"); err != nil {
			t.Errorf("the 10,000th: %v", err)
		}
		if err := begin("198.51.100.0/24"); !fault.Is(err, fault.Exhausted) {
			t.Errorf("the 10,001st: %v", err)
		}
		advance(account.DeviceLoginLifetime)
		if err := begin("203.0.113.0/24"); err != nil {
			t.Errorf("later: %v", err)
		}
		var left int
		if err := f.s.NewRaw("SELECT count(*) FROM device_logins").Scan(t.Context(), &left); err != nil || left != 1 {
			t.Errorf("%d wait, %v", left, err)
		}
	})
}
