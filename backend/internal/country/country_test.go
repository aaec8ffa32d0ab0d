package country_test

import (
	"testing"

	"github.com/kith-crm/kith/backend/internal/country"
)

func TestOf(t *testing.T) {
	t.Parallel()
	for place, want := range map[string]string{
		"Lisbon, Portugal": "PT", "Portugal": "PT", "PT": "PT", "PRT": "PT", "Lisboa / Portugal": "PT", "München, Deutschland": "DE", "Osaka、日本": "JP",
		"Tokyo, 日本": "JP", "London, UK": "GB", "London, England": "GB", "Austin, USA": "US", "San Francisco, CA": "", "Dover, DE": "",
		"Lisbon": "", "": "", ",": "", "Amsterdam, The Netherlands": "NL", "Prague, Czech Republic": "CZ", "São Paulo, Brasil": "BR",
		"Seoul, South Korea": "KR", "Abidjan, Côte d’Ivoire": "CI", "Paris, Texas": "", "Tbilisi, Georgia": "GE", "Earth": "", "Europe": "", "150": "",
	} {
		if got := country.Of(place); got != want {
			t.Errorf("%q is in %q, want %q", place, got, want)
		}
	}
}

func TestNamed(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"portugal": "PT", "PORTUGAL": "PT", "pt": "PT", "de": "DE", "Allemagne": "DE", "Niemcy": "DE", "uk": "GB", "GBR": "GB", "USA": "US",
		"Narnia": "", "": "", "zz": "", "EU": "", "\x00": "",
	} {
		if got := country.Named(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}
