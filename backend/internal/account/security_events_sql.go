package account

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/uptrace/bun"
)

// KeepSecurityEvents is how long security events are stored.
const KeepSecurityEvents = 365 * 24 * time.Hour

// collapseWithin is the time in which failures of one kind, from one network, are one row.
const collapseWithin = time.Hour

// CreateSecurityEvent stores an event with the current time, or counts it on the row of the same
// failure within the hour, and sets Times.
func CreateSecurityEvent(ctx context.Context, s *db.DB, e *SecurityEvent) error {
	now := s.Now()
	if e.Kind.collapses() {
		err := s.NewWrite(`UPDATE security_events SET times = times + 1, last_at = ? WHERE id = (
SELECT max(id) FROM security_events WHERE subject = ? AND kind = ? AND address = ? AND at > ?) RETURNING id, at, times`,
			now, e.Subject, e.Kind, e.Address, now.Add(-collapseWithin)).Scan(ctx, &e.ID, &e.At, &e.Times)
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
	}
	e.At, e.LastAt, e.Times = now, now, 1
	_, err := s.NewInsert().Model(e).Exec(ctx)
	return err
}

// ListSecurityEvents returns a member's latest events, the latest first: those with an id below
// before, unless that is 0.
func ListSecurityEvents(ctx context.Context, s *db.DB, owner tenant.ID, before int64, limit int) ([]SecurityEvent, error) {
	var events []SecurityEvent
	q := s.NewSelect().Model(&events).Where("tenant_id = ?", owner).Order("id DESC").Limit(int64(limit))
	if before > 0 {
		q = q.Where("id < ?", before)
	}
	err := q.Scan(ctx)
	return events, err
}

// noticeFor is how long a new event is shown in a browser that has not dismissed its notice, and
// maxNotices how many are shown at once.
const (
	noticeFor  = 7 * 24 * time.Hour
	maxNotices = 5
)

// ListNotices returns the events that the member is told of in a browser, where no mail is sent:
// the latest that happened elsewhere and whose notice was not dismissed there, the latest first. What
// happened in the same session with another device, or from another network, happened elsewhere: the
// cookie may be copied. device and network are those of the request, from DeviceOf and CoarseAddress.
func ListNotices(ctx context.Context, s *db.DB, session *LoginSession, device, network string) ([]SecurityEvent, error) {
	var events []SecurityEvent
	err := s.NewSelect().Model(&events).Where("tenant_id = ?", session.MemberID).Where("id > ?", session.SeenEvent).Where("(session_id <> ? OR device <> ? OR address <> ?)", session.ID, device, network).
		Where("last_at > ?", s.Now().Add(-noticeFor)).Where("kind IN (?)", bun.List(kindsToTell())).
		Where("(times >= ? OR kind NOT IN (?))", ManyFailures, bun.List(failures())).Order("id DESC").Limit(maxNotices).Scan(ctx)
	return events, err
}

// SuspendMember suspends a member: no sign-in, token or grant works, and their page and
// directory entry are hidden. Their login sessions end, and their running jobs stop before the
// next step and wait; the rest works again after ResumeMember. It fails with fault.NotFound if there is no such member, and with
// fault.Conflict if the member is already suspended.
func SuspendMember(ctx context.Context, s *db.DB, username string) (owner tenant.ID, err error) {
	err = s.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		now := s.Now()
		owner, err = setSuspended(ctx, tx, username, "UPDATE members SET suspended_at = ?, updated_at = ? WHERE username = ? AND suspended_at IS NULL", now, now)
		if err != nil {
			return err
		}
		for _, statement := range []string{
			"DELETE FROM authorization_requests WHERE session_hash IN (SELECT hash FROM login_sessions WHERE member_id = ?)",
			"DELETE FROM login_sessions WHERE member_id = ?", deleteSteps,
			// The worker's lease is over with another fence, and jobs of suspended members are not claimed.
			"UPDATE jobs SET state = 'queued', fence = fence + 1, lease_until = NULL WHERE tenant_id = ? AND state = 'running'",
		} {
			if _, err := tx.NewRaw(statement, owner).Exec(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	return owner, err
}

// ResumeMember ends a member's suspension. It fails with fault.NotFound if there is no
// such member, and with fault.Conflict if the member is not suspended.
func ResumeMember(ctx context.Context, s *db.DB, username string) (owner tenant.ID, err error) {
	err = s.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		owner, err = setSuspended(ctx, tx, username, "UPDATE members SET suspended_at = NULL, updated_at = ? WHERE username = ? AND suspended_at IS NOT NULL", s.Now())
		return err
	})
	return owner, err
}

func setSuspended(ctx context.Context, tx db.Querier, username, statement string, args ...any) (owner tenant.ID, err error) {
	err = tx.NewRaw("SELECT id FROM members WHERE username = ?"+Writable, username).Scan(ctx, &owner)
	if _, err = db.Found(&owner, err, "there is no member "+username+" who can be suspended"); err != nil {
		return "", err
	}
	result, err := tx.NewRaw(statement, append(args, username)...).Exec(ctx)
	if err != nil {
		return "", err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return "", fault.New(fault.Conflict, "nothing to do: %s is in that state already", username)
	}
	return owner, nil
}
