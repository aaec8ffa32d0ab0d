package contacts_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// actOf returns the form of a contact, a reminder or a note that the page shows; nil for none.
func actOf(p *webtest.Page) url.Values {
	for _, form := range p.Forms(newPath) {
		if form.Has("act") {
			return form
		}
	}
	return nil
}

// A line may ask for a contact, a reminder or a note. Everything else is about a person to add.
func TestLinesThatAskForMore(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	b.Submit(b.Get("/settings/time"), "/settings/time", url.Values{"timezone": {"UTC"}, "locale": {"en-GB"}})
	for _, name := range []string{"Heike Brandt", "Kofi Mensah", "Ana Pereira"} {
		add(t, s, b.Owner, people.Draft{Name: name}, "")
	}
	today := s.Clock.Now().UTC()
	day := func(years, months, days int) string { return today.AddDate(years, months, days).Format(time.DateOnly) }
	for line, want := range map[string]url.Values{
		"coffee with Heike and Kofi yesterday":            {"act": {"log"}, "with": {"Heike, Kofi"}, "kind": {"meeting"}, "occurred_at": {day(0, 0, -1)}, "summary": {"Coffee"}},
		"Called Ana today: the house in Lisbon":           {"act": {"log"}, "with": {"Ana"}, "kind": {"call"}, "occurred_at": {day(0, 0, 0)}, "summary": {"the house in Lisbon"}},
		"met Heike Brandt, Kofi & Ana about the boat":     {"act": {"log"}, "with": {"Heike Brandt, Kofi, Ana"}, "kind": {"meeting"}, "occurred_at": {day(0, 0, 0)}, "summary": {"the boat"}},
		"Mittagessen mit Heike und Ana vor 2 Tagen":       {"act": {"log"}, "with": {"Heike, Ana"}, "kind": {"meeting"}, "occurred_at": {day(0, 0, -2)}},
		"remind me to call Ana in 3 weeks":                {"act": {"remind"}, "with": {"Ana"}, "text": {"Call Ana"}, "due_on": {day(0, 0, 21)}},
		"Remind me to send Nobody Known the draft":        {"act": {"remind"}, "with": {""}, "text": {"Send Nobody Known the draft"}, "due_on": {day(0, 0, 7)}},
		"erinnere mich an Heike in 2 Monaten":             {"act": {"remind"}, "with": {"Heike"}, "text": {"Heike"}, "due_on": {day(0, 2, 0)}},
		"note on Kofi: likes tea: green, not black":       {"act": {"note"}, "with": {"Kofi"}, "body": {"likes tea: green, not black"}},
		"Note about Heike and Kofi: they share an office": {"act": {"note"}, "with": {"Heike, Kofi"}, "body": {"they share an office"}},
		"Ada Stone, CTO at Helios":                        nil, "Call centre manager": nil, "Coffee": nil, "call centre manager at Helios": nil, "Noteworthy Person": nil, "remind me to": nil, "note on Kofi": nil,
	} {
		p := b.Get(lineAddress(line))
		form := actOf(p)
		if (form == nil) != (want == nil) {
			t.Errorf("%q: the form is %v", line, form)
		}
		for name := range want {
			if got := strings.TrimSpace(form.Get(name)); got != want.Get(name) {
				t.Errorf("%q: %s is %q, not %q", line, name, got, want.Get(name))
			}
		}
	}
}

// What a line asks for is written when it is saved, for all of its people, and one click undoes it.
func TestLineIsSaved(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		heike, kofi := add(t, s, b.Owner, people.Draft{Name: "Heike Brandt"}, ""), add(t, s, b.Owner, people.Draft{Name: "Kofi Mensah"}, "")
		add(t, s, b.Owner, people.Draft{Name: "Kim Lee", Title: "Pilot"}, "")
		add(t, s, b.Owner, people.Draft{Name: "Kim Lee", Title: "Baker", OnDuplicate: people.OnDuplicateCreate}, "")
		save := func(line string, change url.Values) *webtest.Page {
			t.Helper()
			p := b.Get(lineAddress(line))
			form := actOf(p)
			if form == nil {
				t.Fatalf("%q: no form", line)
			}
			return b.Post(newPath, merged(form, change))
		}
		p := save("coffee with Heike and Kofi yesterday", nil)
		if to := p.Header.Get("Location"); !strings.HasPrefix(to, "/people/"+heike+"?") {
			t.Errorf("leads to %s: %s", to, p.Text())
		}
		yesterday := s.Clock.Now().AddDate(0, 0, -1)
		shown := b.Follow(p)
		wantPage(t, shown, http.StatusOK, "Logged: meeting with Heike Brandt and Kofi Mensah, "+yesterday.Format("2 January 2006")+".", "Coffee")
		wantPage(t, b.Get("/people/"+kofi), http.StatusOK, "Coffee", "with Heike Brandt")
		without(t, b.Follow(b.Submit(shown, "/activity/undo", nil)), "Coffee")

		wantPage(t, b.Follow(save("remind me to call Heike in 3 weeks", nil)), http.StatusOK, "The reminder is set.", "Call Heike")
		wantPage(t, b.Follow(save("remind me to water the plants tomorrow", nil)), http.StatusOK, "The reminder is set.", "Water the plants")
		wantPage(t, b.Follow(save("note on Kofi: likes <b>tea</b>", nil)), http.StatusOK, "The note is added.", "likes <b>tea</b>")

		for _, c := range []struct {
			line   string
			change url.Values
			field  string
		}{
			{"coffee with Kim Lee", nil, "with"}, {"coffee with Nobody", nil, "with"}, {"coffee with Heike", url.Values{"with": {""}}, "with"}, {"coffee with Heike", url.Values{"occurred_at": {"2999-01-01"}}, "occurred_at"},
			{"note on Kofi: x", url.Values{"body": {" "}}, "body"}, {"remind me to rest", url.Values{"due_on": {""}}, "due_on"},
		} {
			p := save(c.line, c.change)
			wantWrong(t, p, http.StatusBadRequest, c.field)
			if actOf(p) == nil {
				t.Errorf("%s: the form is gone", c.line)
			}
		}
		if p := save("coffee with Heike", url.Values{"act": {"dance"}}); p.Status != http.StatusNotFound {
			t.Errorf("another act: %d", p.Status)
		}
	})
}
