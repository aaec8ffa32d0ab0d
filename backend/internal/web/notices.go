package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/mail"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// noticePolicy limits the emails to one member about events of one kind. An attacker who causes
// many events of one kind cannot hide those of another.
func noticePolicy() account.RatePolicy { return account.RatePolicy{Quota: 5, Window: time.Hour} }

// tell emails a member about an event, in the background. Without mail, the next page of each
// browser shows it (page.Request.Render). A failure is only logged, because the event has already
// happened.
func (web *Web) tell(ctx context.Context, e account.SecurityEvent) {
	if web.Mailer == nil {
		return
	}
	// Read the address now: it may have changed by the time the email is written.
	m, err := account.GetMemberByID(ctx, web.Store, e.TenantID)
	if err != nil {
		web.Logger.WarnContext(ctx, "tell a member of a security event", "event", e.Kind, "error", err)
		return
	}
	if e.Email == "" {
		e.Email = m.Email
	}
	if e.At.IsZero() { // the event could not be stored
		e.At = web.Now().UTC()
	}
	if !web.Mailer.Enqueue(func(ctx context.Context) (*mail.Message, error) { return web.writeNotice(ctx, m, e) }) {
		web.Logger.WarnContext(ctx, "tell a member of a security event", "event", e.Kind, "error", "the queue of emails is full")
	}
}

// writeNotice writes the email about an event; nil if there were too many of its kind.
func (web *Web) writeNotice(ctx context.Context, m *account.Member, e account.SecurityEvent) (*mail.Message, error) {
	limit := account.Limit{Subject: account.Subject("notice "+string(e.Kind), string(m.ID)), Policy: noticePolicy()}
	if decision, err := account.SpendAttempts(ctx, web.Store, limit); err != nil || !decision.Allowed {
		return nil, err
	}
	names, err := web.objectNames(ctx, m.ID, e)
	if err != nil {
		return nil, err
	}
	secret, err := account.CreateNotMeLink(ctx, web.Store, m.ID, e.Email)
	if err != nil {
		return nil, err
	}
	return web.emails.notice(m, e, web.noticeOf(m, e, names[e.ObjectID]), secret)
}

// notice is the subject of an email about an event, and what happened.
type notice struct{ Subject, What string }

// noticeOf returns the words of the email about an event; object is the name of what it concerns.
func (web *Web) noticeOf(m *account.Member, e account.SecurityEvent, object string) notice {
	f := page.FormatOf(m.Locale)
	if object == "" {
		object = f.Text("without a name")
	} else {
		object = "“" + object + "”"
	}
	switch e.Kind {
	case account.SignedInNew:
		return notice{"New sign-in to your Kith account", f.Text("Somebody signed in to the Kith account %s in a browser that was not used for it before.", m.Username)}
	case account.AgentAllowed:
		return notice{"A new agent has access to your Kith account", f.Text("The agent %s was connected to the Kith account %s.", object, m.Username)}
	case account.AgentWidened:
		return notice{"An agent may do more with your Kith account", f.Text("The agent %s was allowed more of the Kith account %s than before.", object, m.Username)}
	case account.TokenCreated:
		return notice{"A new token for your Kith account", f.Text("The personal token %s was made for the Kith account %s. Whoever has it can use the account.", object, m.Username)}
	case account.DeviceAdded:
		return notice{"A new device for your Kith account", f.Text("The device %s was added to the Kith account %s. Whoever has its app password can read the contacts.", object, m.Username)}
	case account.FeedAdded:
		return notice{"A new calendar feed for your Kith account", f.Text("The calendar feed %s was made for the Kith account %s. Whoever has its address can read the dates in it.", object, m.Username)}
	case account.PasswordChanged:
		return notice{"Your Kith password was changed", f.Text("The password of the Kith account %s was changed, and other browsers were signed out.", m.Username)}
	case account.PasswordReset:
		return notice{
			"Your Kith password was changed",
			f.Text("A new password was set for the Kith account %s. Every browser was signed out, and no agent or personal token works any more.", m.Username),
		}
	case account.EmailChangeAsked:
		return notice{
			"A new e-mail address for your Kith account",
			f.Text("Somebody who knows the password of the Kith account %s asked to change its e-mail address. It changes once the new address is confirmed.", m.Username),
		}
	case account.EmailChanged:
		return notice{
			"Your Kith e-mail address was changed",
			f.Text("The e-mail address of the Kith account %s is another one now, and other browsers were signed out. This is the last email about it to this address.", m.Username),
		}
	case account.IdentityLinked:
		name := web.providerName()
		return notice{f.Text("Your Kith account is connected with %s", name), f.Text("From now on one can sign in to the Kith account %s with %s.", m.Username, name)}
	case account.AccountExported, account.PeopleExported:
		return notice{"Data of your Kith account was downloaded", f.Text("%s: the Kith account %s.", f.Text(e.Sentence("")), m.Username)}
	case account.DeletedForGood:
		return notice{"People were deleted for good from your Kith account", f.Text("People in the bin of the Kith account %s were deleted for good. Nobody can restore them.", m.Username)}
	case account.SignInFailed, account.PasswordCheckFailed, account.FactorFailed, account.SignInBlocked:
		return notice{"Failed sign-ins to your Kith account", f.Text("Somebody tries to get into the Kith account %s: %s.", m.Username, f.Text(e.Sentence("")))}
	default: // second factors
		return notice{"The sign-in to your Kith account was changed", f.Text("%s: the Kith account %s.", f.Text(e.Sentence("")), m.Username)}
	}
}

