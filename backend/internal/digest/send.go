package digest

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/mail"
)

// JobKind is the name of the system job that sends digests, and Every how often it runs.
const (
	JobKind = "send_digests"
	Every   = 5 * time.Minute
)

// Sender sends the digests that are due. It is safe for concurrent use, also by several processes.
type Sender struct {
	Store *db.DB
	// Write writes the digest of a member for what happened since d.CoveredUntil and is due after d.SettledDay; nil if
	// there is nothing to say.
	Write func(ctx context.Context, m *account.Member, d *Digest) (*mail.Message, error)
	// Send sends an email; its errors are those of mail.Mailer.Send.
	Send   func(ctx context.Context, email *mail.Message) error
	Logger *slog.Logger
}

// Result is what a run did.
type Result struct {
	Sent int `json:"sent"`
	// Empty had nothing to say.
	Empty  int `json:"empty"`
	Failed int `json:"failed"`
}

const (
	// atOnce is how many digests are written and sent at the same time.
	atOnce = 4
	// perDigest limits the time for one; it is shorter than the lease.
	perDigest = 2 * time.Minute
	// longestWait is the longest time between two tries of a digest that the mail server refuses.
	longestWait = 6 * time.Hour
)

// errServer ends a run, because the mail server takes no email at all.
var errServer = errors.New("the mail server takes no email")

// Run sends all digests that are due. If the mail server cannot be reached, it stores that for all of them and ends.
// Otherwise a digest that fails does not keep the others from being sent.
func (s *Sender) Run(ctx context.Context) (Result, error) {
	var (
		mu      sync.Mutex
		result  Result
		failure error
		workers sync.WaitGroup
	)
	// next handles one digest and reports whether to go on.
	next := func() bool {
		mu.Lock()
		ended := failure != nil
		mu.Unlock()
		if ended || ctx.Err() != nil {
			return false
		}
		one, found, err := s.sendNext(ctx)
		mu.Lock()
		defer mu.Unlock()
		result.Sent, result.Empty, result.Failed = result.Sent+one.Sent, result.Empty+one.Empty, result.Failed+one.Failed
		failure = errors.Join(failure, err)
		return found && err == nil
	}
	for range atOnce {
		workers.Go(func() {
			for next() {
			}
		})
	}
	workers.Wait()
	if errors.Is(failure, errServer) {
		return result, failDue(ctx, s.Store, string(mail.Unreachable))
	}
	return result, errors.Join(failure, ctx.Err())
}

// sendNext claims a digest and sends it. It reports false if none is due.
func (s *Sender) sendNext(ctx context.Context) (done Result, found bool, err error) {
	secret, err := account.NewSecret("")
	if err != nil {
		return done, false, err
	}
	d, err := claim(ctx, s.Store, secret)
	if err != nil || d == nil {
		return done, false, err
	}
	// A stopping process finishes the one that it has begun: it must not be sent again.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), perDigest)
	defer cancel()
	m, err := account.GetMemberByID(ctx, s.Store, d.TenantID)
	if err != nil {
		return done, true, err
	}
	now, zone := s.Store.Now(), civil.Zone(m.Timezone)
	day, settled := d.latest(now, zone), d.settled(now, zone)
	switch {
	case !day.After(settled): // the member's time zone has changed
		return done, true, d.reschedule(ctx, s.Store, settled, d.after(settled, zone))
	case !m.Active():
		return done, true, d.settle(ctx, s.Store, day, now, time.Time{}, d.after(day, zone))
	case m.EmailVerifiedAt.IsZero():
		done.Failed++
		return done, true, d.fail(ctx, s.Store, Unverified, now.Add(d.wait(now)))
	}
	email, err := s.Write(ctx, m, d)
	if err != nil {
		s.Logger.ErrorContext(ctx, "write a digest", "error", err)
		done.Failed++
		return done, true, d.fail(ctx, s.Store, Unwritten, now.Add(d.wait(now)))
	}
	if email == nil {
		done.Empty++
		return done, true, d.settle(ctx, s.Store, day, now, time.Time{}, d.after(day, zone))
	}
	if err := s.Send(ctx, email); err != nil {
		done.Failed++
		return done, true, s.failed(ctx, d, mail.FailureOf(err))
	}
	done.Sent++
	return done, true, d.settle(ctx, s.Store, day, now, now, d.after(day, zone))
}

// failed stores why a digest could not be sent. It fails with errServer if no other one can be sent either.
func (s *Sender) failed(ctx context.Context, d *Digest, why mail.Failure) error {
	now := s.Store.Now()
	if why == mail.Unreachable {
		return errors.Join(errServer, d.fail(ctx, s.Store, string(why), now))
	}
	return d.fail(ctx, s.Store, string(why), now.Add(d.wait(now)))
}

// wait returns how long to wait after a failure that concerns one recipient: about as long as it has been failing.
func (d *Digest) wait(now time.Time) time.Duration {
	if d.FailingSince.IsZero() {
		return Every
	}
	return min(max(Every, now.Sub(d.FailingSince)), longestWait)
}
