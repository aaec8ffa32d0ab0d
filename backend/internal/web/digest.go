package web

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	htmltemplate "html/template"
	"log/slog"
	"net/url"
	"strings"
	texttemplate "text/template"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/decision"
	"github.com/kith-crm/kith/backend/internal/digest"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/insights"
	"github.com/kith-crm/kith/backend/internal/mail"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/reminders"
	"github.com/kith-crm/kith/backend/internal/search/index"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/kith-crm/kith/backend/internal/timeline"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// Digests returns the sender of the digests that are due.
func (web *Web) Digests() *digest.Sender {
	logger := web.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &digest.Sender{Store: web.Store, Logger: logger, Send: web.Mailer.Send, Write: func(ctx context.Context, m *account.Member, d *digest.Digest) (*mail.Message, error) {
		c, err := web.digestOf(ctx, m, d)
		if err != nil || len(c.Parts) == 0 {
			return nil, err
		}
		return web.emails.digest(m, c)
	}}
}

// digestContent is the content of a digest, in the language of its member.
type digestContent struct {
	format page.Format

	Language, Subject, Lead string
	// Parts are those with something to say.
	Parts []digestPart
	// Open and Settings are addresses; Unsubscribe is empty if there is none yet.
	Open, Settings, Unsubscribe string
	// The words of the links, and of the end.
	OpenLabel, SettingsLabel, UnsubscribeLabel, Why string
}

// digestPart is one list of a digest.
type digestPart struct {
	Title string
	Lines []digestLine
	// More says how many lines are left out; Link is the page that has all of them.
	More, Link string
}

// digestLine is an entry of a list: what it is and, in smaller letters, more about it.
type digestLine struct{ Text, Detail string }

const (
	// digestSize is how many entries a list of a digest has, digestFew those of the less urgent lists.
	digestSize = 20
	digestFew  = 5
	// digestSummary limits what was said last, in characters.
	digestSummary = 140
	// mostFading limits how many people are examined for those with whom the member is newly losing touch.
	mostFading = 1_000
)

// digestSource is what a digest is made of.
type digestSource struct {
	*digestContent

	web    *Web
	data   *db.Tenant
	index  *index.Index
	digest *digest.Digest
	zone   *time.Location
	now    time.Time
	// today is the day of the digest, until the last of the days that it looks ahead, and settled that of the digest before.
	today, until, settled time.Time
	// since is the time until which the digest before has what happened.
	since time.Time
}

// digestOf returns what a digest says. It has no parts if there is nothing to say.
func (web *Web) digestOf(ctx context.Context, m *account.Member, d *digest.Digest) (*digestContent, error) {
	principal, err := oauth.Member(ctx, web.Store, m.ID)
	if err != nil {
		return nil, err
	}
	ctx = tenant.WithPrincipal(ctx, principal)
	ix, err := web.Handlers.Reminders.Index(ctx)
	if err != nil {
		return nil, err
	}
	f := page.FormatOf(m.Locale)
	s := &digestSource{
		digestContent: &digestContent{format: f, Language: f.Language()}, web: web, data: web.Data(m.ID), index: ix, digest: d,
		zone: civil.Zone(m.Timezone), now: web.Now(), since: d.CoveredUntil,
	}
	s.today = civil.Of(s.now, s.zone)
	const week = 7
	s.until = s.today
	if d.Rhythm == digest.Weekly {
		s.until = s.today.AddDate(0, 0, week-1)
	}
	if s.settled, err = time.Parse(time.DateOnly, d.SettledDay); err != nil || !s.settled.Before(s.today) {
		s.settled = s.today.AddDate(0, 0, -1)
	}
	if s.since.IsZero() {
		s.since = civil.Start(s.settled, s.zone)
	}
	s.addWords()
	for _, add := range []func(context.Context) error{s.addDue, s.addDates, s.addFading, s.addAsked, s.addChanges} {
		if err := add(ctx); err != nil {
			return nil, err
		}
	}
	return s.digestContent, nil
}

// addWords adds the subject and what stands at the end.
func (s *digestSource) addWords() {
	f, base := s.format, s.web.BaseURL
	s.Subject = f.Text("Kith today: %s", f.Weekday(s.today))
	if s.digest.Rhythm == digest.Weekly {
		s.Subject = f.Text("Kith this week: from %s", f.Weekday(s.today))
	}
	s.Open, s.Settings = base+page.PathStart, base+page.PathNotifications
	s.OpenLabel, s.SettingsLabel, s.UnsubscribeLabel = f.Text("Open Kith"), f.Text("Change when it comes"), f.Text("Stop these mails")
	s.Why = f.Text("You get this because you chose it in Kith.")
	if secret := s.digest.UnsubscribeSecret; secret != "" {
		s.Unsubscribe = base + page.PathUnsubscribe + "?" + url.Values{fieldLink: {secret}}.Encode()
	}
}