// notice writes the email about an event. Its link ends all access to the account.
func (e *emails) notice(m *account.Member, event account.SecurityEvent, n notice, secret string) (*mail.Message, error) {
	f := page.FormatOf(m.Locale)
	where := f.Text("It happened on %s", clockOf(m, event.At))
	if event.Device != "" {
		where += f.Text(", with %s", f.Text(event.Device))
	}
	if event.Address != "" {
		where += f.Text(", from the network %s", event.Address)
	}
	return e.write(event.Email, f, email{
		Subject: n.Subject,
		Lines: []string{
			n.What, where + ".",
			"If this was not you, open the link. It asks you to confirm, and then signs out every browser, disconnects every agent and token, " +
				"and sends you a link to choose a new password. It works once, for 7 days.",
		},
		Button: "This was not me", Link: e.link(page.PathNotMe, secret), Close: "If it was you, there is nothing to do.",
	})
}

// takenBack writes the email to an address that a link took the account back from.
func (e *emails) takenBack(m *account.Member, used *account.EndedAccess) (*mail.Message, error) {
	return e.write(used.Present, page.FormatOf(m.Locale), email{
		Subject: "Your Kith account has its previous e-mail address again",
		Lines: []string{
			"The owner of the previous address said that the change to this address was not theirs. All access was ended, and the account has the previous address again.",
		},
		Close: "If you are the owner of the account, ask the owner of this server for help.",
	})
}

// willBeTakenBack writes the email to the present address of an account whose former address is to be
// restored. Its link objects.
func (e *emails) willBeTakenBack(m *account.Member, used *account.EndedAccess) (*mail.Message, error) {
	f := page.FormatOf(m.Locale)
	return e.write(used.Present, f, email{
		Subject: "Your Kith account is to get its previous e-mail address back",
		Lines: []string{
			f.Text("Somebody who reads the previous address of the Kith account %s said that the change to this address was not theirs. "+
				"All access to the account was ended.", m.Username),
			f.Text("From %s on, they can give the account its previous address back. Until that is decided, nobody can choose a new password by email.", clockOf(m, used.RestoresAt)),
			"If the change was yours, open the link and object.",
		},
		Button: "Object", Link: e.link(page.PathObject, used.Objection), Close: "If the change was not yours, there is nothing to do.",
	})
}

// restoreInstructions writes the email to the former address: from when on its link restores the address.
func (e *emails) restoreInstructions(m *account.Member, used *account.EndedAccess, secret string) (*mail.Message, error) {
	f := page.FormatOf(m.Locale)
	return e.write(used.Email, f, email{
		Subject: "How your Kith account gets this e-mail address back",
		Lines: []string{
			f.Text("All access to the Kith account %s is ended, as you asked.", m.Username),
			f.Text("Open the link from %s on: then the account has this address again, and we send you a link to choose a new password. "+
				"The link works for 7 days from then.", clockOf(m, used.RestoresAt)),
			"Why the wait: the address that the account has now was told, and can object. If it does, the owner of this server decides.",
		},
		Button: "Get the account back", Link: e.link(page.PathNotMe, secret), Close: "Until then nobody can choose a new password by email.",
	})
}

