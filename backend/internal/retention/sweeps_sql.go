package retention

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/job"
)

// How long things are kept that have ended. The grace is for those that a
// transaction of the present may still hold, and for codes, so that a replayed
// one is recognised.
const (
	sweepGrace      = 24 * time.Hour
	keepEndedTokens = 90 * 24 * time.Hour
	keepIdleClients = 30 * 24 * time.Hour
	// keepIdleDocuments is shorter: a client that is known by its document is looked up
	// again when it comes back.
	keepIdleDocuments = 24 * time.Hour
	// keepArchived is how long people can be brought back.
	keepArchived = 30 * 24 * time.Hour
)

// SweepResult is how many rows a sweep deleted, by what they were.
type SweepResult struct {
	LoginSessions, Requests, Codes, Grants, RefreshTokens, PersonalTokens,
	MailLinks, SignUps, ProviderAttempts, LoginAttempts, Clients,
	Connections, Notes, Interactions, Keys, Jobs, Files, SecurityEvents,
	// Deletions is how many deletions became final.
	Deletions int64
}

// Total is the number of all rows deleted, and of deletions made final.
func (r SweepResult) Total() int64 {
	return r.LoginSessions + r.Requests + r.Codes + r.Grants + r.RefreshTokens + r.PersonalTokens +
		r.MailLinks + r.SignUps + r.ProviderAttempts + r.LoginAttempts + r.Clients +
		r.Connections + r.Notes + r.Interactions + r.Keys + r.Jobs + r.Files + r.SecurityEvents + r.Deletions
}

// The statements of a sweep. A grant ends with its current refresh token, or
// when it is revoked; its other tokens go with it. A spent refresh token of a
// live grant is kept until it would have expired, since until then a replay of
// it kills the grant.
const (
	endedGrants = `DELETE FROM grants WHERE revoked_at <= ? OR NOT EXISTS (
SELECT 1 FROM refresh_tokens r WHERE r.grant_id = grants.id AND r.spent_at IS NULL AND r.expires_at > ?)
AND NOT EXISTS (SELECT 1 FROM access_tokens a WHERE a.grant_id = grants.id AND a.expires_at > ?)`
	// A client that was ever granted anything has a last_used_at, and stays.
	idleClients = `DELETE FROM clients WHERE last_used_at IS NULL AND (created_at <= ? OR id LIKE 'https://%' AND created_at <= ?)
AND NOT EXISTS (SELECT 1 FROM authorization_requests r WHERE r.client_id = clients.id)
AND NOT EXISTS (SELECT 1 FROM authorization_codes c WHERE c.client_id = clients.id)
AND NOT EXISTS (SELECT 1 FROM grants g WHERE g.client_id = clients.id)`
)

// Sweep deletes what has ended by now: sessions, requests, codes, tokens, mail
// links, sign-ins, counted attempts and keyed answers that expired, files that waited for a day, clients that nobody has used in
// the 30 days since they registered, or in the day since their document was read, people who were archived 30 days ago, and the bin's people after 30 days. What one statement fails to delete does not
// keep the others; the next sweep comes back to it.
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
		{&r.SignUps, "DELETE FROM sign_ups WHERE expires_at <= ?", []any{now}},
		{&r.ProviderAttempts, "DELETE FROM provider_attempts WHERE expires_at <= ?", []any{now}},
		{&r.LoginAttempts, "DELETE FROM login_attempts WHERE expires_at <= ?", []any{now}},
		{&r.Keys, "DELETE FROM idempotency_keys WHERE expires_at <= ?", []any{now}},
		{&r.Jobs, job.SweepJobs, []any{now.Add(-job.KeepJobs)}},
		{&r.Files, importer.SweepFiles, []any{now.Add(-importer.KeepFiles)}},
		{&r.SecurityEvents, "DELETE FROM security_events WHERE at <= ?", []any{now.Add(-account.KeepSecurityEvents)}},
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
	if err := purge(ctx, s, now.Add(-keepArchived), &r); err != nil {
		errs = append(errs, fmt.Errorf("sweep archived people: %w", err))
	}
	var err error
	if r.Deletions, err = history.SweepBin(ctx, s, now); err != nil {
		errs = append(errs, fmt.Errorf("sweep the bin: %w", err))
	}
	return r, errors.Join(errs...)
}
