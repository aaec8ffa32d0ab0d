package digest_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/digest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/mail"
	"github.com/kith-crm/kith/backend/internal/mail/smtptest"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// office is a database with a clock, and a sender of digests to a mail server.
type office struct {
	*db.DB
	*digest.Sender

	server *smtptest.Server
	mu     sync.Mutex
	now    time.Time
	empty  bool
	// refusal is the mail server's answer to a recipient; empty takes the email.
	refusal string
}

func (o *office) clock() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.now
}

func (o *office) set(t *testing.T, now string) {
	t.Helper()
	at, err := time.Parse(time.RFC3339, now)
	if err != nil {
		t.Fatal(err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.now = at
}

func (o *office) refuse(answer string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.refusal = answer
}

// each runs a test with an office on each database, at noon of a Wednesday.
func each(t *testing.T, test func(t *testing.T, o *office)) {
	t.Helper()
	dbtest.Databases(t, func(t *testing.T, url string) {
		o := &office{}
		o.set(t, "2026-03-25T12:00:00Z")
		o.DB = dbtest.Open(t, url, o.clock)
		o.server = smtptest.Start(t, smtptest.Options{Refuse: func(int) string {
			o.mu.Lock()
			defer o.mu.Unlock()
			return o.refusal
		}})
		mailer, err := mail.New(mail.Config{URL: "smtp://" + o.server.Addr + "?from=kith@kith.example"})
		if err != nil {
			t.Fatal(err)
		}
		o.Sender = &digest.Sender{Store: o.DB, Logger: slog.New(slog.DiscardHandler), Send: mailer.Send,
			Write: func(_ context.Context, m *account.Member, d *digest.Digest) (*mail.Message, error) {
				if o.empty {
					return nil, nil
				}
				since := d.CoveredUntil.Format(time.RFC3339)
				return &mail.Message{To: m.Email, Subject: "Since " + since, Text: since, HTML: since, Unsubscribe: "https://kith.example/x?link=" + d.UnsubscribeSecret}, nil
			}}
		test(t, o)
	})
}

// member adds a member with a confirmed address and a choice.
func (o *office) member(t *testing.T, username, zone string, c digest.Choice) tenant.ID {
	t.Helper()
	owner := dbtest.Member(t, o.DB, username)
	if _, err := o.NewWrite("UPDATE members SET email_verified_at = ?, timezone = ? WHERE id = ?", o.Now(), zone, owner).Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	o.choose(t, owner, zone, c)
	return owner
}

func (o *office) choose(t *testing.T, owner tenant.ID, zone string, c digest.Choice) {
	t.Helper()
	err := o.Tenant(owner, false).Write(t.Context(), db.Actor{}, func(ctx context.Context, tx *db.Tx) error {
		return digest.SaveDigest(ctx, tx, civil.Zone(zone), c)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (o *office) get(t *testing.T, owner tenant.ID) *digest.Digest {
	t.Helper()
	d, err := digest.GetDigest(t.Context(), o.Tenant(owner, false))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// runAt sets the clock, runs the sender and checks how many were sent, and how many failed.
func (o *office) runAt(t *testing.T, now string, sent, failed int) {
	t.Helper()
	o.set(t, now)
	got, err := o.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got.Sent != sent || got.Failed != failed || o.server.Waiting() != sent {
		t.Errorf("at %s: %+v with %d emails, want %d sent and %d failed", now, got, o.server.Waiting(), sent, failed)
	}
	for range o.server.Waiting() {
		o.server.Next(t)
	}
}

func daily(hour int) digest.Choice {
	return digest.Choice{Rhythm: digest.Daily, Weekday: time.Monday, Hour: hour, LeadDays: 7}
}

// TestSummerTime: a member in Berlin gets one digest for each day, at seven by their clock, over the change of the clocks.
func TestSummerTime(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o *office) {
		owner := o.member(t, "ada", "Europe/Berlin", daily(7))
		o.runAt(t, "2026-03-25T12:05:00Z", 0, 0) // the first one is for the next day
		for _, now := range []string{"2026-03-26T06:00:00Z", "2026-03-27T06:00:00Z", "2026-03-28T06:00:00Z", "2026-03-29T05:00:00Z", "2026-03-30T05:00:00Z"} {
			at, _ := time.Parse(time.RFC3339, now)
			o.runAt(t, at.Add(-time.Second).Format(time.RFC3339), 0, 0)
			o.runAt(t, now, 1, 0)
			o.runAt(t, at.Add(5*time.Minute).Format(time.RFC3339), 0, 0)
		}
		d := o.get(t, owner)
		if d.SettledDay != "2026-03-30" || d.SentAt.Format(time.RFC3339) != "2026-03-30T05:00:00Z" || !d.CoveredUntil.Equal(d.SentAt) || d.NextAt.Format(time.RFC3339) != "2026-03-31T05:00:00Z" {
			t.Errorf("%+v", d)
		}
	})
}

// TestNothingToSay: what is empty is not sent, and the next one covers the same time no more.
func TestNothingToSay(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o *office) {
		owner := o.member(t, "ada", "UTC", daily(7))
		o.empty = true
		o.runAt(t, "2026-03-26T07:00:00Z", 0, 0)
		if d := o.get(t, owner); d.SettledDay != "2026-03-26" || !d.SentAt.IsZero() || d.CoveredUntil.Format(time.RFC3339) != "2026-03-26T07:00:00Z" {
			t.Errorf("%+v", d)
		}
	})
}

// TestThreeDaysWithoutMail: while the mail server refuses a recipient, the digest is tried again, less and less often, and
// says since when; then one mail has all since the last one.
func TestThreeDaysWithoutMail(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o *office) {
		owner := o.member(t, "ada", "UTC", daily(7))
		o.runAt(t, "2026-03-26T07:00:00Z", 1, 0)
		o.refuse("550 no such mailbox")
		tries, covered := 0, o.get(t, owner).CoveredUntil
		for at := time.Date(2026, 3, 27, 7, 0, 0, 0, time.UTC); at.Before(time.Date(2026, 3, 30, 7, 0, 0, 0, time.UTC)); at = at.Add(digest.Every) {
			o.set(t, at.Format(time.RFC3339))
			got, err := o.Run(t.Context())
			if err != nil || got.Sent != 0 {
				t.Fatalf("%+v, %v", got, err)
			}
			tries += got.Failed
		}
		d := o.get(t, owner)
		if d.Failure != string(mail.Refused) || d.FailingSince.Format(time.RFC3339) != "2026-03-27T07:00:00Z" || !d.CoveredUntil.Equal(covered) {
			t.Errorf("%+v", d)
		}
		if tries < 10 || tries > 40 || o.server.Attempts() != tries+1 {
			t.Errorf("%d tries in three days, %d seen by the server", tries, o.server.Attempts())
		}
		o.refuse("")
		o.runAt(t, "2026-03-30T13:00:00Z", 1, 0)
		d = o.get(t, owner)
		if d.Failure != "" || !d.FailingSince.IsZero() || d.SettledDay != "2026-03-30" || d.NextAt.Format(time.RFC3339) != "2026-03-31T07:00:00Z" {
			t.Errorf("%+v", d)
		}
	})
}