// objected writes the email to the former address of an account whose present address objected.
func (e *emails) objected(m *account.Member, l *account.NotMeLink) (*mail.Message, error) {
	f := page.FormatOf(m.Locale)
	return e.write(l.Email, f, email{
		Subject: "Your Kith account waits for a decision",
		Lines: []string{
			f.Text("Somebody who reads the address that the Kith account %s has now objected to giving it this address back.", l.Username),
			"All access stays ended, and nobody can choose a new password by email.",
		},
		Close: "Ask the owner of this server: they decide who gets the account.",
	})
}

// clockOf formats a time in a member's language and time zone.
func clockOf(m *account.Member, at time.Time) string {
	return page.FormatOf(m.Locale).Clock(at.In(civil.Zone(m.Timezone)))
}

// notMeContent is the content of the pages that the links in a notice, and in an objection, open.
type notMeContent struct {
	Link, Username, Email, Present string
	// Restores is set if the account can get the e-mail address back, after so many hours. RestoresAt is set
	// if it waits for that, Waited if it has waited. EndsOnly is set if the address was changed after
	// the email.
	Restores, EndsOnly, Waited bool
	Hours                      int
	RestoresAt                 string
	// Objected says what follows from an objection; empty if there was none.
	Objected string
}

func notMeOver() error {
	return page.Refuse(http.StatusNotFound, "This link has expired",
		"It works once, for 7 days. If somebody else has access to your account, choose a new password: that ends all access, too.")
}

const (
	decideTitle = "The owner of this server decides"
	decideText  = "Two e-mail addresses claim this account. All access is ended, and nobody can choose a new password by email. Ask the owner of this server to find out whose it is."
)

// inDispute answers a use of a link after the present address objected.
func inDispute() error {
	return page.Refuse(http.StatusConflict, decideTitle, decideText)
}

// showNotMe shows what the link does. It changes nothing, because mail programs open links to
// check them.
func (v *request) showNotMe() error {
	secret := v.R.URL.Query().Get(fieldLink)
	l, err := account.GetNotMeLink(v.R.Context(), v.Store, account.HashSecret(secret))
	if err := ifMissing(err, notMeOver()); err != nil {
		return err
	}
	if !l.ObjectedAt.IsZero() {
		return inDispute()
	}
	content := notMeContent{
		Link: secret, Username: l.Username, Email: l.Email, Present: l.Present, Restores: l.Restores && l.Present != l.Email, EndsOnly: !l.Restores && l.Present != l.Email,
		Waited: l.Waits(), Hours: int(account.RestoreWait.Hours()),
	}
	if l.Waits() && v.Now().Before(l.RestoresAt) {
		if content.RestoresAt, err = v.restoresAt(l); err != nil {
			return err
		}
	}
	title := "Was this not you?"
	if l.Waits() {
		title = "Get your account back"
	}
	return v.Render(http.StatusOK, "not-me", page.Page{Title: title, Content: content})
}

// restoresAt formats the time from which a link restores an address, for its member.
func (v *request) restoresAt(l *account.NotMeLink) (string, error) {
	m, err := account.GetMemberByID(v.R.Context(), v.Store, l.MemberID)
	if err != nil {
		return "", err
	}
	return clockOf(m, l.RestoresAt), nil
}

// notMe ends all access to the account of the link, and mails a link to choose a new password to
// where the link was sent. If that is a former address, the present one is told first, and can object.
func (v *request) notMe() error {
	secret := v.R.PostForm.Get(fieldLink)
	used, err := account.UseNotMeLink(v.R.Context(), v.Store, account.HashSecret(secret))
	if err := ifMissing(err, notMeOver()); err != nil {
		return err
	}
	v.record(account.NotMe, used.MemberID, "")
	v.ClearCookie(v.W, page.SessionCookie)
	switch {
	case used.Disputed:
		return inDispute()
	case !used.RestoresAt.IsZero():
		return v.restoreLater(used, secret)
	case used.Taken:
		return page.Refuse(http.StatusConflict, "All access is ended, but your e-mail address is taken",
			fmt.Sprintf("Another account has %s by now, so no link can be sent to it. Ask the owner of this server for help.", used.Email))
	case !used.Reset:
		return page.Refuse(http.StatusConflict, "All access is ended",
			"The e-mail address of the account was changed after this email was sent, so it stays as it is. Ask for a new password with the present address, "+
				"or open the link in the email that told you about the change. If you have neither, ask the owner of this server.")
	}
	if used.Replaced {
		v.enqueueAlways("tell an address that the account was taken back", func(ctx context.Context) (*mail.Message, error) {
			m, err := account.GetMemberByID(ctx, v.Store, used.MemberID)
			if err != nil {
				return nil, err
			}
			return v.emails.takenBack(m, used)
		})
	}
	// Without the usual limit of emails to one recipient: an attacker could use it up, and the link
	// works once.
	sent := v.enqueueAlways("send a link to choose a new password", func(ctx context.Context) (*mail.Message, error) {
		m, err := account.GetMemberByID(ctx, v.Store, used.MemberID)
		if err != nil || !m.Active() || m.Email != used.Email {
			return nil, err
		}
		secret, err := v.newLink(ctx, m, account.PurposeReset)
		if err != nil {
			return nil, err
		}
		return v.emails.reset(m, secret)
	})
	if !sent {
		return v.RedirectDone(page.PathForgot, "not-me-unsent")
	}
	return v.RedirectDone(page.PathSignIn, "not-me")
}

