package web

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/digest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/mail"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// digestsNow limits how often a member can have a digest sent at once.
func digestsNow() account.RatePolicy { return account.RatePolicy{Quota: 5, Window: time.Hour} }

// notificationsTool is the name under which the page's changes are recorded.
const notificationsTool = "settings/notifications"

// notificationsContent is the content of the page of notifications.
type notificationsContent struct {
	Email, Zone string
	// MailOn is set if this server sends mail, Verified if the member confirmed their address.
	MailOn, Verified bool
	Selects          []page.Select
	// On is set if the member gets a digest.
	On                   bool
	SentAt, FailingSince time.Time
	// Why says why none can be delivered.
	Why string
}

// failures are the reasons why a digest cannot be delivered.
func digestFailure(failure string) string {
	switch failure {
	case string(mail.Refused):
		return "The mail server refuses your address. Check that it is right."
	case string(mail.Deferred):
		return "The mail server does not take mail for your address at the moment."
	case digest.Unverified:
		return "Your e-mail address is not confirmed."
	case digest.Unwritten:
		return "Kith could not write it. The people who run this service find the reason in the log."
	default:
		return "The mail server cannot be reached, or takes no mail from this Kith."
	}
}

// leads are the choices of how early a birthday is named.
func leads() []page.Option {
	return []page.Option{
		{Value: "0", Label: "On the day"}, {Value: "1", Label: "1 day before"}, {Value: "3", Label: "3 days before"},
		{Value: "7", Label: "A week before"}, {Value: "14", Label: "Two weeks before"}, {Value: "30", Label: "30 days before"},
	}
}

// notificationRoutes returns the routes of the notifications.
func notificationRoutes(with func(func(*request) error) page.Handler) []page.Route {
	return []page.Route{
		{Pattern: "GET " + page.PathNotifications, Handle: with((*request).showNotifications)},
		{Pattern: "POST " + page.PathNotifications, Handle: with((*request).saveNotifications)},
		{Pattern: "POST " + page.PathNotifications + "/now", Handle: with((*request).sendDigestNow)},
		{Pattern: "GET " + page.PathUnsubscribe, Enter: page.Anyone, Handle: with((*request).showUnsubscribe)},
		{Pattern: "POST " + page.PathUnsubscribe, Enter: page.Anyone, Tokenless: true, Upload: with((*request).readUnsubscribe), Handle: with((*request).unsubscribe)},
	}
}

func (v *request) showNotifications() error {
	d, err := digest.GetDigest(v.R.Context(), v.data())
	if err != nil {
		return err
	}
	return v.renderNotifications(http.StatusOK, d, d.Choice, &page.Mistakes{})
}

// renderNotifications shows the page with the choice that is stored, or as it was sent.
func (v *request) renderNotifications(status int, d *digest.Digest, c digest.Choice, wrong *page.Mistakes) error {
	m, err := account.GetMemberByID(v.R.Context(), v.Store, v.Login.MemberID)
	if err != nil {
		return err
	}
	zone := civil.Zone(m.Timezone)
	content := notificationsContent{
		Email: m.Email, Zone: m.Timezone, MailOn: v.Mailer != nil, Verified: !m.EmailVerifiedAt.IsZero(), On: d.Rhythm != digest.Off,
	}
	if !d.SentAt.IsZero() {
		content.SentAt = d.SentAt.In(zone)
	}
	if !d.FailingSince.IsZero() {
		content.FailingSince, content.Why = d.FailingSince.In(zone), digestFailure(d.Failure)
	}
	var days, hours []page.Option
	for day := range 7 {
		weekday := time.Weekday((day + 1) % 7)
		days = append(days, page.Option{Value: strconv.Itoa(int(weekday)), Label: weekday.String()})
	}
	for hour := range 24 {
		hours = append(hours, page.Option{Value: strconv.Itoa(hour), Label: v.Format().Hour(hour)})
	}
	chooser := func(name, label, value string, options []page.Option) {
		content.Selects = append(content.Selects, page.Select{Name: name, Label: label, Error: wrong.Of(name), Options: page.Choose(value, options...)})
	}
	chooser(digest.FieldRhythm, v.Text("How often"), c.Rhythm, []page.Option{{Value: digest.Off, Label: "Never"}, {Value: digest.Daily, Label: "Every day"}, {Value: digest.Weekly, Label: "Every week"}})
	chooser(digest.FieldWeekday, v.Text("Day of a weekly one"), strconv.Itoa(int(c.Weekday)), days)
	chooser(digest.FieldHour, v.Text("Time of day"), strconv.Itoa(c.Hour), hours)
	chooser(digest.FieldLead, v.Text("First mention of a birthday"), strconv.Itoa(c.LeadDays), leads())
	return v.Render(status, "notifications", page.Page{Title: "Notifications", Section: page.PathNotifications, Errors: wrong.List, Content: content})
}

// mailable fails if no digest can be sent to the member.
func (v *request) mailable() (*account.Member, error) {
	if v.Mailer == nil {
		return nil, page.Refuse(http.StatusConflict, "This server sends no mail", "Nothing was changed. The people who run this service set up mail with KITH_SMTP_URL.")
	}
	m, err := account.GetMemberByID(v.R.Context(), v.Store, v.Login.MemberID)
	if err == nil && m.EmailVerifiedAt.IsZero() {
		err = page.Refuse(http.StatusConflict, "Confirm your e-mail address first", "Nothing was changed. Under Security, Kith sends you a link to confirm it.")
	}
	return m, err
}

