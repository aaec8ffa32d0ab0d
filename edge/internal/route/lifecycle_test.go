package route

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

func date(text string) time.Time {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return time.Time{}
	}
	return t
}

func deprecated(sunsets ...Sunset) Route {
	return Route{
		Name: "old", Pattern: "/old", Methods: []string{http.MethodGet}, Summary: "Old.", Protocol: HTTP,
		State: Deprecated, Successor: "/new", Sunsets: sunsets,
	}
}

func TestCheckLifecycle(t *testing.T) {
	t.Parallel()
	current := deprecated()
	current.State = Current
	alone := deprecated()
	alone.Successor = ""
	stateless := deprecated()
	stateless.State = ""
	for name, test := range map[string]struct {
		row  Route
		want string // part of the error; "" for none
	}{
		"no sunset":               {deprecated(), ""},
		"exactly 180 days":        {deprecated(Sunset{date("2026-01-01"), date("2026-06-30")}), ""},
		"179 days":                {deprecated(Sunset{date("2026-01-01"), date("2026-06-29")}), "179 days after its announcement on 2026-01-01"},
		"no announcement":         {deprecated(Sunset{At: date("2026-06-29")}), "day of its announcement"},
		"postponed":               {deprecated(Sunset{date("2026-01-01"), date("2026-07-01")}, Sunset{date("2026-06-01"), date("2026-09-01")}), ""},
		"moved earlier":           {deprecated(Sunset{date("2026-01-01"), date("2026-09-01")}, Sunset{date("2026-02-01"), date("2026-08-01")}), "earlier than 2026-09-01"},
		"out of order":            {deprecated(Sunset{date("2026-02-01"), date("2026-09-01")}, Sunset{date("2026-01-01"), date("2026-10-01")}), "order of their announcement"},
		"successor of a current":  {current, "neither a successor"},
		"deprecated into nothing": {alone, "needs a successor"},
		"no state":                {stateless, "must be"},
	} {
		err := checkLifecycle(test.row)
		if test.want == "" && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: got %v, want an error with %q", name, err, test.want)
		}
	}
}

func TestLifecycleOfADeprecatedPath(t *testing.T) {
	t.Parallel()
	row := deprecated(Sunset{date("2026-01-01"), date("2026-07-01")}, Sunset{date("2026-06-01"), date("2026-09-01")})
	l := newLifecycle(row, "https://kith.example")
	for day, want := range map[string]struct {
		sunset string
		gone   bool
	}{
		"2025-12-31": {"", false},
		"2026-01-01": {"Wed, 01 Jul 2026 00:00:00 GMT", false},
		"2026-06-01": {"Tue, 01 Sep 2026 00:00:00 GMT", false},
		"2026-07-02": {"Tue, 01 Sep 2026 00:00:00 GMT", false},
		"2026-09-01": {"Tue, 01 Sep 2026 00:00:00 GMT", true},
	} {
		h := http.Header{}
		gone := l.mark(h, func() time.Time { return date(day) })
		if gone != want.gone || h.Get("Sunset") != want.sunset {
			t.Errorf("on %s: gone %t, Sunset %q", day, gone, h.Get("Sunset"))
		}
		if h.Get("Deprecation") != "true" || h.Get("Link") != `<https://kith.example/new>; rel="successor-version"` {
			t.Errorf("on %s: headers %v", day, h)
		}
	}
}