// add adds a part that has lines.
func (s *digestSource) add(p digestPart) {
	if len(p.Lines) > 0 {
		p.Link = s.web.BaseURL + p.Link
		s.Parts = append(s.Parts, p)
	}
}

// more says how many entries are left out; empty for none.
func (s *digestSource) more(n int) string {
	if n <= 0 {
		return ""
	}
	return s.format.Text("%s more", s.format.Number(int64(n)))
}

// addDue adds the reminders, and the people to get in touch with, that fall due after the day of the last digest and
// until the last day of this one. Of earlier ones, which the last digest had, it adds the number.
func (s *digestSource) addDue(ctx context.Context) error {
	q := reminders.DueQuery{
		Today: s.today, Zone: s.zone, Until: s.until, Kinds: []string{reminders.KindReminder, reminders.KindCadence},
		After: &reminders.Cursor{DueOn: s.settled.AddDate(0, 0, 1).Format(time.DateOnly)}, Limit: digestSize,
	}
	found, all, err := reminders.List(ctx, s.data, s.index, q)
	if err != nil {
		return err
	}
	q.Until, q.After, q.Limit = s.settled, nil, 1
	_, before, err := reminders.List(ctx, s.data, s.index, q)
	if err != nil {
		return err
	}
	p := digestPart{Title: s.format.Text("Due"), Link: page.PathStart}
	for _, d := range found {
		p.Lines = append(p.Lines, s.dueLine(d))
	}
	overdue := before.Reminders + before.Cadences
	p.More = s.more(all.Reminders + all.Cadences - overdue - len(found))
	if overdue > 0 {
		p.More = strings.TrimPrefix(p.More+", ", ", ") + s.format.Text("%s overdue", s.format.Number(int64(overdue)))
	}
	s.add(p)
	return nil
}

// dueLine returns the line of a reminder, or of a person to get in touch with.
func (s *digestSource) dueLine(d reminders.Due) digestLine {
	f := s.format
	on, err := time.Parse(time.DateOnly, d.DueOn)
	if err != nil {
		on = s.today
	}
	when := f.Ago(s.today, on)
	if civil.Between(s.today, on) > 1 {
		when = f.Weekday(on)
	}
	if d.Kind == reminders.KindCadence {
		last, err := time.Parse(time.DateOnly, d.LastContactOn)
		if err != nil {
			return digestLine{f.Text("Get in touch with %s", d.Name), f.Text("no contact is stored")}
		}
		return digestLine{f.Text("Get in touch with %s", d.Name), f.Text("last contact %s", f.Ago(s.today, last))}
	}
	var who []string
	if d.Name != "" {
		who = append(who, d.Name)
	}
	for _, p := range d.Others {
		who = append(who, p.Name)
	}
	return digestLine{d.Text, strings.TrimPrefix(f.And(who)+" · "+when, " · ")}
}

// addDates adds birthdays and other dates. A daily digest names each on the day itself and, for the first time, as many
// days before as the member chose; a weekly one names those of its days and as many days after.
func (s *digestSource) addDates(ctx context.Context) error {
	lead := s.digest.LeadDays
	found, _, err := reminders.List(ctx, s.data, s.index, reminders.DueQuery{
		Today: s.today, Zone: s.zone, Until: s.until.AddDate(0, 0, lead), Kinds: []string{reminders.KindDate}, Limit: mostFading,
	})
	if err != nil {
		return err
	}
	p := digestPart{Title: s.format.Text("Birthdays and other dates"), Link: page.PathStart}
	left := 0
	for _, d := range found {
		on, err := time.Parse(time.DateOnly, d.DueOn)
		if err != nil {
			return err
		}
		if s.digest.Rhythm != digest.Weekly && on.After(s.today) && !on.After(s.settled.AddDate(0, 0, lead)) {
			continue // named before
		}
		if len(p.Lines) == digestSize {
			left++
			continue
		}
		p.Lines = append(p.Lines, digestLine{d.Name, s.format.Text(d.Text) + " · " + s.format.Weekday(on)})
	}
	p.More = s.more(left)
	s.add(p)
	return nil
}

