package calendar

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/content"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/text"
)

const (
	// MaxBytes is the size of the largest calendar that Read accepts.
	MaxBytes = 16 << 20
	// MaxMeetings is how many meetings Read returns.
	MaxMeetings = 20_000
	// maxWarnings is how many warnings Read returns; a last one counts the others.
	maxWarnings = 20
	// maxPeople is how many attendees of an event are read.
	maxPeople = 500
	// maxLines is how many lines of an event are read.
	maxLines = 5_000
)

// Meeting is one occurrence of an event.
type Meeting struct {
	// Key is the same whenever the occurrence is read, even after it has moved: the event's UID and, for one of several occurrences,
	// when it was to begin at first.
	Key string
	// Start is in the event's zone. For AllDay it is the midnight that the day begins with, in the zone of Options.
	Start, End time.Time
	AllDay     bool
	// Cancelled is set if it does not take place, or not with the member.
	Cancelled bool
	Title     string
	// People are the organiser and the attendees, each once, without rooms, groups and those who declined.
	People []Person
}

// Person takes part in a meeting. Email is in lower case. Name may be empty.
type Person struct{ Email, Name string }

// Options say what to read.
type Options struct {
	// Meetings that end before From, or begin at Until or later, are left out.
	From, Until time.Time
	// Zone is the zone of times without one, and of those in a zone that is not known.
	Zone *time.Location
	// Own are the member's addresses, in lower case. They are not among the people of a meeting, and a meeting that one of them declined is cancelled.
	Own []string
}

// Calendar is what a feed says.
type Calendar struct {
	// Name is the calendar's own, if it says one.
	Name string
	// Meetings are sorted by their start.
	Meetings []Meeting
	// Events is how many events the feed has, Skipped how many of them could not be read.
	Events, Skipped int
	// Warnings are sentences about what was not read, or not as written.
	Warnings []string
}

// reader is the state of Read.
type reader struct {
	Options

	out     Calendar
	zones   map[string]*time.Location // the feed's own, by their names
	unknown map[string]bool           // zones that were warned about
	warned  int
	moved   map[string]map[int64]bool // by UID: the occurrences that have events of their own, by their first start
	looked  int                       // occurrences that rules made
	overrun bool
}

// Read reads a calendar. It fails with fault.Invalid if the text is too large or no calendar.
func Read(feed []byte, o Options) (*Calendar, error) {
	if len(feed) > MaxBytes {
		return nil, fault.New(fault.Invalid, "the calendar is larger than %d MiB", MaxBytes>>20)
	}
	if !strings.HasPrefix(strings.ToUpper(strings.TrimSpace(strings.TrimPrefix(string(feed[:min(len(feed), 200)]), "\ufeff"))), "BEGIN:VCALENDAR") {
		return nil, fault.New(fault.Invalid, "it is no calendar: the text does not begin with BEGIN:VCALENDAR")
	}
	r := &reader{Options: o, zones: map[string]*time.Location{}, unknown: map[string]bool{}, moved: map[string]map[int64]bool{}}
	events := r.events(string(feed))
	for _, e := range events {
		if !e.original.IsZero() {
			if r.moved[e.uid] == nil {
				r.moved[e.uid] = map[int64]bool{}
			}
			r.moved[e.uid][e.original.Unix()] = true
		}
	}
	for _, e := range events {
		r.expand(e)
	}
	slices.SortStableFunc(r.out.Meetings, func(a, b Meeting) int { return cmp.Or(a.Start.Compare(b.Start), strings.Compare(a.Key, b.Key)) })
	if r.overrun {
		r.warn("Only %d meetings were read.", MaxMeetings)
	}
	if more := r.warned - maxWarnings; more > 0 {
		r.out.Warnings = append(r.out.Warnings, fmt.Sprintf("%d more warnings.", more))
	}
	return &r.out, nil
}

func (r *reader) warn(format string, args ...any) {
	if r.warned++; r.warned <= maxWarnings {
		r.out.Warnings = append(r.out.Warnings, fmt.Sprintf(format, args...))
	}
}

// events returns the events of a feed that can be read.
func (r *reader) events(feed string) (events []*event) {
	var open []string // the components around a line, such as VEVENT
	var lines, zone []content.Line
	var broken error
	for line, err := range content.Lines(feed) {
		inEvent := slices.Contains(open, "VEVENT")
		if err != nil {
			if inEvent {
				broken = err
			}
			continue
		}
		var text string
		if len(line.Name)+len(line.Value) < 100 {
			text = strings.ToUpper(line.Name + ":" + strings.TrimSpace(line.Value))
		}
		begun, begins := strings.CutPrefix(text, "BEGIN:")
		ended, ends := strings.CutPrefix(text, "END:")
		if len(zone) < maxLines && slices.Contains(open, "VTIMEZONE") {
			zone = append(zone, line)
		}
		switch {
		case begins:
			if begun == "VEVENT" {
				lines, broken = nil, nil
			}
			open = append(open, begun)
		case ends:
			if i := slices.Index(open, ended); i >= 0 {
				open = open[:i]
			}
			switch {
			case ended == "VEVENT" && inEvent:
				events = r.event(events, lines, broken)
			case ended == "VTIMEZONE":
				r.ownZone(zone)
				zone = nil
			}
		case len(open) > 0 && open[len(open)-1] == "VEVENT":
			if len(lines) == maxLines {
				broken = fault.New(fault.Invalid, "it has more than %d lines", maxLines)
				continue
			}
			lines = append(lines, line)
		case !inEvent && strings.EqualFold(line.Name, "X-WR-CALNAME"):
			r.out.Name = title(line)
		}
	}
	return events
}

// event parses an event and appends it to events. An event that can't be parsed is skipped with a warning; so is a line that can't be parsed
// of an event that can.
func (r *reader) event(events []*event, lines []content.Line, broken error) []*event {
	r.out.Events++
	e, err := r.parse(lines)
	switch {
	case err != nil:
		r.out.Skipped++
		r.warn("The event %s was left out: %s.", describe(lines), err)
		return events
	case broken != nil:
		r.warn("A line of the event %s was left out: %s.", describe(lines), broken)
	}
	return append(events, e)
}

// describe names an event in a warning.
func describe(lines []content.Line) string {
	for _, name := range []string{"SUMMARY", "UID"} {
		for _, l := range lines {
			if strings.EqualFold(l.Name, name) && title(l) != "" {
				return text.QuoteUpTo(title(l), 80)
			}
		}
	}
	return "without a title"
}

// title returns the text of a property in one line.
func title(l content.Line) string { return text.Line(content.Unescape(l.Value)) }
