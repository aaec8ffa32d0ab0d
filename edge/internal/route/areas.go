package route

import (
	"slices"
	"strings"
)

// areas are the paths at and below each row, the longest first.
type areas []area

// area is what a row's pattern has before its parameter, with the row's rate policy.
type area struct {
	base   string // without a slash at the end
	policy string // "" for none
}

func newAreas(rows []Route) areas {
	var list areas
	for _, r := range rows {
		base, _, _ := strings.Cut(r.Pattern, "{")
		list = append(list, area{strings.TrimSuffix(base, "/"), r.RatePolicy})
	}
	slices.SortStableFunc(list, func(a, b area) int { return len(b.base) - len(a.base) })
	return list
}

// policy returns the rate policy of the nearest row at or above a path, "" for none.
func (l areas) policy(path string) string {
	for _, a := range l {
		if below, found := strings.CutPrefix(path, a.base); found && (below == "" || below[0] == '/') {
			return a.policy
		}
	}
	return ""
}