func (v *request) saveNotifications() error {
	stored, err := digest.GetDigest(v.R.Context(), v.data())
	if err != nil {
		return err
	}
	number := func(name string) int {
		n, err := strconv.Atoi(v.Line(name))
		if err != nil {
			return -1
		}
		return n
	}
	c := digest.Choice{Rhythm: v.Line(digest.FieldRhythm), Weekday: time.Weekday(number(digest.FieldWeekday)), Hour: number(digest.FieldHour), LeadDays: number(digest.FieldLead)}
	if c.Rhythm != digest.Off {
		if _, err := v.mailable(); err != nil {
			return err
		}
	}
	wrong := &page.Mistakes{}
	err = wrong.TakeAll(v.data().Write(v.R.Context(), db.Actor{Tool: notificationsTool}, func(ctx context.Context, tx *db.Tx) error {
		return digest.SaveDigest(ctx, tx, civil.Zone(v.Login.Timezone), c)
	}))
	if err != nil {
		return err
	}
	if len(wrong.List) > 0 {
		return v.renderNotifications(http.StatusUnprocessableEntity, stored, c, wrong)
	}
	return v.RedirectDone(page.PathNotifications, "digest-saved")
}

// sendDigestNow sends the member the digest as it would be now, also if it has nothing to say. It changes nothing about
// those that are due.
func (v *request) sendDigestNow() error {
	m, err := v.mailable()
	if err != nil {
		return err
	}
	decided, err := account.SpendAttempts(v.R.Context(), v.Store, account.Limit{Subject: account.Subject("digest", string(m.ID)), Policy: digestsNow()})
	if err != nil {
		return err
	}
	if !decided.Allowed {
		return page.Refuse(http.StatusTooManyRequests, "Too many digests", "Try again in an hour.")
	}
	d, err := digest.GetDigest(v.R.Context(), v.data())
	if err != nil {
		return err
	}
	now, zone := v.Now(), civil.Zone(m.Timezone)
	d.SettledDay = civil.Of(now, zone).AddDate(0, 0, -1).Format(time.DateOnly)
	d.CoveredUntil = now.AddDate(0, 0, -1)
	if d.Rhythm == digest.Weekly {
		d.CoveredUntil = now.AddDate(0, 0, -7)
	}
	c, err := v.digestOf(v.R.Context(), m, d)
	if err != nil {
		return err
	}
	if len(c.Parts) == 0 {
		c.Lead = c.format.Text("There is nothing to say at the moment. Kith sends no mail then.")
	}
	email, err := v.emails.digest(m, c)
	if err != nil {
		return err
	}
	if err := v.Mailer.Send(v.R.Context(), email); err != nil {
		return page.Refuse(http.StatusBadGateway, "The mail could not be sent", digestFailure(string(mail.FailureOf(err))))
	}
	return v.RedirectDone(page.PathNotifications, "digest-sent")
}

// unsubscribeContent is the content of the page that the link in a digest opens.
type unsubscribeContent struct {
	Link, Username string
	// Done is set if the digest is off now.
	Done bool
}

// unsubscribed returns the member of the link in a digest.
func (v *request) unsubscribed() (*account.Member, string, error) {
	secret := v.R.URL.Query().Get(fieldLink)
	m, err := digest.FindUnsubscribe(v.R.Context(), v.Store, secret)
	if fault.Is(err, fault.NotFound) {
		err = page.Refuse(http.StatusNotFound, "This link does not work any more", "Sign in to turn the mails off: under Settings, Notifications.")
	}
	if err == nil {
		v.SetLocale(m.Locale)
	}
	return m, secret, err
}

// showUnsubscribe shows what the link does. It changes nothing, because mail programs open links to check them.
func (v *request) showUnsubscribe() error {
	m, secret, err := v.unsubscribed()
	if err != nil {
		return err
	}
	return v.Render(http.StatusOK, "unsubscribe", page.Page{Title: "Stop these mails", Content: unsubscribeContent{Link: secret, Username: m.Username}})
}

// unsubscribe turns the digest off, for the button of the page and for mail programs (RFC 8058): they send no cookie and
// follow no redirect.
func (v *request) unsubscribe() error {
	m, secret, err := v.unsubscribed()
	if err != nil {
		return err
	}
	if err := digest.Unsubscribe(v.R.Context(), v.Store, secret); err != nil {
		return err
	}
	return v.Render(http.StatusOK, "unsubscribe", page.Page{Title: "These mails are off", Content: unsubscribeContent{Username: m.Username, Done: true}})
}

// readUnsubscribe reads the form of a mail program that sends it as multipart/form-data.
func (v *request) readUnsubscribe() error {
	const maxForm = 4 << 10
	v.R.Body = http.MaxBytesReader(v.W, v.R.Body, maxForm)
	if err := v.R.ParseMultipartForm(maxForm); err != nil {
		return page.Refuse(http.StatusBadRequest, "The form cannot be read", "Go back and try again.")
	}
	return nil
}
