package web_test

import (
	"bytes"
	"context"
	"fmt"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/decision"
	"github.com/kith-crm/kith/backend/internal/digest"
	"github.com/kith-crm/kith/backend/internal/mail"
	"github.com/kith-crm/kith/backend/internal/mail/smtptest"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/reminders"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/timeline"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

const notificationsPath = "/settings/notifications"

// until sets the clock of a site.
func until(t *testing.T, s *webtest.Site, at string) {
	t.Helper()
	to, err := time.Parse(time.RFC3339, at)
	if err != nil {
		t.Fatal(err)
	}
	s.Clock.Advance(to.Sub(s.Clock.Now()))
}

// confirmed confirms a member's address and sets their time zone and locale.
func confirmed(t *testing.T, s *webtest.Site, owner tenant.ID, zone, locale string) {
	t.Helper()
	_, err := s.Store.NewWrite("UPDATE members SET email_verified_at = ?, timezone = ?, locale = ? WHERE id = ?", s.Store.Now(), zone, locale, owner).Exec(t.Context())
	if err != nil {
		t.Fatal(err)
	}
}

// write runs a write of a member.
func writeAs(t *testing.T, s *webtest.Site, owner tenant.ID, actor db.Actor, fn func(ctx context.Context, tx *db.Tx) error) {
	t.Helper()
	if err := s.Store.Tenant(owner, false).Write(t.Context(), actor, fn); err != nil {
		t.Fatal(err)
	}
}

// choose stores when a member gets a digest.
func choose(t *testing.T, s *webtest.Site, owner tenant.ID, zone string, c digest.Choice) {
	t.Helper()
	writeAs(t, s, owner, db.Actor{}, func(ctx context.Context, tx *db.Tx) error { return digest.SaveDigest(ctx, tx, civil.Zone(zone), c) })
}

// digestLink gives a member a digest, and returns the path of the link that turns it off.
func digestLink(t *testing.T, s *webtest.Site, owner tenant.ID) string {
	t.Helper()
	m, err := account.GetMemberByID(t.Context(), s.Store, owner)
	if err != nil {
		t.Fatal(err)
	}
	confirmed(t, s, owner, m.Timezone, m.Locale)
	choose(t, s, owner, m.Timezone, digest.Choice{Rhythm: digest.Daily, Hour: 7})
	secret := "leave-" + string(owner)
	_, err = s.Store.NewWrite("UPDATE digests SET unsubscribe_secret = ?, failing_since = ?, failure = ?, sent_at = ? WHERE tenant_id = ?",
		secret, s.Store.Now(), string(mail.Deferred), s.Store.Now(), owner).Exec(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return "/unsubscribe?link=" + secret
}

// network gives a member everything that a digest tells of, at noon of 25 March 2026 in Berlin.
func network(t *testing.T, s *webtest.Site, owner tenant.ID) {
	t.Helper()
	today := time.Date(2026, 3, 25, 0, 0, 0, 0, time.UTC)
	writeAs(t, s, owner, db.Actor{}, func(ctx context.Context, tx *db.Tx) error {
		heike, err := people.Create(ctx, tx, people.Draft{Name: "Heike <b>Bold</b>", Dates: []people.DateDraft{{Kind: people.DateBirthday, Date: "1986-04-02"}}})
		if err != nil {
			return err
		}
		cleo, err := people.Create(ctx, tx, people.Draft{Name: "Cleo Marsh"})
		if err != nil {
			return err
		}
		for _, r := range []struct{ text, on string }{{"Call\nBcc: evil@people.example", "2026-03-26"}, {"Water the plants", "2026-03-25"}, {"Later", "2026-04-20"}} {
			_, _, err := reminders.Create(ctx, tx, reminders.Reminder{Text: r.text, DueOn: r.on, ConnectionIDs: []string{heike.Connection.ID}}, today)
			if err != nil {
				return err
			}
		}
		for n := range 12 {
			// The last contact becomes 182 days old between noon of the 25th and the morning of the 26th.
			at := time.Date(2025, 9, 24, 18, 0, 0, 0, time.UTC).AddDate(0, 0, -n)
			if _, err := timeline.LogInteractions(ctx, tx, timeline.Interaction{Kind: "call", Summary: fmt.Sprintf("Talked about boat %d", n), OccurredAt: at, ConnectionIDs: []string{cleo.Connection.ID}}); err != nil {
				return err
			}
		}
		_, _, err = decision.Ask(ctx, tx, decision.Call{Fingerprint: "f", Arguments: "{}", Kinds: "delete", Preview: decision.Preview{Summary: "Delete Ada Stone"}})
		return err
	})
	agent := db.Actor{CredentialID: "grt_01J00000000000000000000000", CredentialName: "Research agent", Tool: "add_note"}
	for range 2 {
		writeAs(t, s, owner, agent, func(ctx context.Context, tx *db.Tx) error {
			_, err := people.Create(ctx, tx, people.Draft{Name: "Found by an agent"})
			return err
		})
	}
}

// decodedSubject returns the decoded subject of an email.
func decodedSubject(t *testing.T, email smtptest.Email) string {
	t.Helper()
	subject, err := new(mime.WordDecoder).DecodeHeader(email.Header.Get("Subject"))
	if err != nil {
		t.Fatal(err)
	}
	return subject
}

// TestDigest: a member in Berlin chooses a daily digest on the page and gets it in German, at seven by their clock, also on
// the day on which the clocks change; one click ends it.
func TestDigest(t *testing.T) {
	t.Parallel()
	p, options := withMail(t)
	_ = p
	webtest.Each(t, options, func(t *testing.T, s *webtest.Site) {
		until(t, s, "2026-03-25T11:00:00Z")
		b := s.SignedIn(t, "maria-"+strings.ToLower(s.Store.Engine()))
		confirmed(t, s, b.Owner, "Europe/Berlin", "de-DE")
		network(t, s, b.Owner)
		wantRedirect(t, b.Submit(b.Get(notificationsPath), notificationsPath, webtest.Values("rhythm", "daily", "hour", "7", "lead", "7")), notificationsPath+"?done=digest-saved")
		server := smtptest.Start(t, smtptest.Options{})
		mailer, err := mail.New(mail.Config{URL: "smtp://" + server.Addr + "?from=kith@kith.example"})
		if err != nil {
			t.Fatal(err)
		}
		sender := s.Web.Digests()
		sender.Send = mailer.Send
		run := func(at string, sent int) {
			t.Helper()
			until(t, s, at)
			if done, err := sender.Run(t.Context()); err != nil || done.Sent != sent || done.Failed != 0 || server.Waiting() != sent {
				t.Fatalf("at %s: %+v, %v, %d emails", at, done, err, server.Waiting())
			}
		}
		run("2026-03-26T05:59:59Z", 0)
		run("2026-03-26T06:00:00Z", 1)
		email := server.Next(t)
		plain, html := email.Parts(t)
		for _, words := range []string{
			"Fällig", "Call Bcc: evil@people.example (Heike <b>Bold</b> · heute)", "1 überfällig", "Geburtstage und andere Tage",
			"- Heike <b>Bold</b> (Geburtstag, wird 40 · Donnerstag, 02.04.2026)", "- Cleo Marsh (letzter Kontakt vor 6 Monaten · Talked about boat 0)",
			"Delete Ada Stone", "2 Änderungen", s.URL + "/decide", s.URL + "/unsubscribe?link=", s.URL + notificationsPath,
		} {
			if !strings.Contains(plain, words) {
				t.Errorf("the text lacks %q:\n%s", words, plain)
			}
		}
		if strings.Contains(plain, "Later") || strings.Contains(plain, "Water the plants") {
			t.Errorf("the text has what is not due, or was before:\n%s", plain)
		}
		if !strings.Contains(html, `<html lang="de">`) || !strings.Contains(html, "Heike &lt;b&gt;Bold&lt;/b&gt;") || strings.Contains(html, "<b>") || strings.Contains(html, "src=") {
			t.Errorf("the HTML is %s", html)
		}
		if got := decodedSubject(t, email); got != "Kith heute: Donnerstag, 26.03.2026" || email.Header.Get("Bcc") != "" {
			t.Errorf("the subject is %q, the header %v", got, email.Header)
		}
		run("2026-03-27T06:00:00Z", 1) // the decision still waits
		if plain, _ := server.Next(t).Parts(t); !strings.Contains(plain, "Delete Ada Stone") || strings.Contains(plain, "Cleo") || strings.Contains(plain, "Geburtstag") || strings.Contains(plain, "Änderung") {
			t.Errorf("on the second day:\n%s", plain)
		}
		run("2026-03-29T05:00:00Z", 1) // 07:00 in summer time; nothing ran on the 28th
		if got := decodedSubject(t, server.Next(t)); got != "Kith heute: Sonntag, 29.03.2026" {
			t.Errorf("the subject is %q", got)
		}
		run("2026-03-29T06:00:00Z", 0)
		leave := strings.Trim(email.Header.Get("List-Unsubscribe"), "<>")
		if email.Header.Get("List-Unsubscribe-Post") != "List-Unsubscribe=One-Click" {
			t.Errorf("%v", email.Header)
		}
		postOneClick(t, leave)
		run("2026-03-30T05:00:00Z", 0)
		if d, err := digest.GetDigest(t.Context(), s.Store.Tenant(b.Owner, false)); err != nil || d.Rhythm != digest.Off {
			t.Errorf("%+v, %v", d, err)
		}
	})
}

// postOneClick sends what a mail program sends (RFC 8058): a form without a cookie, in both encodings.
func postOneClick(t *testing.T, address string) {
	t.Helper()
	var form bytes.Buffer
	parts := multipart.NewWriter(&form)
	if err := parts.WriteField("List-Unsubscribe", "One-Click"); err != nil {
		t.Fatal(err)
	}
	if err := parts.Close(); err != nil {
		t.Fatal(err)
	}
	for media, body := range map[string]string{"application/x-www-form-urlencoded": "List-Unsubscribe=One-Click", parts.FormDataContentType(): form.String()} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", media)
		client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		got, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = got.Body.Close()
		if got.StatusCode != http.StatusOK {
			t.Errorf("%s: %d", media, got.StatusCode)
		}
	}
}

// TestWeeklyDigest: a weekly digest has the reminders of the days ahead, birthdays with their lead, and everybody with whom
// the member is losing touch; in English for an English locale.
func TestWeeklyDigest(t *testing.T) {
	t.Parallel()
	p, options := withMail(t)
	s := webtest.New(t, options)
	until(t, s, "2026-03-25T11:00:00Z")
	owner := s.Member(t, "maria")
	confirmed(t, s, owner, "America/New_York", "en-US")
	network(t, s, owner)
	choose(t, s, owner, "America/New_York", digest.Choice{Rhythm: digest.Weekly, Weekday: time.Friday, Hour: 8, LeadDays: 1})
	until(t, s, "2026-03-27T12:00:00Z")
	if done, err := s.Web.Digests().Run(t.Context()); err != nil || done.Sent != 1 {
		t.Fatalf("%+v, %v", done, err)
	}
	email := p.Next(t)
	plain, _ := email.Parts(t)
	if got := decodedSubject(t, email); got != "Kith this week: from Friday, March 27" {
		t.Errorf("the subject is %q", got)
	}
	for _, words := range []string{"Due", "yesterday", "Birthday, turns 40 · Thursday, April 2", "Losing touch", "Cleo Marsh (last contact 6 months ago", "2 changes", "Stop these mails: "} {
		if !strings.Contains(plain, words) {
			t.Errorf("the text lacks %q:\n%s", words, plain)
		}
	}
}

// TestNothingToTell: a member with nothing due gets no mail, unless they ask for one, a few times an hour.
func TestNothingToTell(t *testing.T) {
	t.Parallel()
	p, options := withMail(t)
	s := webtest.New(t, options)
	until(t, s, "2026-03-25T11:00:00Z")
	b := s.SignedIn(t, "maria")
	confirmed(t, s, b.Owner, "UTC", "en")
	choose(t, s, b.Owner, "UTC", digest.Choice{Rhythm: digest.Daily, Hour: 7})
	until(t, s, "2026-03-26T07:00:00Z")
	if done, err := s.Web.Digests().Run(t.Context()); err != nil || done.Empty != 1 || done.Sent != 0 || p.Waiting() != 0 {
		t.Fatalf("%+v, %v", done, err)
	}
	for range 5 {
		wantRedirect(t, b.Submit(b.Get(notificationsPath), notificationsPath+"/now", nil), notificationsPath+"?done=digest-sent")
		if plain, _ := p.Next(t).Parts(t); !strings.Contains(plain, "There is nothing to say at the moment.") {
			t.Errorf("it says:\n%s", plain)
		}
	}
	want(t, b.Submit(b.Get(notificationsPath), notificationsPath+"/now", nil), http.StatusTooManyRequests, "Too many digests")
}

// TestNotifications: the page says what keeps a digest from coming, and refuses what there is not.
func TestNotifications(t *testing.T) {
	t.Parallel()
	_, options := withMail(t)
	s := webtest.New(t, options)
	b := s.SignedIn(t, "maria")
	page := b.Get(notificationsPath)
	want(t, page, http.StatusOK, "is not confirmed")
	daily := webtest.Values("rhythm", "daily")
	want(t, b.Submit(page, notificationsPath, daily), http.StatusConflict, "Confirm your e-mail address first")
	confirmed(t, s, b.Owner, "UTC", "en")
	for field, value := range map[string]string{"rhythm": "hourly", "weekday": "7", "hour": "24", "lead": "31"} {
		want(t, b.Submit(page, notificationsPath, url.Values{"rhythm": {"weekly"}, field: {value}}), http.StatusUnprocessableEntity, "Choose")
	}
	wantRedirect(t, b.Submit(page, notificationsPath, daily), notificationsPath+"?done=digest-saved")
	if saved := b.Get(notificationsPath); strings.Contains(saved.Body, "No digest can be delivered") {
		t.Errorf("it says that none can be delivered: %s", saved.Body)
	}
	digestLink(t, s, b.Owner)
	want(t, b.Get(notificationsPath), http.StatusOK, "No digest can be delivered since", "does not take mail for your address", "The last one was sent on")
	want(t, s.Browser(t).Get("/unsubscribe?link=x"), http.StatusNotFound, "This link does not work any more")

	silent := webtest.New(t, webtest.Options{})
	quiet := silent.SignedIn(t, "maria")
	page = quiet.Get(notificationsPath)
	want(t, page, http.StatusOK, "KITH_SMTP_URL")
	want(t, quiet.Submit(page, notificationsPath, daily), http.StatusConflict, "This server sends no mail")
}
