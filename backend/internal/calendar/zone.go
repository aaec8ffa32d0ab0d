package calendar

import (
	_ "embed" // windows_zones.txt
	"strings"
	"sync"
	"time"

	"github.com/kith-crm/kith/backend/internal/content"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/text"
)

// Forms of times (RFC 5545, sections 3.3.4 and 3.3.5).
const (
	dayForm   = "20060102"
	clockForm = "20060102T150405"
)

// firstYear and lastYear bound the times that are read.
const (
	firstYear = 1900
	lastYear  = 2200
)

// time reads the time of a property.
func (r *reader) time(l content.Line) (at time.Time, isDay bool, err error) {
	return r.parseTime(strings.TrimSpace(l.Value), r.zoneOf(l))
}

// times reads the times of a property that may have several. Those that can't be read are left out.
func (r *reader) times(l content.Line) (all []time.Time) {
	zone := r.zoneOf(l)
	for value := range strings.SplitSeq(l.Value, ",") {
		start, _, _ := strings.Cut(strings.TrimSpace(value), "/") // of a period
		if at, _, err := r.parseTime(start, zone); err == nil && len(all) < maxOccurrences {
			all = append(all, at)
		}
	}
	return all
}

// zoneOf returns the zone of a property's times.
func (r *reader) zoneOf(l content.Line) *time.Location {
	ids, _ := l.Values("TZID")
	if len(ids) == 0 || ids[0] == "" {
		return r.Zone
	}
	zone := zoneNamed(ids[0])
	if zone == nil {
		zone = r.zones[ids[0]]
	}
	if zone == nil {
		zone = r.Zone
		if name := text.Line(ids[0]); !r.unknown[name] {
			r.unknown[name] = true
			r.warn("The time zone %s is not known; its times were read in yours, %s.", text.QuoteUpTo(name, 60), r.Zone)
		}
	}
	return zone
}

func (r *reader) parseTime(value string, zone *time.Location) (at time.Time, isDay bool, err error) {
	switch utc, isUTC := strings.CutSuffix(value, "Z"); {
	case isUTC:
		at, err = time.ParseInLocation(clockForm, utc, time.UTC)
		at = at.In(r.Zone)
	case len(value) == len(dayForm):
		isDay = true
		at, err = time.ParseInLocation(dayForm, value, r.Zone)
	default:
		at, err = time.ParseInLocation(clockForm, value, zone)
	}
	if err != nil || at.Year() < firstYear || at.Year() > lastYear {
		return time.Time{}, false, fault.New(fault.Invalid, "the time %s can't be read", text.QuoteUpTo(text.Line(value), 40))
	}
	return at, isDay, nil
}

// windowsZones are the names that Windows has for zones, from windowsZones.xml of the Unicode CLDR (territory 001).
//
//go:embed windows_zones.txt
var windowsZones string

var windowsZone = sync.OnceValue(func() map[string]string { //nolint:gochecknoglobals // a constant
	zones := map[string]string{}
	for line := range strings.Lines(windowsZones) {
		if name, zone, found := strings.Cut(strings.TrimSpace(line), "="); found && !strings.HasPrefix(name, "#") {
			zones[strings.ToLower(name)] = zone
		}
	}
	return zones
})

// zoneNamed returns the zone that a program means by a name: one of the IANA database, also behind a prefix such as
// /freeassociation.sourceforge.net/, one of Windows, or one that Outlook describes, such as "(UTC+01:00) Amsterdam, Berlin". It returns nil
// if the name says nothing.
func zoneNamed(name string) *time.Location {
	name = strings.Trim(strings.TrimSpace(name), `"`)
	load := func(name string) *time.Location {
		if name == "" || strings.EqualFold(name, "local") {
			return nil
		}
		zone, err := time.LoadLocation(name)
		if err != nil {
			return nil
		}
		return zone
	}
	if zone := load(windowsZone()[strings.ToLower(name)]); zone != nil {
		return zone
	}
	for rest := name; ; {
		if zone := load(rest); zone != nil {
			return zone
		}
		_, after, found := strings.Cut(rest, "/")
		if !found {
			break
		}
		rest = after
	}
	return described(name, load)
}

// described returns the zone of a description such as "(UTC+01:00) Amsterdam, Berlin, Bern": that of the first city with a zone of its own.
func described(name string, load func(string) *time.Location) *time.Location {
	_, cities, found := strings.Cut(name, ") ")
	if !found || !strings.HasPrefix(name, "(") {
		return nil
	}
	for city := range strings.SplitSeq(cities, ",") {
		city = strings.ReplaceAll(strings.TrimSpace(city), " ", "_")
		for _, region := range []string{"Europe", "America", "Asia", "Australia", "Africa", "Pacific", "Atlantic"} {
			if zone := load(region + "/" + city); zone != nil && city != "" {
				return zone
			}
		}
	}
	if strings.HasPrefix(name, "(UTC)") || strings.HasPrefix(name, "(GMT)") {
		return time.UTC
	}
	return nil
}
