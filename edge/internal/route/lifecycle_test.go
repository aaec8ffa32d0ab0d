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

func deprecated(sunset string) Route {
	return Route{
		Name: "old", Pattern: "/old", Methods: []string{http.MethodGet}, Summary: "Old.", Protocol: HTTP,
		State: Deprecated, Successor: "/new", Sunset: date(sunset),
	}
}

func TestCheckLifecycle(t *testing.T) {
	t.Parallel()
	current := deprecated("")
	current.State = Current
	sunset := deprecated("2026-06-30")
	sunset.State, sunset.Successor = Current, ""
	alone := deprecated("")
	alone.Successor = ""
	stateless := deprecated("")
	stateless.State = ""
	for name, test := range map[string]struct {
		row  Route
		want string // part of the error; "" for none
	}{
		"no sunset":                {deprecated(""), ""},
		"a sunset":                 {deprecated("2026-06-30"), ""},
		"current with a sunset":    {sunset, "nor a sunset"},
		"current with successor":   {current, "neither a successor"},
		"deprecated, no successor": {alone, "needs a successor"},
		"no state":                 {stateless, "must be"},
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
	for _, test := range []struct {
		sunset, now, header string
		gone                bool
	}{
		{"", "2026-09-01", "", false},
		{"2026-09-01", "2026-01-01", "Tue, 01 Sep 2026 00:00:00 GMT", false},
		{"2026-09-01", "2026-08-31", "Tue, 01 Sep 2026 00:00:00 GMT", false},
		{"2026-09-01", "2026-09-01", "Tue, 01 Sep 2026 00:00:00 GMT", true},
		{"2026-09-01", "2027-09-01", "Tue, 01 Sep 2026 00:00:00 GMT", true},
	} {
		h := http.Header{}
		l := newLifecycle(deprecated(test.sunset), "https://kith.example")
		l.mark(h)
		gone := l.gone(date(test.now))
		if gone != test.gone || h.Get("Sunset") != test.header {
			t.Errorf("%+v: gone %t, Sunset %q", test, gone, h.Get("Sunset"))
		}
		if h.Get("Deprecation") != "true" || h.Get("Link") != `<https://kith.example/new>; rel="successor-version"` {
			t.Errorf("%+v: headers %v", test, h)
		}
	}
}

func TestLiveAt(t *testing.T) {
	t.Parallel()
	rows := WithSunsets([]Route{deprecated(""), {Name: "new"}}, map[string]time.Time{"old": date("2026-09-01")})
	for now, want := range map[string]int{"2026-08-31": 2, "2026-09-01": 1} {
		if live := LiveAt(rows, date(now)); len(live) != want || len(rows) != 2 {
			t.Errorf("on %s: %v", now, Names(live))
		}
	}
}