// addFading adds people with whom the member is losing touch, with what was said last: in a daily digest those with whom
// that is new, so that it names everybody once.
func (s *digestSource) addFading(ctx context.Context) error {
	var ids []string
	var docs []*index.Document
	left := 0
	for _, d := range s.index.Summary().Fading(people.Sum(insights.FadingScore), s.now.Add(-insights.FadingAfter), mostFading) {
		switch {
		case s.digest.Rhythm != digest.Weekly && d.LastInteractionAt.Before(s.since.Add(-insights.FadingAfter)): // named before
		case len(docs) == digestFew:
			left++
		default:
			ids, docs = append(ids, d.ID), append(docs, d)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	said, err := timeline.ListInteractions(ctx, s.data, ids, 1)
	if err != nil {
		return err
	}
	p := digestPart{Title: s.format.Text("Losing touch"), Link: page.PathNetwork, More: s.more(left)}
	for _, d := range docs {
		detail := s.format.Text("last contact %s", s.format.Ago(s.today, civil.Of(d.LastInteractionAt, s.zone)))
		if last := said[d.ID]; len(last) > 0 && last[0].Summary != "" {
			detail += " · " + text.Truncate(text.Line(last[0].Summary), digestSummary)
		}
		p.Lines = append(p.Lines, digestLine{d.Name, detail})
	}
	s.add(p)
	return nil
}

// addAsked adds what agents ask before they do it.
func (s *digestSource) addAsked(ctx context.Context) error {
	waiting, err := decision.ListWaiting(ctx, s.data)
	if err != nil {
		return err
	}
	p := digestPart{Title: s.format.Text("Waiting for your decision"), Link: page.PathDecide, More: s.more(len(waiting) - digestFew)}
	for _, d := range waiting[:min(len(waiting), digestFew)] {
		who := cmp.Or(oauth.ShownName(d.CredentialName), s.format.Text("An application without a name"))
		p.Lines = append(p.Lines, digestLine{d.Preview.Summary, who})
	}
	s.add(p)
	return nil
}

// addChanges adds how much agents and devices changed since the digest before.
func (s *digestSource) addChanges(ctx context.Context) error {
	counts, err := history.CountByCredential(ctx, s.data, s.since)
	if err != nil {
		return err
	}
	n := 0
	for _, of := range counts {
		n += of
	}
	p := digestPart{Title: s.format.Text("Agents and devices"), Link: page.PathActivity}
	switch {
	case n == 1:
		p.Lines = []digestLine{{Text: s.format.Text("1 change")}}
	case n > 1:
		p.Lines = []digestLine{{Text: s.format.Text("%s changes", s.format.Number(int64(n)))}}
	}
	s.add(p)
	return nil
}

const (
	digestText = `{{with .Lead}}{{.}}

{{end}}{{range .Parts}}{{line .Title}}
{{range .Lines}}- {{line .Text}}{{with line .Detail}} ({{.}}){{end}}
{{end}}{{with .More}}  + {{.}}
{{end}}  {{.Link}}

{{end}}{{.OpenLabel}}: {{.Open}}

{{.Why}}
{{.SettingsLabel}}: {{.Settings}}
{{if .Unsubscribe}}{{.UnsubscribeLabel}}: {{.Unsubscribe}}
{{end}}`
	digestHTML = `<!doctype html><html lang="{{.Language}}"><body style="font-family:sans-serif;line-height:1.5;color:#1c2b2a">` +
		`{{with .Lead}}<p>{{.}}</p>{{end}}{{range .Parts}}<h2 style="font-size:1.1em">{{.Title}}</h2><ul>{{range .Lines}}<li>{{.Text}}{{with .Detail}}<br><small>{{.}}</small>{{end}}</li>{{end}}</ul>` +
		`<p><a href="{{.Link}}">{{with .More}}{{.}}{{else}}{{$.OpenLabel}}{{end}}</a></p>{{end}}{{if not .Parts}}<p><a href="{{.Open}}">{{.OpenLabel}}</a></p>{{end}}` +
		`<p><small>{{.Why}} <a href="{{.Settings}}">{{.SettingsLabel}}</a>{{if .Unsubscribe}} · <a href="{{.Unsubscribe}}">{{.UnsubscribeLabel}}</a>{{end}}</small></p></body></html>`
)

// The templates of digests. Names and texts are one line each in the text, and escaped in the HTML.
var (
	digestTextTemplate = texttemplate.Must(texttemplate.New("digest").Funcs(texttemplate.FuncMap{"line": text.Line}).Parse(digestText))
	digestHTMLTemplate = htmltemplate.Must(htmltemplate.New("digest").Parse(digestHTML))
)

// digest writes the email with a digest.
func (e *emails) digest(m *account.Member, c *digestContent) (*mail.Message, error) {
	var plain strings.Builder
	var html bytes.Buffer
	if err := digestTextTemplate.Execute(&plain, c); err != nil {
		return nil, fmt.Errorf("write digest: %w", err)
	}
	if err := digestHTMLTemplate.Execute(&html, c); err != nil {
		return nil, fmt.Errorf("write digest: %w", err)
	}
	return &mail.Message{To: m.Email, Subject: c.Subject, Text: plain.String(), HTML: html.String(), Unsubscribe: c.Unsubscribe}, nil
}
