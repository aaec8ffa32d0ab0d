// Package digest owns when members get a digest by mail: what each of them chose, when the next one is due, and since
// when none can be delivered. Package web writes the digests.
//
// A digest belongs to a day in the member's time zone. It is settled when it was sent, or had nothing to say, and the
// next one is for a later day: so nobody gets two for one day, and none is left out, whatever the clocks do. What cannot
// be delivered is not stored: each try writes the digest anew, from the day that was settled last.
package digest

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/uptrace/bun"
)

// How often a member gets a digest.
const (
	Off    = "off"
	Daily  = "daily"
	Weekly = "weekly"
)

// Names of the choices, as forms spell them.
const (
	FieldRhythm  = "rhythm"
	FieldWeekday = "weekday"
	FieldHour    = "hour"
	FieldLead    = "lead"
)

// MaxLead is how many days ahead a birthday can be named.
const MaxLead = 30

// Choice is what a member chooses.
type Choice struct {
	// Rhythm is Off, Daily or Weekly.
	Rhythm string
	// Weekday is the day of a weekly digest.
	Weekday time.Weekday
	// Hour is the hour of the day in the member's time zone, from 0 to 23.
	Hour int
	// LeadDays is how many days before a birthday or an anniversary the digest names it for the first time, up to MaxLead.
	LeadDays int
}

// Digest is what a member chose and how far the digests got, and its database row.
type Digest struct {
	TenantID tenant.ID `bun:",pk"`
	Choice   `bun:"embed:"`

	// NextAt is when a worker looks at it again; zero while it is off.
	NextAt time.Time `bun:",nullzero"`
	// SettledDay is the last day whose digest was sent or had nothing to say, in the member's time zone; empty for none.
	SettledDay string
	// CoveredUntil is the time until which the last digest has what happened.
	CoveredUntil time.Time `bun:",nullzero"`
	// SentAt is when the mail server took the last one.
	SentAt time.Time `bun:",nullzero"`
	// FailingSince is since when none can be delivered, and Failure why: one of mail.Failure, Unverified or Unwritten.
	FailingSince time.Time `bun:",nullzero"`
	Failure      string
	// UnsubscribeSecret is the secret of the link in each mail that turns the digest off. It can do nothing else, so it
	// is stored as it is: the links of older mails go on working.
	UnsubscribeSecret string `bun:",nullzero"`
	UpdatedAt         time.Time
}

// The failures without an attempt to send.
const (
	// Unverified: the member has not confirmed their address.
	Unverified = "unverified"
	// Unwritten: an error of Kith, which is in its log.
	Unwritten = "unwritten"
)

// Default is what a form offers to a member who has chosen nothing.
func Default() Choice { return Choice{Rhythm: Off, Weekday: time.Monday, Hour: 7, LeadDays: 7} }

// check fails with fault.Invalid, naming the choice that breaks a rule.
func (c Choice) check() error {
	switch {
	case !slices.Contains([]string{Off, Daily, Weekly}, c.Rhythm):
		return fault.InvalidField(FieldRhythm, "choose off, daily or weekly")
	case c.Weekday < time.Sunday || c.Weekday > time.Saturday:
		return fault.InvalidField(FieldWeekday, "choose a day of the week")
	case c.Hour < 0 || c.Hour > 23:
		return fault.InvalidField(FieldHour, "choose an hour from 0 to 23")
	case c.LeadDays < 0 || c.LeadDays > MaxLead:
		return fault.InvalidField(FieldLead, "choose up to %d days", MaxLead)
	}
	return nil
}

// latest returns the last day whose digest is due at a time or before.
func (c Choice) latest(now time.Time, zone *time.Location) time.Time {
	day := civil.Of(now, zone)
	for c.Rhythm == Weekly && day.Weekday() != c.Weekday || civil.At(day, c.Hour, zone).After(now) {
		day = day.AddDate(0, 0, -1)
	}
	return day
}

// after returns when the first digest for a later day than the given one is due.
func (c Choice) after(day time.Time, zone *time.Location) time.Time {
	day = day.AddDate(0, 0, 1)
	for c.Rhythm == Weekly && day.Weekday() != c.Weekday {
		day = day.AddDate(0, 0, 1)
	}
	return civil.At(day, c.Hour, zone)
}

// settled returns the day that was settled last, at most today: the member may have moved to where it is still yesterday.
// It returns the zero time for none.
func (d *Digest) settled(now time.Time, zone *time.Location) time.Time {
	day, err := time.Parse(time.DateOnly, d.SettledDay)
	if today := civil.Of(now, zone); err == nil && day.After(today) {
		return today
	}
	return day
}

// GetDigest returns the member's digest: Default if they never chose.
func GetDigest(ctx context.Context, q db.Reader) (*Digest, error) {
	d := &Digest{}
	err := q.From(d).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return &Digest{TenantID: q.TenantID(), Choice: Default()}, nil
	}
	return d, err
}

