package route

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// deprecationValue is the value of the Deprecation header. RFC 9745 has a date
// there; the specification of this service says true.
const deprecationValue = "true"

// lifecycle is what a row's state adds to its answers, ready to send.
type lifecycle struct {
	deprecation []string // nil for a current path
	successor   []string
	sunset      []string // nil without a date
	at          time.Time
}

func newLifecycle(r Route, baseURL string) lifecycle {
	if r.State != Deprecated {
		return lifecycle{}
	}
	l := lifecycle{
		deprecation: []string{deprecationValue},
		successor:   []string{"<" + baseURL + r.Successor + `>; rel="successor-version"`},
	}
	if !r.Sunset.IsZero() {
		l.at, l.sunset = r.Sunset, []string{r.Sunset.UTC().Format(http.TimeFormat)}
	}
	return l
}

// mark adds the deprecation headers, and reports whether the path is gone.
func (l lifecycle) mark(h http.Header, now func() time.Time) (gone bool) {
	if l.deprecation == nil {
		return false
	}
	h["Deprecation"], h["Link"] = l.deprecation, l.successor
	if l.sunset == nil {
		return false
	}
	h["Sunset"] = l.sunset
	return !now().Before(l.at)
}

// checkLifecycle tells what is wrong with the row's state, or nil.
func checkLifecycle(r Route) error {
	switch r.State {
	case Current:
		if r.Successor != "" || !r.Sunset.IsZero() {
			return errors.New("a current path has neither a successor nor a sunset")
		}
		return nil
	case Deprecated:
		if r.Successor == "" {
			return errors.New("a deprecated path needs a successor")
		}
		return nil
	default:
		return fmt.Errorf("state %q: must be %q or %q", r.State, Current, Deprecated)
	}
}
