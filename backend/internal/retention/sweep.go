package retention

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/billing"
	"github.com/kith-crm/kith/backend/internal/dav"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/decision"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/photos"
)

// How long rows are kept after they ended. The grace period is for rows that a running
// transaction may still use, and for codes, so that a replayed one is recognised.
const (
	sweepGrace      = 24 * time.Hour
	keepEndedTokens = 90 * 24 * time.Hour
	keepIdleClients = 30 * 24 * time.Hour
	// keepIdleDocuments is shorter: the metadata document of a client is read again when
	// the client returns.
	keepIdleDocuments = 24 * time.Hour
	// maxJump is how far the clock may be ahead of the last sweep.
	maxJump = 24 * time.Hour
)

// ErrClockJumped is the error of a sweep that deleted nothing, because kith was off, or its clock may be wrong.
var ErrClockJumped = errors.New("the clock is more than a day ahead of the last sweep: nothing was deleted, the next sweep will")

// SweepResult is how many rows a sweep deleted, by what they held.
type SweepResult struct {
	LoginSessions, Requests, Codes, Grants, RefreshTokens, PersonalTokens,
	MailLinks, NotMeLinks, SignUps, OwnerLinks, ProviderAttempts, SignInSteps, PasskeyChallenges, DeviceLogins, LoginAttempts, Clients,
	Keys, Jobs, Decisions, Proposals, Files, SecurityEvents, Reads, Photos,
	// Answers is how many stored answers to refreshes were deleted, Deletions how many
	// deletions became permanent. UnusedDevices is how many devices were removed because their program
	// never asked for the app password.
	Answers, Deletions, UnusedDevices int64
}

// Total returns the number of all rows deleted, plus the deletions made permanent.
func (r SweepResult) Total() int64 {
	return r.LoginSessions + r.Requests + r.Codes + r.Grants + r.RefreshTokens + r.PersonalTokens +
		r.MailLinks + r.NotMeLinks + r.SignUps + r.OwnerLinks + r.ProviderAttempts + r.SignInSteps + r.PasskeyChallenges + r.DeviceLogins + r.LoginAttempts + r.Clients +
		r.Keys + r.Answers + r.Jobs + r.Decisions + r.Proposals + r.Files + r.SecurityEvents + r.Reads + r.Photos + r.Deletions
}

// The statements of a sweep. A grant ends with its current refresh token, or
// when it is revoked; its other tokens are deleted with it. A spent refresh token of a
// live grant is kept until it would have expired, since until then a replay of
// it revokes the grant.
const (
	endedGrants = `DELETE FROM grants WHERE revoked_at <= ? OR NOT EXISTS (
SELECT 1 FROM refresh_tokens r WHERE r.grant_id = grants.id AND r.spent_at IS NULL AND r.expires_at > ?)
AND NOT EXISTS (SELECT 1 FROM access_tokens a WHERE a.grant_id = grants.id AND a.expires_at > ?)`
	// A client that ever had a grant has a last_used_at, and is kept.
	idleClients = `DELETE FROM clients WHERE last_used_at IS NULL AND (created_at <= ? OR id LIKE 'https://%' AND created_at <= ?)
AND NOT EXISTS (SELECT 1 FROM authorization_requests r WHERE r.client_id = clients.id)
AND NOT EXISTS (SELECT 1 FROM authorization_codes c WHERE c.client_id = clients.id)
AND NOT EXISTS (SELECT 1 FROM grants g WHERE g.client_id = clients.id)`
)