// SaveDigest stores what the member chose. The first digest is for the next day that comes, also after another day of the week
// was chosen; another hour keeps a digest that is still due. It fails with fault.Invalid for a choice that there is not.
func SaveDigest(ctx context.Context, tx *db.Tx, zone *time.Location, c Choice) error {
	if err := c.check(); err != nil {
		return err
	}
	d, err := GetDigest(ctx, tx)
	if err != nil {
		return err
	}
	settled := d.settled(tx.Now(), zone)
	if c.Rhythm == Off {
		d.NextAt, d.FailingSince, d.Failure = time.Time{}, time.Time{}, ""
	} else {
		if latest := c.latest(tx.Now(), zone); latest.After(settled) && (c.Rhythm != d.Rhythm || c.Weekday != d.Weekday) {
			settled = latest
		}
		if d.Rhythm == Off {
			d.CoveredUntil = tx.Now()
		}
		d.SettledDay = settled.Format(time.DateOnly)
		next := c.after(settled, zone).UTC()
		if claimed := d.NextAt; claimed.After(next) && claimed.Sub(tx.Now()) <= lease { // a worker may be sending one
			next = claimed
		}
		d.NextAt = next
	}
	d.Choice, d.UpdatedAt = c, tx.Now()
	insert := tx.NewInsert().Model(d).On("CONFLICT (tenant_id) DO UPDATE")
	for _, column := range []string{"rhythm", "weekday", "hour", "lead_days", "next_at", "settled_day", "covered_until", "failing_since", "failure", "updated_at"} {
		insert = insert.Set("? = EXCLUDED.?", bun.Ident(column), bun.Ident(column))
	}
	_, err = insert.Exec(ctx)
	return err
}

// Unsubscribe turns off the digest of the secret in a mail's link. It fails with fault.NotFound if there is no such
// secret, and does nothing if the digest is off already.
func Unsubscribe(ctx context.Context, s *db.DB, secret string) error {
	result, err := s.NewWrite(`UPDATE digests SET rhythm = ?, next_at = NULL, failing_since = NULL, failure = '', updated_at = ?
WHERE unsubscribe_secret = ?`, Off, s.Now(), secret).Exec(ctx)
	return db.MustMeet(result, err, "the link does not belong to a digest")
}

// FindUnsubscribe returns whose digest a secret turns off; it fails with fault.NotFound if there is none.
func FindUnsubscribe(ctx context.Context, s *db.DB, secret string) (*account.Member, error) {
	d := &Digest{}
	err := s.NewSelect().Model(d).Where("unsubscribe_secret = ?", secret).Scan(ctx)
	if _, err = db.Found(d, err, "the link does not belong to a digest"); err != nil {
		return nil, err
	}
	return account.GetMemberByID(ctx, s, d.TenantID)
}

// Overdue returns how long the digest of all members that is due the longest has been due, not above 0 if none is, and how many could not be
// sent at the last try.
func Overdue(ctx context.Context, s *db.DB) (overdue time.Duration, failing int, err error) {
	var next bun.NullTime
	err = s.NewRaw("SELECT min(next_at), count(failing_since) FROM digests WHERE next_at IS NOT NULL").Scan(ctx, &next, &failing)
	if next.IsZero() {
		return 0, failing, err
	}
	return s.Now().Sub(next.Time), failing, err
}

// lease is how long a worker may take for one digest: after that, another one tries it.
const lease = account.DigestLease

// claim returns the digest that is due the longest, and takes it out of the reach of other workers until the lease ends;
// nil if none is due. A digest without a secret gets the given one.
func claim(ctx context.Context, s *db.DB, secret string) (d *Digest, err error) {
	err = s.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		d = &Digest{}
		err := tx.NewRaw(`UPDATE digests SET next_at = ?, unsubscribe_secret = coalesce(unsubscribe_secret, ?) WHERE next_at <= ? AND tenant_id =
(SELECT tenant_id FROM digests WHERE next_at <= ? ORDER BY next_at, tenant_id LIMIT 1`+db.LockRows(tx, " FOR UPDATE SKIP LOCKED")+`) RETURNING ?`,
			s.Now().Add(lease), secret, s.Now(), s.Now(), db.Columns[Digest](s)).Scan(ctx, d)
		if errors.Is(err, sql.ErrNoRows) {
			d, err = nil, nil
		}
		return err
	})
	return d, err
}

// The statements that end a claim change next_at only if it is still that of the claim: the member may have chosen
// another time in between.

// settle stores that the digest of a day is done, and when the next one is due. sent is zero if there was nothing to say.
func (d *Digest) settle(ctx context.Context, s *db.DB, day, until, sent, next time.Time) error {
	_, err := s.NewWrite(`UPDATE digests SET settled_day = ?, covered_until = ?, sent_at = coalesce(?, sent_at), failing_since = NULL, failure = '',
next_at = CASE WHEN next_at = ? THEN ? ELSE next_at END WHERE tenant_id = ?`,
		day.Format(time.DateOnly), until, bun.NullTime{Time: sent}, d.NextAt, next.UTC(), d.TenantID).Exec(ctx)
	return err
}

// reschedule stores which day is settled in the member's new time zone, and when the next digest is due there.
func (d *Digest) reschedule(ctx context.Context, s *db.DB, settled, next time.Time) error {
	_, err := s.NewWrite("UPDATE digests SET settled_day = ?, next_at = ? WHERE tenant_id = ? AND next_at = ?",
		settled.Format(time.DateOnly), next.UTC(), d.TenantID, d.NextAt).Exec(ctx)
	return err
}

// fail stores that the digest cannot be delivered, why, and when to try again.
func (d *Digest) fail(ctx context.Context, s *db.DB, failure string, next time.Time) error {
	_, err := s.NewWrite(`UPDATE digests SET failing_since = coalesce(failing_since, ?), failure = ?, next_at = CASE WHEN next_at = ? THEN ? ELSE next_at END
WHERE tenant_id = ? AND rhythm <> ?`, s.Now(), failure, d.NextAt, next.UTC(), d.TenantID, Off).Exec(ctx)
	return err
}

// failDue stores that none of the digests that are due can be delivered. They stay due.
func failDue(ctx context.Context, s *db.DB, failure string) error {
	_, err := s.NewWrite("UPDATE digests SET failing_since = coalesce(failing_since, ?), failure = ? WHERE next_at <= ?", s.Now(), failure, s.Now()).Exec(ctx)
	return err
}
