package calendar

import (
	"net/mail"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/content"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/teambition/rrule-go"
)

const (
	// maxOccurrences is how many occurrences of an event are looked at, most of which may be before Options.From.
	maxOccurrences = 20_000
	// maxLooked is how many occurrences of all events are looked at.
	maxLooked = 5_000_000
	// neverCost is how many occurrences a rule counts as that has none, such as 31 February: all days until the year 9999 are tried.
	neverCost = 100_000
	// longest is the longest duration of an event.
	longest = 366 * 24 * time.Hour
	day     = 24 * time.Hour
)

// event is a VEVENT.
type event struct {
	uid, title string
	start      time.Time
	duration   time.Duration
	allDay     bool
	// original is the first start of the occurrence that the event stands for; zero for an event of its own.
	original time.Time
	rule     string
	// more are further occurrences. without are those that don't take place, by their seconds, and withoutDays by their days: some programs
	// write only the day.
	more        []time.Time
	without     map[int64]bool
	withoutDays map[string]bool
	cancelled   bool
	people      []Person
}

// parse reads an event from the lines of its VEVENT.
func (r *reader) parse(lines []content.Line) (*event, error) {
	e := &event{}
	var end time.Time
	var lasts string
	var err error
	for _, l := range lines {
		switch strings.ToUpper(l.Name) {
		case "UID":
			e.uid = strings.TrimSpace(l.Value)
		case "SUMMARY":
			e.title = title(l)
		case "DTSTART":
			e.start, e.allDay, err = r.time(l)
		case "DTEND":
			end, _, err = r.time(l)
		case "DURATION":
			lasts = l.Value
		case "RECURRENCE-ID":
			e.original, _, err = r.time(l)
		case "RRULE":
			e.rule = strings.TrimSpace(l.Value)
		case "RDATE":
			e.more = append(e.more, r.times(l)...)
		case "EXDATE":
			e.leaveOut(r.times(l))
		case "STATUS":
			e.cancelled = strings.EqualFold(strings.TrimSpace(l.Value), "CANCELLED")
		case "ATTENDEE", "ORGANIZER":
			r.attend(e, l)
		}
		if err != nil {
			return nil, err
		}
	}
	switch {
	case e.start.IsZero():
		return nil, fault.New(fault.Invalid, "it has no start")
	case e.uid == "": // wrong, but some programs do so: the event is known by what it says
		e.uid = e.title + " " + e.start.UTC().Format(time.RFC3339)
	}
	e.duration = max(0, min(e.lasting(end, lasts), longest))
	return e, nil
}

// lasting returns the duration of an event, from its end or from the text of its DURATION.
func (e *event) lasting(end time.Time, lasts string) time.Duration {
	switch {
	case !end.IsZero():
		return end.Sub(e.start)
	case lasts != "":
		return duration(lasts)
	case e.allDay:
		return day
	}
	return 0
}

// duration reads a duration such as PT1H30M, P2D or P1W (RFC 5545, section 3.3.6); 0 if it is none.
func duration(s string) time.Duration {
	const most = int(longest / time.Second)
	seconds := map[byte]int{'W': 7 * 24 * 3600, 'D': 24 * 3600, 'H': 3600, 'M': 60, 'S': 1}
	total := 0
	s = strings.ToUpper(strings.TrimSpace(s))
	s, found := strings.CutPrefix(strings.TrimPrefix(s, "+"), "P")
	if !found {
		return 0
	}
	for s = strings.Replace(s, "T", "", 1); s != ""; {
		digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
		n, err := strconv.Atoi(s[:digits])
		if err != nil || digits == len(s) || seconds[s[digits]] == 0 || n > most {
			return 0
		}
		total = min(total+n*seconds[s[digits]], most)
		s = s[digits+1:]
	}
	return time.Duration(total) * time.Second
}

// attend adds an organiser or attendee to an event. An own address that declined makes the event cancelled for the member.
func (r *reader) attend(e *event, l content.Line) {
	first := func(parameter string) string {
		values, _ := l.Values(parameter)
		if len(values) == 0 {
			return ""
		}
		return strings.TrimSpace(values[0])
	}
	email := address(l.Value)
	if email == "" {
		email = address(first("EMAIL")) // an attendee as urn:uuid
	}
	declined := strings.EqualFold(first("PARTSTAT"), "DECLINED")
	if slices.Contains(r.Own, email) {
		e.cancelled = e.cancelled || declined && strings.EqualFold(l.Name, "ATTENDEE")
		return
	}
	switch strings.ToUpper(first("CUTYPE")) {
	case "ROOM", "RESOURCE", "GROUP":
		return
	}
	if email == "" || declined || strings.HasSuffix(email, "calendar.google.com") || len(e.people) == maxPeople {
		return
	}
	name := text.Line(first("CN"))
	if address(name) != "" {
		name = ""
	}
	if i := slices.IndexFunc(e.people, func(p Person) bool { return p.Email == email }); i >= 0 {
		if e.people[i].Name == "" {
			e.people[i].Name = name
		}
		return
	}
	e.people = append(e.people, Person{Email: email, Name: name})
}

