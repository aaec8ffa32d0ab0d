package civil_test

import (
	"slices"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/civil"
)

// Every name can be loaded on every machine: each is in the time zone database of the binary.
func TestZoneNames(t *testing.T) {
	t.Parallel()
	names := civil.ZoneNames()
	if len(names) < 400 || !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("%d names, sorted: %v", len(names), slices.IsSorted(names))
	}
	for _, name := range names {
		if zone, err := time.LoadLocation(name); err != nil || zone.String() != name || civil.Zone(name).String() != name {
			t.Errorf("%s: %v, %v", name, zone, err)
		}
	}
}

func TestFindZone(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"Europe/Berlin": "Europe/Berlin", "europe/berlin": "Europe/Berlin", "AMERICA/NEW_YORK": "America/New_York", "utc": "UTC", "UTC": "UTC",
		"Asia/Calcutta": "Asia/Calcutta", "Etc/GMT+5": "Etc/GMT+5",
		"": "", "Local": "", "local": "", "Berlin": "", "Europe": "", "Europe/": "", "/etc/localtime": "", "../Europe/Berlin": "", "Europe//Berlin": "",
		"Europe/../Europe/Berlin": "", "posix/Europe/Berlin": "", "right/UTC": "", "+02:00": "", "CEST": "", "Factory": "", "Europe/Berlin\n": "", "Europe/Berlin\x00": "",
	} {
		if got, ok := civil.FindZone(given); got != want || ok != (want != "") {
			t.Errorf("%q is %q, %v", given, got, ok)
		}
	}
}

// Every zone with a country is one of ZoneNames, in one country.
func TestCountry(t *testing.T) {
	t.Parallel()
	for zone, want := range map[string]string{
		"Europe/Berlin": "DE", "Europe/Lisbon": "PT", "Europe/London": "GB", "America/New_York": "US", "America/Toronto": "CA", "Asia/Tokyo": "JP", "Asia/Kolkata": "IN", "Asia/Calcutta": "IN",
		"UTC": "", "Etc/GMT+5": "", "DE": "", "": "",
	} {
		if got := civil.Country(zone); got != want {
			t.Errorf("%q is in %q, want %q", zone, got, want)
		}
	}
	known := 0
	for _, name := range civil.ZoneNames() {
		if civil.Country(name) != "" {
			known++
		}
	}
	if known < 400 {
		t.Errorf("%d zones have a country", known)
	}
}
