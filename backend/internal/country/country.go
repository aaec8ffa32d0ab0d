// Package country finds the country that a place or a word names.
//
// The names are those of the Unicode CLDR in a dozen languages, and a few others in common
// use. The codes are those of ISO 3166-1.
package country

import (
	"cmp"
	"maps"
	"strings"
	"sync"

	"github.com/kith-crm/kith/backend/internal/text"
	"golang.org/x/text/language"
	"golang.org/x/text/language/display"
)

// Of returns the country of a place such as "Lisbon, Portugal": the country of its last
// part, as Named returns it. It is empty when the last part names no country. Two-letter
// codes after a comma are ignored, since they may be a state: "Dover, DE".
func Of(place string) string {
	parts := strings.FieldsFunc(place, func(r rune) bool { return strings.ContainsRune(",/\n·、，", r) })
	if len(parts) == 0 {
		return ""
	}
	last := strings.Trim(parts[len(parts)-1], " .()")
	if len(parts) > 1 && len(last) == 2 && !strings.EqualFold(last, "UK") && !strings.EqualFold(last, "US") {
		return ""
	}
	return Named(last)
}

// Named returns the two-letter code of the country that a name or a code stands for, or
// "" when it stands for none.
func Named(nameOrCode string) string {
	if code, ok := names()[text.Fold(nameOrCode)]; ok {
		return code
	}
	if n := len(nameOrCode); n != 2 && n != 3 {
		return ""
	}
	region, err := language.ParseRegion(nameOrCode)
	if err != nil || !region.IsCountry() {
		return ""
	}
	return region.Canonicalize().String()
}

// Name returns the English name of the country with a two-letter code, or the text itself if it is no code.
func Name(code string) string {
	if len(code) != 2 {
		return code
	}
	region, err := language.ParseRegion(code)
	if err != nil || !region.IsCountry() {
		return code
	}
	return cmp.Or(display.English.Regions().Name(region), code)
}

// others are names that the CLDR does not have.
var others = map[string]string{
	"england": "GB", "scotland": "GB", "wales": "GB", "northern ireland": "GB", "great britain": "GB", "uk": "GB", "u.k": "GB", "u.k.": "GB",
	"usa": "US", "u.s.a": "US", "u.s.a.": "US", "u.s": "US", "u.s.": "US", "united states of america": "US", "america": "US",
	"holland": "NL", "the netherlands": "NL", "czech republic": "CZ", "turkey": "TR", "uae": "AE", "burma": "MM", "macedonia": "MK",
	"ivory coast": "CI", "korea": "KR", "republic of ireland": "IE", "russian federation": "RU", "viet nam": "VN", "hong kong": "HK", "macau": "MO",
}

// names maps folded names to codes.
var names = sync.OnceValue(func() map[string]string {
	out := make(map[string]string, 3500)
	for _, tag := range []language.Tag{
		language.English, language.German, language.French, language.Spanish, language.Italian, language.Portuguese,
		language.Dutch, language.Polish, language.Swedish, language.Danish, language.Japanese, language.Chinese,
	} {
		namer := display.Regions(tag)
		for a := 'A'; a <= 'Z'; a++ {
			for b := 'A'; b <= 'Z'; b++ {
				region, err := language.ParseRegion(string([]rune{a, b}))
				if err != nil || !region.IsCountry() || region != region.Canonicalize() {
					continue
				}
				if name := text.Fold(namer.Name(region)); name != "" && out[name] == "" {
					out[name] = region.String()
				}
			}
		}
	}
	maps.Copy(out, others)
	return out
})