// TestMailServerDown: one try for each run finds out that the server is away; then all that are due say so, and are sent
// by the first run after it is back. A weekly one is not put off to the next week.
func TestMailServerDown(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o *office) {
		weekly := daily(7)
		weekly.Rhythm, weekly.Weekday = digest.Weekly, time.Thursday
		owners := []tenant.ID{o.member(t, "ada", "UTC", daily(7)), o.member(t, "bea", "UTC", daily(7)), o.member(t, "cyd", "UTC", weekly)}
		later := o.member(t, "dan", "UTC", daily(9))
		real, tries := o.Send, 0
		var mu sync.Mutex
		o.Send = func(context.Context, *mail.Message) error {
			mu.Lock()
			defer mu.Unlock()
			tries++
			return errors.New("dial failed: connection refused")
		}
		o.runAtFailing(t, "2026-03-26T07:00:00Z")
		o.runAtFailing(t, "2026-03-26T07:05:00Z")
		if tries > 8 {
			t.Errorf("%d tries in two runs", tries)
		}
		for _, owner := range owners {
			if d := o.get(t, owner); d.Failure != string(mail.Unreachable) || d.FailingSince.Format(time.RFC3339) != "2026-03-26T07:00:00Z" {
				t.Errorf("%+v", d)
			}
		}
		if d := o.get(t, later); d.Failure != "" {
			t.Errorf("not due yet: %+v", d)
		}
		if overdue, failing, err := digest.Overdue(t.Context(), o.DB); overdue < 0 || overdue > 5*time.Minute || failing != 3 || err != nil {
			t.Errorf("overdue %v, %d failing, %v", overdue, failing, err)
		}
		o.Send = real
		o.runAt(t, "2026-03-28T03:00:00Z", 4, 0)
		o.runAt(t, "2026-03-28T03:05:00Z", 0, 0)
		o.runAt(t, "2026-03-28T07:00:00Z", 2, 0)
	})
}

