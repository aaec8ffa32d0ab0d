package ratelimit

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Off is the override that disables a policy.
const Off = "off"

// ParseOverride reads an operator's setting of a policy: quota/window, with the window in seconds
// ("120/60"), or Off, for which it returns a quota and a window of 0. The quota is from 1 to
// MaxQuota, the window from 1 second to MaxWindow; both are plain digits. The error quotes s and
// says which values are valid.
func ParseOverride(s string) (quota int, window time.Duration, err error) {
	if s == Off {
		return 0, 0, nil
	}
	before, after, found := strings.Cut(s, "/")
	quota, quotaOK := parseCount(before, MaxQuota)
	seconds, windowOK := parseCount(after, int(MaxWindow/time.Second))
	switch {
	case !found:
		return 0, 0, fmt.Errorf("%q is not quota/window in seconds, such as 120/60, nor %s", s, Off)
	case !quotaOK:
		return 0, 0, fmt.Errorf("%q: the quota is not a number from 1 to %d (%q lifts the limit)", s, MaxQuota, Off)
	case !windowOK:
		return 0, 0, fmt.Errorf("%q: the window is not a number of seconds from 1 to %d", s, MaxWindow/time.Second)
	}
	return quota, time.Duration(seconds) * time.Second, nil
}

// parseCount reads a number from 1 to most, in digits only.
func parseCount(s string, most int) (int, bool) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= 1 && n <= most
}

// Apply returns the policies with the overrides, which are by the policy's name; see ParseOverride
// for their values. A policy that is off keeps its window and has a quota of 0. The error names
// every override that cannot be applied.
func Apply(defaults []Policy, overrides map[string]string) ([]Policy, error) {
	policies := slices.Clone(defaults)
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(overrides)) {
		at := slices.IndexFunc(policies, func(p Policy) bool { return p.Name == name })
		if at < 0 {
			errs = append(errs, fmt.Errorf("there is no rate policy %q; there are %s", name, names(defaults)))
			continue
		}
		quota, window, err := ParseOverride(overrides[name])
		if err != nil {
			errs = append(errs, fmt.Errorf("rate policy %q: %w", name, err))
			continue
		}
		policies[at].Quota = quota
		if quota > 0 {
			policies[at].Window = window
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return policies, nil
}

func names(policies []Policy) string {
	list := make([]string, 0, len(policies))
	for _, p := range policies {
		list = append(list, p.Name)
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}
