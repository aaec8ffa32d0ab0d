package web

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// accountShare is how many addresses can spend their whole quota on one account
// before the account itself is closed to unknown devices. With a share of one, a
// single attacker could lock a member out.
const accountShare = 5

// limit is the login policy of a subject, with share times its quota.
func (v *request) limit(subject string, share int) account.Limit {
	return account.Limit{Subject: subject, Policy: account.RatePolicy{Quota: v.Config.Login.Quota * share, Window: v.Config.Login.Window}}
}

// addressLimit limits the attempts of one client.
func (v *request) addressLimit(kind string) account.Limit {
	return v.limit(account.Subject(kind+" address", v.addressBucket()), 1)
}

func (v *request) addressBucket() string { return account.AddressBucket(v.ClientAddress(v.R)) }

// attemptLink counts an attempt to use a mailed link, on the client's address and on the link: whoever
// has a link could otherwise have passwords hashed and usernames tried without a limit.
func (v *request) attemptLink(kind, linkHash string) error {
	return v.attempt(v.addressLimit(kind), v.limit(account.Subject(kind+" link", linkHash), 1))
}

// attempt counts an attempt on every limit. If one of them is exhausted, it counts nothing and
// returns a page that says when to try again.
func (v *request) attempt(limits ...account.Limit) error {
	_, err := v.attemptQuietly(limits...)
	return err
}

// attemptQuietly is attempt with additional quiet limits; it returns whether one of
// those is exhausted.
func (v *request) attemptQuietly(limits ...account.Limit) (closed bool, err error) {
	if v.Config.Login.Quota == 0 {
		return false, nil
	}
	decision, err := account.SpendAttempts(v.R.Context(), v.Store, limits...)
	if err != nil {
		return false, err
	}
	v.limitHeaders(decision)
	if decision.Allowed {
		return decision.Closed, nil
	}
	wait := max(time.Second, decision.Reset)
	v.W.Header().Set("Retry-After", seconds(wait))
	fullMinute := v.Now().UTC().Add(wait + time.Minute - 1).Format("15:04 UTC")
	return false, page.Refuse(http.StatusTooManyRequests, "Too many attempts", fmt.Sprintf(
		"To keep accounts safe, you have to wait. Try again in %s, at %s.", v.Text(minutes(wait)), fullMinute))
}

// limitHeaders writes the headers of every limited response.
func (v *request) limitHeaders(d account.Decision) {
	h := v.W.Header()
	reset := seconds(d.Reset)
	h.Set("RateLimit", fmt.Sprintf(`"login";r=%d;t=%s`, d.Remaining, reset))
	h.Set("RateLimit-Policy", fmt.Sprintf(`"login";q=%d;w=%s`, v.Config.Login.Quota, seconds(v.Config.Login.Window)))
	h.Set("RateLimit-Limit", strconv.Itoa(v.Config.Login.Quota))
	h.Set("RateLimit-Remaining", strconv.Itoa(d.Remaining))
	h.Set("RateLimit-Reset", reset)
}

// seconds returns a duration in seconds, rounded up, so that no client retries too
// early.
func seconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}

func minutes(d time.Duration) string {
	n := int((d + time.Minute - 1) / time.Minute)
	if n == 1 {
		return "one minute"
	}
	return strconv.Itoa(n) + " minutes"
}

// checkPassword reports whether the password is the member's. It takes equally long if there is
// no such member, or if the member may not sign in. For a suspended member it returns a page that
// says so, but only if the password is right.
func (v *request) checkPassword(m *account.Member, given string) (bool, error) {
	hash := v.dummyHash
	if m != nil && !m.ReadOnly && m.PasswordHash != "" {
		hash = m.PasswordHash
	}
	leave, err := v.enterHashing()
	if err != nil {
		return false, err
	}
	defer leave()
	right := v.verifyHash(hash, given) && hash != v.dummyHash
	if right && !m.Active() {
		return false, v.refuseSuspended(m)
	}
	return right, nil
}

// refuseSuspended returns the page for a suspended member who gave their password.
func (v *request) refuseSuspended(m *account.Member) error {
	hasMoved, err := account.HasMoved(v.R.Context(), v.Store, m.ID)
	if err != nil {
		return err
	}
	if hasMoved {
		return page.Refuse(http.StatusForbidden, "Your account has moved",
			"It is at another address now, with everything in it: sign in there with the same password. Ask the owner of this server for the address.")
	}
	return page.Refuse(http.StatusForbidden, "Your account is suspended",
		"Nothing of yours was deleted, but you cannot use the account for now. Ask the owner of this server.")
}

func (v *request) hashPassword(chosen string) (string, error) {
	leave, err := v.enterHashing()
	if err != nil {
		return "", err
	}
	defer leave()
	return v.PasswordCost.Hash(chosen)
}

// maxHashWait is how long a request waits for its turn to hash a password.
const maxHashWait = 10 * time.Second

func (v *request) enterHashing() (leave func(), err error) {
	timer := time.NewTimer(maxHashWait)
	defer timer.Stop()
	select {
	case v.hashing <- struct{}{}:
		return func() { <-v.hashing }, nil
	case <-timer.C:
		return nil, fault.New(fault.Unavailable, "too many passwords are checked at this moment")
	case <-v.R.Context().Done():
		return nil, fault.Wrap(v.R.Context().Err(), fault.Unavailable, "the browser has gone")
	}
}

// checkOwnPassword asks for the password of the signed-in member, so that an open
// browser is not enough; name is the field that holds it. It has its own budget, which
// wrong passwords at the sign-in page do not spend. A wrong password is a security
// event.
func (v *request) checkOwnPassword(m *account.Member, name string) (bool, error) {
	if v.PasswordConfirmed {
		return true, nil
	}
	if err := v.attempt(v.limit(account.Subject("own password", string(m.ID)), 1)); err != nil {
		return false, err
	}
	right, err := v.checkPassword(m, v.R.PostForm.Get(name))
	if err == nil && !right {
		v.record(account.PasswordCheckFailed, m.ID, "")
	}
	return right, err
}