// Sweep deletes what has ended:
//   - expired sessions, requests, codes, tokens, mail links, sign-ins, requests of devices, counted
//     attempts, stored answers to refreshes and stored responses of idempotency keys;
//   - uploaded files after a day;
//   - clients that were not used in the 30 days since they registered, or in the day since their
//     document was read;
//   - people who were moved to the bin 30 days ago; nothing deletes archived people;
//   - decisions, 90 days after they could be made, and proposals of devices, 90 days after they were decided on;
//   - photos that were unused for 30 days.
//
// When one statement fails, the others still run; the next sweep tries it again.
func Sweep(ctx context.Context, s *db.DB, now time.Time) (SweepResult, error) {
	now = now.UTC()
	before := now.Add(-sweepGrace)
	ended := now.Add(-keepEndedTokens)
	var r SweepResult
	var errs []error
	for _, step := range []struct {
		count     *int64
		statement string
		args      []any
	}{
		{&r.Requests, "DELETE FROM authorization_requests WHERE expires_at <= ?", []any{now}},
		{&r.LoginSessions, "DELETE FROM login_sessions WHERE expires_at <= ?", []any{now}},
		{&r.Codes, "DELETE FROM authorization_codes WHERE expires_at <= ?", []any{before}},
		{&r.Grants, endedGrants, []any{before, before, before}},
		{&r.RefreshTokens, "DELETE FROM refresh_tokens WHERE spent_at IS NOT NULL AND expires_at <= ?", []any{before}},
		{&r.PersonalTokens, "DELETE FROM personal_tokens WHERE revoked_at <= ? OR expires_at <= ?", []any{ended, ended}},
		{&r.MailLinks, "DELETE FROM mail_links WHERE expires_at <= ?", []any{now}},
		{&r.NotMeLinks, "DELETE FROM not_me_links WHERE expires_at <= ? AND objected_at IS NULL", []any{now}},
		{&r.SignUps, "DELETE FROM sign_ups WHERE expires_at <= ?", []any{now}},
		{&r.OwnerLinks, "DELETE FROM owner_links WHERE expires_at <= ?", []any{now}},
		{&r.ProviderAttempts, "DELETE FROM provider_attempts WHERE expires_at <= ?", []any{now}},
		{&r.SignInSteps, "DELETE FROM sign_in_steps WHERE expires_at <= ?", []any{now}},
		{&r.PasskeyChallenges, "DELETE FROM passkey_challenges WHERE expires_at <= ?", []any{now}},
		{&r.UnusedDevices, account.RevokeUnusedDevices, []any{now, now}},
		{&r.DeviceLogins, "DELETE FROM device_logins WHERE expires_at <= ?", []any{now}},
		{&r.LoginAttempts, "DELETE FROM login_attempts WHERE expires_at <= ?", []any{now}},
		{&r.Answers, "UPDATE access_tokens SET answer = NULL WHERE answer IS NOT NULL AND created_at <= ?", []any{now.Add(-oauth.RepeatLifetime)}},
		{&r.Keys, "DELETE FROM idempotency_keys WHERE expires_at <= ?", []any{now}},
		{&r.Jobs, job.SweepJobs, []any{now.Add(-job.KeepJobs)}},
		{&r.Decisions, decision.Sweep, []any{decision.SweepBefore(now)}},
		{&r.Proposals, dav.SweepProposals, []any{dav.SweepBefore(now)}},
		{&r.Files, importer.SweepFiles, []any{now.Add(-importer.KeepFiles)}},
		{&r.SecurityEvents, "DELETE FROM security_events WHERE at <= ?", []any{now.Add(-account.KeepSecurityEvents)}},
		{&r.Reads, billing.SweepReads, []any{billing.ReadDay(now.AddDate(0, 0, -billing.KeepReadDays))}},
		{&r.Clients, idleClients, []any{now.Add(-keepIdleClients), now.Add(-keepIdleDocuments)}},
	} {
		result, err := s.NewWrite(step.statement, step.args...).Exec(ctx)
		if err == nil {
			*step.count, err = result.RowsAffected()
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("sweep: %w", err))
		}
	}
	var err error
	if r.Photos, err = photos.Sweep(ctx, s, now); err != nil {
		errs = append(errs, fmt.Errorf("sweep photos: %w", err))
	}
	if r.Deletions, err = history.SweepBin(db.WithoutQuota(ctx), s, now); err != nil {
		errs = append(errs, fmt.Errorf("sweep the bin: %w", err))
	}
	return r, errors.Join(errs...)
}

// SweepByClock is Sweep by a clock that may be wrong for a moment. If it is more than a day ahead of the last sweep,
// nothing is deleted and the error is ErrClockJumped; the next sweep deletes, if the clock still says so.
func SweepByClock(ctx context.Context, s *db.DB, now time.Time) (SweepResult, error) {
	known, err := s.Installation(ctx)
	if err == nil {
		err = s.MarkSwept(ctx, now)
	}
	if err != nil {
		return SweepResult{}, fmt.Errorf("record the sweep: %w", err)
	}
	if !known.SweptAt.IsZero() && now.Sub(known.SweptAt) > maxJump {
		return SweepResult{}, ErrClockJumped
	}
	return Sweep(ctx, s, now)
}