// restoreLater tells both addresses that a former one is to be restored, if that is new.
func (v *request) restoreLater(used *account.EndedAccess, secret string) error {
	if used.Objection != "" {
		for _, write := range []func(*account.Member) (*mail.Message, error){
			func(m *account.Member) (*mail.Message, error) { return v.emails.willBeTakenBack(m, used) },
			func(m *account.Member) (*mail.Message, error) { return v.emails.restoreInstructions(m, used, secret) },
		} {
			v.enqueueAlways("tell the addresses of an account that one is to be restored", func(ctx context.Context) (*mail.Message, error) {
				m, err := account.GetMemberByID(ctx, v.Store, used.MemberID)
				if err != nil {
					return nil, err
				}
				return write(m)
			})
		}
	}
	return v.Redirect(page.PathNotMe + "?" + url.Values{fieldLink: {secret}}.Encode())
}

// enqueueAlways sends an email in the background without the limit of emails to one recipient, and
// reports whether the queue took it.
func (v *request) enqueueAlways(purpose string, write mail.Write) bool {
	if v.Mailer == nil {
		return false
	}
	sent := v.Mailer.Enqueue(write)
	if !sent {
		v.Logger.WarnContext(v.R.Context(), purpose, "error", "the queue of emails is full")
	}
	return sent
}

// objection returns the link to which the secret of an objection objects.
func (v *request) objection(secret string) (*account.NotMeLink, error) {
	l, err := account.GetObjection(v.R.Context(), v.Store, account.HashSecret(secret))
	if fault.Is(err, fault.NotFound) {
		return nil, page.Refuse(http.StatusNotFound, "This link has expired",
			"The account has its previous e-mail address again. If it is yours, ask the owner of this server for help.")
	}
	return l, err
}

// showObjection shows what an objection does, or has done. It changes nothing.
func (v *request) showObjection() error {
	secret := v.R.URL.Query().Get(fieldLink)
	l, err := v.objection(secret)
	if err != nil {
		return err
	}
	at, err := v.restoresAt(l)
	if err != nil {
		return err
	}
	title, objected := "Was the change of address yours?", ""
	if !l.ObjectedAt.IsZero() {
		title, objected = decideTitle, decideText
	}
	return v.Render(http.StatusOK, "objection", page.Page{Title: title, Content: notMeContent{
		Link: secret, Username: l.Username, Email: l.Email, Present: l.Present, RestoresAt: at, Objected: objected,
	}})
}

// object stops the restoration of a former address. Nobody gets access by that.
func (v *request) object() error {
	secret := v.R.PostForm.Get(fieldLink)
	l, err := v.objection(secret)
	if err != nil {
		return err
	}
	done, err := account.ObjectToRestoration(v.R.Context(), v.Store, l.ObjectionHash)
	if fault.Is(err, fault.NotFound) {
		_, err = v.objection("")
	}
	if err != nil {
		return err
	}
	if l.ObjectedAt.IsZero() {
		v.record(account.RestorationOpposed, done.MemberID, "")
		v.enqueueAlways("tell an address of an objection", func(ctx context.Context) (*mail.Message, error) {
			m, err := account.GetMemberByID(ctx, v.Store, done.MemberID)
			if err != nil {
				return nil, err
			}
			return v.emails.objected(m, l)
		})
	}
	return v.Redirect(page.PathObject + "?" + url.Values{fieldLink: {secret}}.Encode())
}
