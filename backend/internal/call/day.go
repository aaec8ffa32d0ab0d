package call

import (
	"context"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// ZoneOf returns the time zone of the caller's member; UTC without a caller.
func ZoneOf(ctx context.Context) *time.Location {
	if p := tenant.PrincipalFrom(ctx); p != nil {
		return civil.Zone(p.Timezone)
	}
	return time.UTC
}

// parseDay parses a calendar day into the form of package civil; nil is the zero time.
func parseDay(field string, value *string) (time.Time, error) {
	if value == nil {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.DateOnly, *value)
	if err != nil {
		return t, fault.InvalidField(field, "%s", civil.NoDay(*value))
	}
	return t, nil
}

// StartOfDay returns the moment at which a day begins for the caller's member, or the day
// that is the given number of days later; nil is the zero time.
func StartOfDay(ctx context.Context, field string, value *string, after int) (time.Time, error) {
	day, err := parseDay(field, value)
	if err != nil || value == nil {
		return day, err
	}
	return civil.Start(day.AddDate(0, 0, after), ZoneOf(ctx)).UTC(), nil
}

// earliestMoment is the earliest moment that ParseMoment accepts.
var earliestMoment = time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC)

// ParseMoment parses the time of an event: an RFC 3339 time, or a calendar day, which
// means its noon in the member's time zone (or now, if it is today and not yet noon). local
// is the day or the time with its offset, as the caller gave it, and empty for a time in UTC: see
// civil.Local. nil is the zero time.
func ParseMoment(ctx context.Context, field string, value *string, now time.Time) (at time.Time, local string, err error) {
	if value == nil {
		return time.Time{}, "", nil
	}
	if at, err = time.Parse(time.RFC3339, *value); len(*value) == len(time.DateOnly) {
		local = *value
		at, err = momentOfDay(ctx, field, value, now)
	} else if err != nil {
		err = fault.InvalidField(field, "%q is no time of the calendar", *value)
	} else if !strings.HasSuffix(*value, "Z") {
		local = at.Format(time.RFC3339)
	}
	if err == nil && at.Before(earliestMoment) {
		err = fault.InvalidField(field, "must not be before %d", earliestMoment.Year())
	}
	return at.UTC().Truncate(time.Microsecond), local, err
}

func momentOfDay(ctx context.Context, field string, value *string, now time.Time) (time.Time, error) {
	zone := ZoneOf(ctx)
	day, err := parseDay(field, value)
	if err != nil {
		return day, err
	}
	noon, today := civil.Noon(day, zone), civil.Of(now, zone)
	switch {
	case day.After(today):
		return noon, fault.InvalidField(field, "%s lies in the future; today is %s (%s)", *value, today.Format(time.DateOnly), zone)
	case noon.After(now) && day.Equal(today):
		return now, nil
	}
	return noon, nil
}
