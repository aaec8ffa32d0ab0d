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

// collapseWithin is the period in which failures of one kind from one network share a row.
const collapseWithin = time.Hour

// CreateSecurityEvent stores an event with the current time and sets Times. A failure that already
// has a row within collapseWithin is counted there instead.
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

// ListSecurityEvents returns a member's events, the latest first. Unless before is 0, it returns
// only events with a lower id.
func ListSecurityEvents(ctx context.Context, s *db.DB, owner tenant.ID, before int64, limit int) ([]SecurityEvent, error) {
	var events []SecurityEvent
	q := s.NewSelect().Model(&events).Where("tenant_id = ?", owner).Order("id DESC").Limit(int64(limit))
	if before > 0 {
		q = q.Where("id < ?", before)
	}
	err := q.Scan(ctx)
	return events, err
}

// LastSecurityEvent returns the id of the latest event of all members; 0 if there is none.
func LastSecurityEvent(ctx context.Context, s *db.DB) (last int64, err error) {
	err = s.NewRaw("SELECT coalesce(max(id), 0) FROM security_events").Scan(ctx, &last)
	return last, err
}

// ListCommandEvents returns events that an operator's commands caused, of all members, after the event with an id,
// the earliest first.
func ListCommandEvents(ctx context.Context, s *db.DB, after int64) ([]SecurityEvent, error) {
	const most = 100
	var events []SecurityEvent
	err := s.NewSelect().Model(&events).Where("id > ?", after).Where("device = ?", CommandLine).Order("id").Limit(most).Scan(ctx)
	return events, err
}

// noticeFor is how long a new event is shown in a browser that has not dismissed its notice, and
// maxNotices how many are shown at once.
const (
	noticeFor  = 7 * 24 * time.Hour
	maxNotices = 5
)

// ListNotices returns the events for the notice in a browser, which replaces emails if no mail is
// sent: the latest events of other browsers whose notice was not dismissed in this one, the latest
// first. An event of the same session, but with another device or from another network, counts as one
// of another browser: the cookie may be copied. device and network are those of the request, from
// DeviceOf and CoarseAddress.
func ListNotices(ctx context.Context, s *db.DB, session *LoginSession, device, network string) ([]SecurityEvent, error) {
	var events []SecurityEvent
	err := s.NewSelect().Model(&events).Where("tenant_id = ?", session.MemberID).Where("id > ?", session.SeenEvent).Where("(session_id <> ? OR device <> ? OR address <> ?)", session.ID, device, network).
		Where("last_at > ?", s.Now().Add(-noticeFor)).Where("kind IN (?)", bun.List(notifiedKinds())).
		Where("(times >= ? OR kind NOT IN (?))", ManyFailures, bun.List(failures())).Order("id DESC").Limit(maxNotices).Scan(ctx)
	return events, err
}

// SuspendMember suspends a member: sign-in, tokens and grants stop working, and the profile and the
// directory entry are hidden. Login sessions end. Running jobs stop before the next step and wait.
// Everything except the sessions works again after ResumeMember. It fails with fault.NotFound if
// there is no such member, and with fault.Conflict if the member is already suspended.
func SuspendMember(ctx context.Context, s *db.DB, username string) (owner tenant.ID, err error) {
	err = s.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		now := s.Now()
		owner, err = setSuspended(ctx, tx, username, "UPDATE members SET suspended_at = ?, access_epoch = access_epoch + 1, updated_at = ? WHERE username = ? AND suspended_at IS NULL", now, now)
		if err != nil {
			return err
		}
		for _, statement := range []string{
			"DELETE FROM authorization_requests WHERE session_hash IN (SELECT hash FROM login_sessions WHERE member_id = ?)",
			"DELETE FROM login_sessions WHERE member_id = ?", deleteSteps,
			// The new fence ends the worker's lease, and workers do not claim jobs of suspended members.
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

// HasMoved reports whether a member is suspended because the account was moved to another installation.
func HasMoved(ctx context.Context, s *db.DB, owner tenant.ID) (bool, error) {
	var last EventKind
	err := s.NewRaw("SELECT kind FROM security_events WHERE tenant_id = ? AND kind IN (?) ORDER BY id DESC LIMIT 1",
		owner, bun.List([]EventKind{MemberSuspended, MemberResumed, AccountMoved, AccountImported})).Scan(ctx, &last)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return last == AccountMoved, err
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