// runAtFailing runs while the mail server is away.
func (o *office) runAtFailing(t *testing.T, now string) {
	t.Helper()
	o.set(t, now)
	if got, err := o.Run(t.Context()); err != nil || got.Sent != 0 || got.Failed == 0 {
		t.Errorf("at %s: %+v, %v", now, got, err)
	}
}

// TestManySenders: however many workers run at the same time, each member gets one.
func TestManySenders(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o *office) {
		const members, workers = 12, 6
		for n := range members {
			o.member(t, fmt.Sprintf("member-%d", n), "UTC", daily(7))
		}
		o.set(t, "2026-03-26T07:00:00Z")
		var all sync.WaitGroup
		errs := make(chan error, workers)
		for range workers {
			all.Go(func() {
				_, err := o.Run(t.Context())
				errs <- err
			})
		}
		all.Wait()
		for range workers {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		to := map[string]int{}
		for range o.server.Waiting() {
			to[o.server.Next(t).To]++
		}
		if len(to) != members {
			t.Errorf("%d members got one", len(to))
		}
		for address, n := range to {
			if n != 1 {
				t.Errorf("%s got %d", address, n)
			}
		}
	})
}

// TestCrash: a process that ends between claiming and sending loses nothing: after the lease another one sends it.
func TestCrash(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o *office) {
		o.member(t, "ada", "UTC", daily(7))
		write := o.Sender.Write
		o.Sender.Write = func(context.Context, *account.Member, *digest.Digest) (*mail.Message, error) { panic("killed") }
		o.set(t, "2026-03-26T07:00:00Z")
		died := make(chan any, 1)
		go func() {
			defer func() { died <- recover() }()
			_, _, _ = digest.SendNext(t.Context(), o.Sender)
		}()
		if <-died != "killed" {
			t.Fatal("it went on")
		}
		o.Sender.Write = write
		o.runAt(t, "2026-03-26T07:09:59Z", 0, 0)
		o.runAt(t, "2026-03-26T07:10:00Z", 1, 0)
		o.runAt(t, "2026-03-26T07:20:00Z", 0, 0)
	})
}

// TestOtherChoice: another hour keeps the digest of a day that is still due and repeats none; another rhythm begins with
// the next day that comes.
func TestOtherChoice(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o *office) {
		owner := o.member(t, "ada", "UTC", daily(9))
		o.set(t, "2026-03-26T08:00:00Z")
		o.choose(t, owner, "UTC", daily(7)) // that of the day is still due
		o.runAt(t, "2026-03-26T08:05:00Z", 1, 0)
		o.choose(t, owner, "UTC", daily(12)) // that of the day was sent
		o.runAt(t, "2026-03-26T12:00:00Z", 0, 0)
		o.runAt(t, "2026-03-27T12:00:00Z", 1, 0)
		weekly := daily(6)
		weekly.Rhythm, weekly.Weekday = digest.Weekly, time.Friday
		o.choose(t, owner, "UTC", weekly)
		o.runAt(t, "2026-03-28T12:00:00Z", 0, 0)
		o.runAt(t, "2026-04-03T06:00:00Z", 1, 0)
		weekly.Rhythm = digest.Off
		o.choose(t, owner, "UTC", weekly)
		o.runAt(t, "2026-04-20T06:00:00Z", 0, 0)
		if d := o.get(t, owner); !d.NextAt.IsZero() || d.Rhythm != digest.Off {
			t.Errorf("%+v", d)
		}
	})
}

