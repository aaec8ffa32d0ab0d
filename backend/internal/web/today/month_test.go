package today_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/reminders"
	"github.com/kith-crm/kith/backend/internal/timeline"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// A month has the dates and open reminders of its days, of this member alone.
func TestMonth(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b, other := s.SignedIn(t, "maria"), s.Member(t, "other")
		today := s.Clock.Now()
		month := func(day time.Time) *webtest.Page { return b.Get("/?month=" + day.Format("2006-01")) }
		want(t, b.Get("/"), http.StatusOK, "Month")
		want(t, month(today), http.StatusOK, today.Format("January 2006"), "Nothing is due in this month.")
		born := today.AddDate(-40, 2, 0)
		day := people.DateDraft{Kind: people.DateBirthday, Date: born.Format(time.DateOnly)}
		ada := add(t, s, b.Owner, people.Draft{Name: "Ada Stone", Dates: []people.DateDraft{day}})
		add(t, s, other, people.Draft{Name: "Ben Stranger", Dates: []people.DateDraft{day}})
		remind(t, s, b.Owner, reminders.Reminder{Text: "Send the paper", ConnectionIDs: []string{ada}}, 0)
		remind(t, s, b.Owner, reminders.Reminder{Text: "Long overdue"}, 100)
		remind(t, s, other, reminders.Reminder{Text: "Nothing of yours"}, 0)
		birthday := month(today.AddDate(0, 2, 0))
		want(t, birthday, http.StatusOK, "Ada Stone Birthday, turns 40")
		without(t, birthday, "Ben Stranger", "Send the paper", "Long overdue")
		if webtest.LinkTo(birthday, "Ada Stone") != "/people/"+ada {
			t.Error("no link to the person")
		}
		want(t, month(born), http.StatusOK, "Birthday")
		without(t, month(born.AddDate(-1, 0, 0)), "Ada Stone")
		now := month(today)
		want(t, now, http.StatusOK, "Send the paper · Ada Stone")
		without(t, now, "Long overdue", "Nothing of yours", "This month")
		next := b.Get(webtest.LinkTo(now, "Later"))
		want(t, next, http.StatusOK, "This month")
		if webtest.LinkTo(next, "Earlier") != webtest.LinkTo(b.Get("/"), "Month") {
			t.Error("the month before the next one is another one")
		}
		for _, wrong := range []string{"2026-13", "x", "0001-01", "9999-01"} {
			want(t, b.Get("/?month="+wrong), http.StatusNotFound)
		}
	})
}

// Today has what the member did and noted on the same day a year ago.
func TestYearAgo(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b, other := s.SignedIn(t, "maria"), s.Member(t, "other")
		ada, ben := add(t, s, b.Owner, people.Draft{Name: "Ada Stone"}), add(t, s, b.Owner, people.Draft{Name: "Ben Stone"})
		stranger := add(t, s, other, people.Draft{Name: "Vera Stranger"})
		without(t, b.Get("/"), "A year ago")
		now := s.Clock.Now()
		days := func(years int) int { return int(now.Sub(now.AddDate(-years, 0, 0)).Hours() / 24) }
		write(t, s, b.Owner, db.Actor{Tool: "test"}, func(ctx context.Context, tx *db.Tx) error {
			_, err := timeline.LogInteractions(ctx, tx, timeline.Interaction{
				ConnectionIDs: []string{ada, ben}, Kind: "meeting", Summary: "Coffee at the harbour", OccurredAt: now.AddDate(-1, 0, 0),
			})
			return err
		})
		logged(t, s, other, stranger, days(1))
		logged(t, s, b.Owner, ben, days(1)-1)
		logged(t, s, b.Owner, ben, days(2))
		p := b.Get("/")
		want(t, p, http.StatusOK, "A year ago", "Meeting · Coffee at the harbour")
		if text := p.Text(); !strings.Contains(text, "A year ago Ada Stone, Ben Stone Meeting") && !strings.Contains(text, "A year ago Ben Stone, Ada Stone Meeting") {
			t.Errorf("the people of the year before are not shown:\n%s", text)
		}
		without(t, p, "Vera Stranger")
	})
}
