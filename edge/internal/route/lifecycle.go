package route

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// MinimumNotice is the least time between the first Sunset header and the removal.
const MinimumNotice = 180 * 24 * time.Hour

// deprecationValue is the value of the Deprecation header. RFC 9745 has a date
// there; the specification of this service says true.
const deprecationValue = "true"

// lifecycle is what a row's state adds to its answers, ready to send.
type lifecycle struct {
	deprecation []string // nil for a current path
	successor   []string
	sunsets     []announced
}

type announced struct {
	from, at time.Time
	header   []string
}

func newLifecycle(r Route, baseURL string) lifecycle {
	if r.State != Deprecated {
		return lifecycle{}
	}
	l := lifecycle{
		deprecation: []string{deprecationValue},
		successor:   []string{"<" + baseURL + r.Successor + `>; rel="successor-version"`},
	}
	for _, s := range r.Sunsets {
		l.sunsets = append(l.sunsets, announced{
			from: s.Announced, at: s.At, header: []string{s.At.UTC().Format(http.TimeFormat)},
		})
	}
	return l
}

// mark adds the deprecation headers, and reports whether the path is gone.
func (l lifecycle) mark(h http.Header, now func() time.Time) (gone bool) {
	if l.deprecation == nil {
		return false
	}
	h["Deprecation"], h["Link"] = l.deprecation, l.successor
	if len(l.sunsets) == 0 {
		return false
	}
	moment := now()
	for _, s := range l.sunsets { // the last one announced counts
		if !moment.Before(s.from) {
			h["Sunset"] = s.header
			gone = !moment.Before(s.at)
		}
	}
	return gone
}

// checkLifecycle tells what is wrong with the row's state and dates, or nil.
func checkLifecycle(r Route) error {
	switch r.State {
	case Current:
		if r.Successor != "" || len(r.Sunsets) > 0 {
			return errors.New("a current path has neither a successor nor a sunset")
		}
		return nil
	case Deprecated:
		if r.Successor == "" {
			return errors.New("a deprecated path needs a successor")
		}
		return checkSunsets(r.Sunsets)
	default:
		return fmt.Errorf("state %q: must be %q or %q", r.State, Current, Deprecated)
	}
}

func checkSunsets(sunsets []Sunset) error {
	for i, s := range sunsets {
		if s.Announced.IsZero() || s.At.IsZero() {
			return errors.New("a sunset needs the day of its announcement and its own")
		}
		if notice := s.At.Sub(sunsets[0].Announced); notice < MinimumNotice {
			return fmt.Errorf("sunset %s is %d days after its announcement on %s: at least %d are needed",
				day(s.At), int(notice.Hours()/24), day(sunsets[0].Announced), int(MinimumNotice.Hours()/24))
		}
		if i == 0 {
			continue
		}
		before := sunsets[i-1]
		if s.At.Before(before.At) {
			return fmt.Errorf("sunset %s is earlier than %s, which was announced before it", day(s.At), day(before.At))
		}
		if s.Announced.Before(before.Announced) {
			return fmt.Errorf("sunsets must be in the order of their announcement, but %s comes after %s",
				day(s.Announced), day(before.Announced))
		}
	}
	return nil
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }
