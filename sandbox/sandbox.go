package sandbox

import (
	_ "embed"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"time"
)

// Username is the username of the demo account, the first of [Dataset.Members].
const Username = "demo"

// Token is the demo account's personal token. It is public on purpose: it can only read the demo
// account, and the store refuses every write made with it. Visitors never send it; the edge
// attaches it to calls under /sandbox and /mcp/sandbox.
const Token = "kith_pat_sandbox_public_read_only_demo_account"

//go:embed account.json
var account string // a Dataset without its day and its members

//go:embed members.json
var members string

// Build returns the demo account as it looks on the UTC day that contains day.
//
// Only the dates in the result depend on that day: people, ids and texts are the same on every day.
// Only reminders, snoozes and birthdays are in the future. Each call returns a new Dataset that the
// caller may change. Safe for concurrent use.
func Build(day time.Time) *Dataset {
	data := &Dataset{Day: midnight(day), Members: Members(day)}
	read(account, day, data)
	for _, c := range data.Connections {
		for i := range c.ImportantDates {
			c.ImportantDates[i].Date = validDate(c.ImportantDates[i].Date)
		}
	}
	return data
}

// Members returns the members of [Build] alone.
func Members(day time.Time) []Member {
	var list []Member
	read(members, day, &list)
	return list
}

func midnight(day time.Time) time.Time { return day.UTC().Truncate(24 * time.Hour) }

// read decodes one of the JSON files for a day. An error is not possible: the tests read both files.
func read(text string, day time.Time, into any) {
	today := midnight(day)
	_ = json.Unmarshal([]byte(os.Expand(text, func(name string) string { return expand(today, name) })), into)
}

// expand returns the date that a placeholder of the JSON files stands for:
//
//	${-3}          three days ago, as YYYY-MM-DD
//	${-900 2006}   900 days ago, in a layout of package time
//	${5 01-02}     in five days, without a year
//	${-40y}        the year, 40 years ago
//
// A coming day without a year is never 29 February, so that it is valid beside any year.
func expand(today time.Time, name string) string {
	offset, layout, _ := strings.Cut(name, " ")
	if years, ok := strings.CutSuffix(offset, "y"); ok {
		n, _ := strconv.Atoi(years)
		return strconv.Itoa(today.Year() + n)
	}
	days, _ := strconv.Atoi(offset)
	date := today.AddDate(0, 0, days)
	switch {
	case layout == "":
		layout = time.DateOnly
	case layout == "01-02" && days > 0 && date.Format(layout) == "02-29":
		return "02-28"
	}
	return date.Format(layout)
}

// validDate returns date, or for 29 February of a year that is no leap year the one before in a leap year.
func validDate(date string) string {
	year, isLeapDay := strings.CutSuffix(date, "-02-29")
	n, err := strconv.Atoi(year)
	if !isLeapDay || err != nil {
		return date
	}
	for time.Date(n, time.February, 29, 0, 0, 0, 0, time.UTC).Day() != 29 {
		n--
	}
	return strconv.Itoa(n) + "-02-29"
}