// TestOtherZone: a member who moves gets one digest for each day of the new zone.
func TestOtherZone(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o *office) {
		owner := o.member(t, "ada", "America/Los_Angeles", daily(7))
		o.runAt(t, "2026-03-26T14:00:00Z", 1, 0)
		move := func(zone string) {
			t.Helper()
			if _, err := account.SaveSettings(t.Context(), o.Tenant(owner, false), db.Actor{}, account.SettingsPatch{Timezone: &zone}); err != nil {
				t.Fatal(err)
			}
		}
		move("Pacific/Auckland") // it is 03:00 of the 27th there
		o.runAt(t, "2026-03-26T14:10:00Z", 0, 0)
		o.runAt(t, "2026-03-26T17:59:00Z", 0, 0)
		o.runAt(t, "2026-03-26T18:00:00Z", 1, 0) // 07:00 of the 27th
		move("America/Los_Angeles")              // it is 11:00 of the 26th there
		o.runAt(t, "2026-03-26T18:10:00Z", 0, 0)
		o.runAt(t, "2026-03-27T14:00:00Z", 1, 0) // 07:00 of the 27th
	})
}

// TestWhoGetsNone: a member who is suspended, or has not confirmed their address.
func TestWhoGetsNone(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o *office) {
		suspended, unverified := o.member(t, "ada", "UTC", daily(7)), o.member(t, "bea", "UTC", daily(7))
		for statement, owner := range map[string]tenant.ID{
			"UPDATE members SET suspended_at = created_at WHERE id = ?": suspended, "UPDATE members SET email_verified_at = NULL WHERE id = ?": unverified,
		} {
			if _, err := o.NewWrite(statement, owner).Exec(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		o.runAt(t, "2026-03-26T07:00:00Z", 0, 1)
		if d := o.get(t, unverified); d.Failure != digest.Unverified {
			t.Errorf("%+v", d)
		}
		if d := o.get(t, suspended); d.Failure != "" || d.NextAt.Format(time.RFC3339) != "2026-03-27T07:00:00Z" {
			t.Errorf("%+v", d)
		}
	})
}

// TestUnsubscribe: the secret in a mail turns off the digest of its member, once and for all.
func TestUnsubscribe(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o *office) {
		owner, other := o.member(t, "ada", "UTC", daily(7)), o.member(t, "bea", "UTC", daily(7))
		o.runAt(t, "2026-03-26T07:00:00Z", 2, 0)
		secret := o.get(t, owner).UnsubscribeSecret
		if secret == "" || secret == o.get(t, other).UnsubscribeSecret {
			t.Fatalf("the secret is %q", secret)
		}
		for _, wrong := range []string{"", secret + "x", strings.ToUpper(secret)} {
			if err := digest.Unsubscribe(t.Context(), o.DB, wrong); !fault.Is(err, fault.NotFound) {
				t.Errorf("%q: %v", wrong, err)
			}
		}
		if m, err := digest.FindUnsubscribe(t.Context(), o.DB, secret); err != nil || m.ID != owner {
			t.Errorf("%+v, %v", m, err)
		}
		for range 2 {
			if err := digest.Unsubscribe(t.Context(), o.DB, secret); err != nil {
				t.Error(err)
			}
		}
		o.runAt(t, "2026-03-27T07:00:00Z", 1, 0)
		if d := o.get(t, owner); d.Rhythm != digest.Off {
			t.Errorf("%+v", d)
		}
	})
}

// TestChoices: what a member cannot choose.
func TestChoices(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o *office) {
		owner := dbtest.Member(t, o.DB, "ada")
		if d := o.get(t, owner); d.Choice != digest.Default() {
			t.Errorf("%+v", d)
		}
		for field, c := range map[string]digest.Choice{
			digest.FieldRhythm: {Rhythm: "hourly"}, digest.FieldWeekday: {Rhythm: digest.Weekly, Weekday: 7}, digest.FieldHour: {Rhythm: digest.Daily, Hour: 24},
			digest.FieldLead: {Rhythm: digest.Daily, LeadDays: digest.MaxLead + 1},
		} {
			err := o.Tenant(owner, false).Write(t.Context(), db.Actor{}, func(ctx context.Context, tx *db.Tx) error {
				return digest.SaveDigest(ctx, tx, time.UTC, c)
			})
			coded, ok := errors.AsType[*fault.Error](err)
			if !ok || coded.Code != fault.Invalid || len(coded.Fields) != 1 || coded.Fields[0].Name != field {
				t.Errorf("%s: %v", field, err)
			}
		}
	})
}
