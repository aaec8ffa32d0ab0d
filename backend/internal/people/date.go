package people

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
)

// The kinds of important date.
const (
	DateBirthday    = "birthday"
	DateAnniversary = "anniversary"
	DateOther       = "other"
)

// ImportantDate is a day that recurs each year, and its database row. Year, Month and Day
// are 0 where they are unknown, but at least one is known.
type ImportantDate struct {
	TenantID     tenant.ID `bun:",pk" json:"-"`
	ID           string    `bun:",pk" json:"id"`
	ConnectionID string    `json:"-"`
	Kind         string    `json:"kind"`
	// Label describes a date of kind other.
	Label string `json:"label"`
	Year  int    `json:"year"`
	Month int    `json:"month"`
	Day   int    `json:"day"`
	// About says that the year is not certain. Such a date has no month.
	About bool `json:"about"`
	// Ordinal orders the dates of a connection.
	Ordinal int `json:"ordinal"`
}

// DateDraft is a date as callers write it.
type DateDraft struct {
	Kind, Label string
	// Date is YYYY, YYYY-MM, YYYY-MM-DD, --MM-DD or, for a year that is not certain, "about YYYY" or YYYY~.
	Date string
}

// MaxDates is how many dates one person holds.
const MaxDates = 20

// leapYear is used as the year of a date without one, so that 29 February is valid.
const leapYear = 2000

// Parse returns the date, or fails with fault.Invalid.
func (d DateDraft) Parse() (ImportantDate, error) { return d.date("date") }

// date parses a draft; errors name the field.
func (d DateDraft) date(field string) (ImportantDate, error) {
	out := ImportantDate{Kind: d.Kind, Label: text.Line(d.Label)}
	layout := ""
	value, about := strings.CutPrefix(d.Date, "about ")
	if !about {
		value, about = strings.CutSuffix(value, "~")
	}
	switch {
	case about && len(value) != len("2006"):
	case strings.HasPrefix(value, "--") && len(value) == len("--01-02"):
		value, layout = fmt.Sprintf("%d-%s", leapYear, value[2:]), time.DateOnly
	default:
		layout = map[int]string{4: "2006", 7: "2006-01", 10: time.DateOnly}[len(value)]
	}
	if layout == "" {
		return out, fault.InvalidField(field, "%q is no date; use YYYY, YYYY-MM, YYYY-MM-DD, --MM-DD or about YYYY", d.Date)
	}
	on, err := time.Parse(layout, value)
	if err != nil || on.Year() == 0 {
		return out, fault.InvalidField(field, "%s", civil.NoDay(d.Date))
	}
	out.Year, out.About = on.Year(), about
	if strings.HasPrefix(d.Date, "--") {
		out.Year = 0
	}
	if len(layout) > len("2006") {
		out.Month = int(on.Month())
	}
	if layout == time.DateOnly {
		out.Day = on.Day()
	}
	return out, nil
}

// String formats the date as a DateDraft writes it.
func (d ImportantDate) String() string {
	switch {
	case d.About:
		return fmt.Sprintf("about %04d", d.Year)
	case d.Month == 0:
		return fmt.Sprintf("%04d", d.Year)
	case d.Day == 0 && d.Year == 0:
		return fmt.Sprintf("--%02d", d.Month)
	case d.Day == 0:
		return fmt.Sprintf("%04d-%02d", d.Year, d.Month)
	case d.Year == 0:
		return fmt.Sprintf("--%02d-%02d", d.Month, d.Day)
	default:
		return fmt.Sprintf("%04d-%02d-%02d", d.Year, d.Month, d.Day)
	}
}

// Next returns the first day on or after from on which the date recurs. 29 February recurs
// on 28 February of a common year. Next returns false for a date whose day is unknown.
func (d ImportantDate) Next(from time.Time) (time.Time, bool) {
	if d.Month == 0 || d.Day == 0 {
		return time.Time{}, false
	}
	year := max(from.Year(), d.Year)
	on := civil.Clamped(year, time.Month(d.Month), d.Day)
	if on.Before(from) {
		on = civil.Clamped(year+1, time.Month(d.Month), d.Day)
	}
	return on, true
}

// same tells whether both say the same of a person.
func (d ImportantDate) same(other ImportantDate) bool {
	return d.Kind == other.Kind && d.Label == other.Label && d.Year == other.Year && d.Month == other.Month && d.Day == other.Day && d.About == other.About
}

// parseDates parses the drafts of a field.
func parseDates(field string, drafts []DateDraft) ([]ImportantDate, error) {
	dates := make([]ImportantDate, len(drafts))
	for i, draft := range drafts {
		var err error
		if dates[i], err = draft.date(fmt.Sprintf("%s[%d].date", field, i)); err != nil {
			return nil, err
		}
	}
	return dates, nil
}

// addDates adds the drafts of a field that are not in the list yet.
func (c *Connection) addDates(field string, drafts []DateDraft) error {
	dates, err := parseDates(field, drafts)
	if err != nil {
		return err
	}
	for _, d := range dates {
		if !slices.ContainsFunc(c.Dates, d.same) {
			c.Dates = append(c.Dates, d)
		}
	}
	return nil
}

// editDates changes the important dates. A date that stays keeps its id.
func (c *Connection) editDates(e DateEdit) error {
	if err := c.replaceDates(e.Replace); err != nil {
		return err
	}
	remove, err := parseDates("remove_important_dates", e.Remove)
	if err != nil {
		return err
	}
	for _, r := range remove {
		c.Dates = slices.DeleteFunc(c.Dates, func(d ImportantDate) bool {
			if r.Label == "" {
				d.Label = ""
			}
			return d.same(r)
		})
	}
	if err := c.replaceBirthday(e.Add); err != nil {
		return err
	}
	return c.addDates("add_important_dates", e.Add)
}

// replaceDates replaces the dates with the drafts, unless there are no drafts. Their order
// does not matter.
func (c *Connection) replaceDates(drafts []DateDraft) error {
	if len(drafts) == 0 {
		return nil
	}
	var wanted Connection
	if err := wanted.addDates("important_dates", drafts); err != nil {
		return err
	}
	c.Dates = slices.DeleteFunc(c.Dates, func(d ImportantDate) bool { return !slices.ContainsFunc(wanted.Dates, d.same) })
	return c.addDates("important_dates", drafts)
}

// replaceBirthday removes the birthdays that a birthday among the drafts replaces: a
// person has only one. It fails when there are several among the drafts.
func (c *Connection) replaceBirthday(add []DateDraft) error {
	birthday := func(d DateDraft) bool { return d.Kind == DateBirthday }
	at := slices.IndexFunc(add, birthday)
	if at < 0 {
		return nil
	}
	if slices.ContainsFunc(add[at+1:], birthday) {
		return fault.InvalidField("add_important_dates", "a person has one birthday; send one")
	}
	added, err := parseDates("add_important_dates", add)
	if err != nil {
		return err
	}
	c.Dates = slices.DeleteFunc(c.Dates, func(d ImportantDate) bool {
		return d.Kind == DateBirthday && !d.same(added[at])
	})
	return nil
}

// missing returns the dates of before that are not in after.
func missing(before, after []ImportantDate) []ImportantDate {
	var gone []ImportantDate
	for _, d := range before {
		if !slices.ContainsFunc(after, d.same) {
			gone = append(gone, d)
		}
	}
	return gone
}