// address returns the e-mail address of a value such as mailto:ada@example.com, in lower case; empty if it has none.
func address(value string) string {
	value = strings.TrimSpace(value)
	if len(value) > len("mailto:") && strings.EqualFold(value[:len("mailto:")], "mailto:") {
		value = value[len("mailto:"):]
	}
	parsed, err := mail.ParseAddress(value)
	if err != nil || parsed.Name != "" || len(parsed.Address) > 254 {
		return ""
	}
	return strings.ToLower(parsed.Address)
}

// expand adds the meetings of an event in the span of Options.
func (r *reader) expand(e *event) {
	if e.rule == "" && len(e.more) == 0 {
		key := e.uid
		if !e.original.IsZero() {
			key = occurrence(e.uid, e.original)
		}
		r.add(e, key, e.start)
		return
	}
	skip := r.moved[e.uid]
	starts, err := r.starts(e)
	if err != nil {
		r.warn("The rule of the event %s was left out: %s.", text.QuoteUpTo(e.title, 80), err)
	}
	for _, start := range starts {
		if !skip[start.Unix()] && !e.without[start.Unix()] && !e.withoutDays[start.Format(time.DateOnly)] {
			r.add(e, occurrence(e.uid, start), start)
		}
	}
}

// leaveOut notes the times of an EXDATE.
func (e *event) leaveOut(times []time.Time) {
	if e.without == nil {
		e.without, e.withoutDays = map[int64]bool{}, map[string]bool{}
	}
	for _, t := range times {
		e.without[t.Unix()] = true
		if hour, minute, second := t.Clock(); hour+minute+second == 0 {
			e.withoutDays[t.Format(time.DateOnly)] = true
		}
	}
}

// occurrence is the key of an occurrence of an event.
func occurrence(uid string, first time.Time) string {
	return uid + "\n" + first.UTC().Format("20060102T150405Z")
}

// starts returns the starts of the occurrences of an event, those of the span and not many others, in order.
func (r *reader) starts(e *event) (starts []time.Time, err error) {
	starts = append(starts, e.start)
	starts = append(starts, e.more...)
	if e.rule != "" {
		var more []time.Time
		more, err = r.repeated(e)
		starts = append(starts, more...)
	}
	slices.SortFunc(starts, time.Time.Compare)
	return slices.CompactFunc(starts, time.Time.Equal), err
}

// repeated returns the starts that the rule of an event makes.
func (r *reader) repeated(e *event) (starts []time.Time, err error) {
	option, err := rrule.StrToROptionInLocation(e.rule, e.start.Location())
	if err != nil {
		return nil, fault.New(fault.Invalid, "it can't be read")
	}
	if option.Freq > rrule.DAILY || len(option.Byhour) > 1 || len(option.Byminute) > 1 || len(option.Bysecond) > 1 {
		return nil, fault.New(fault.Invalid, "it repeats more often than daily")
	}
	if _, until, found := strings.Cut(strings.ToUpper(e.rule), "UNTIL="); found && len(strings.TrimRight(until[:min(len(until), 9)], ";")) == len(dayForm) {
		option.Until = option.Until.Add(day - time.Second) // a day: all of it
	}
	option.Dtstart = later(e.start, option, r.From.Add(-e.duration))
	rule, err := rrule.NewRRule(*option)
	if err != nil {
		return nil, fault.New(fault.Invalid, "it can't be read")
	}
	next := rule.Iterator()
	for n := range maxOccurrences {
		if r.looked++; r.looked > maxLooked {
			return starts, fault.New(fault.Invalid, "the calendar has too many occurrences")
		}
		start, more := next()
		if !more && n == 0 {
			r.looked += neverCost
		}
		if !more || !start.Before(r.Until) {
			return starts, nil
		}
		if start.Add(e.duration).After(r.From) {
			starts = append(starts, start)
		}
	}
	return starts, fault.New(fault.Invalid, "it has more than %d occurrences", maxOccurrences)
}

// later returns an occurrence of a rule, or its start, that is not after a time. A daily or weekly rule that has begun years ago need not be
// followed from its beginning, unless it counts its occurrences.
func later(start time.Time, rule *rrule.ROption, before time.Time) time.Time {
	days := max(rule.Interval, 1)
	switch {
	case rule.Count > 0 || rule.Freq < rrule.WEEKLY:
		return start
	case rule.Freq == rrule.WEEKLY:
		days *= 7
	}
	steps := int(before.Sub(start)/day)/days - 1
	if steps <= 0 || days > int(longest/day) {
		return start
	}
	return start.AddDate(0, 0, steps*days)
}

// add adds a meeting, if it is in the span of Options.
func (r *reader) add(e *event, key string, start time.Time) {
	end := start.Add(e.duration)
	if e.allDay {
		end = start.AddDate(0, 0, max(1, int((e.duration+day/2)/day)))
	}
	switch {
	case end.Before(r.From), !start.Before(r.Until):
	case len(r.out.Meetings) == MaxMeetings:
		r.overrun = true
	default:
		r.out.Meetings = append(r.out.Meetings, Meeting{Key: key, Start: start, End: end, AllDay: e.allDay, Cancelled: e.cancelled, Title: e.title, People: e.people})
	}
}
