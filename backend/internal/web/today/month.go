package today

import (
	"net/http"
	"slices"
	"time"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/reminders"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// monthParameter chooses a month, such as 2026-12, in place of this day.
const monthParameter = "month"

// monthLayout is how an address has a month.
const monthLayout = "2006-01"

// monthSize is how many entries a month shows.
const monthSize = 300

// monthContent is a month with what is due on its days.
type monthContent struct {
	Month time.Time
	// Before and After are the addresses of the months beside it, Now that of the current one; Now is empty on that.
	Before, After, Now string
	// Weekdays are the days of a week, in the order of the member's locale.
	Weekdays []time.Time
	Days     []monthDay
	// More is how many entries are not shown.
	More int
	// Nothing is set if the month has no entries.
	Nothing bool
}

// monthDay is a day of a month. Column is the place of its day of the week.
type monthDay struct {
	Day     time.Time
	Column  int
	IsToday bool
	Due     []reminders.Due
}

// showMonth shows the birthdays, other dates and open reminders of a month.
func (v *request) showMonth(month string) error {
	const daysOfWeek, oldest, latest = 7, 1900, 2200
	first, err := time.Parse(monthLayout, month)
	if err != nil || first.Year() < oldest || first.Year() >= latest {
		return fault.New(fault.NotFound, "there is no month %q", month)
	}
	last := first.AddDate(0, 1, -1)
	ix, err := v.Reminders.Index(v.Ctx)
	if err != nil {
		return err
	}
	due, counts, err := reminders.List(v.Ctx, v.Data(), ix, reminders.DueQuery{
		Today: first, Zone: v.Zone, Until: last, Kinds: []string{reminders.KindReminder, reminders.KindDate}, Limit: monthSize,
		After: &reminders.Cursor{DueOn: first.Format(time.DateOnly), Kind: reminders.KindReminder}, // not what is overdue from earlier months
	})
	if err != nil {
		return err
	}
	today := v.Today()
	c := monthContent{Month: first, Before: v.month(first.AddDate(0, -1, 0)), After: v.month(first.AddDate(0, 1, 0))}
	if now := v.month(today); now != v.month(first) {
		c.Now = now
	}
	c.Nothing = len(due) == 0
	c.More = counts.Reminders + counts.Dates - counts.Overdue - len(due)
	begin := v.Format().WeekEnd(first).AddDate(0, 0, 1-daysOfWeek)
	for i := range daysOfWeek {
		c.Weekdays = append(c.Weekdays, begin.AddDate(0, 0, i))
	}
	for day := first; !day.After(last); day = day.AddDate(0, 0, 1) {
		of := monthDay{Day: day, Column: slices.IndexFunc(c.Weekdays, func(w time.Time) bool { return w.Weekday() == day.Weekday() }) + 1, IsToday: day.Equal(today)}
		for _, d := range due {
			if d.DueOn == day.Format(time.DateOnly) {
				of.Due = append(of.Due, d)
			}
		}
		c.Days = append(c.Days, of)
	}
	return v.Render(http.StatusOK, "month", page.Page{Title: v.Format().Month(first), Area: page.PathStart, Content: c})
}

// month returns the address of the month of a day.
func (v *request) month(day time.Time) string {
	return v.Link(page.PathStart, monthParameter, day.Format(monthLayout))
}
