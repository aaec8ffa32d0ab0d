package sandbox

import "strings"

// locale is a pool of names that go together, and the places where people with these names live.
type locale struct {
	quota       int      // how many people have their names from it
	familyFirst bool     // the full name starts with the family name
	joiner      string   // between the two names
	given       []string // "Jürgen", or "葵|Aoi": names that aren't in Latin letters have a reading
	family      []string
	places      []place
}

// place is a town, as it is written in a connection's location.
type place struct {
	city, country string
	area          string // "+1 NXX" or "+44 20" where its people have such numbers
}

// String returns "City, Country", only the city if there is no country, or "".
func (p place) String() string {
	if p.country == "" {
		return p.city
	}
	return p.city + ", " + p.country
}

// name is one person's name in the original letters and in plain ASCII.
type name struct {
	given, family           string
	full                    string
	latinGiven, latinFamily string // ASCII, as in an e-mail address: "jose", "de-la-vega"
}

// newName joins a given and a family name as the locale does.
func (c locale) newName(given, family string) name {
	givenText, givenLatin := reading(given)
	familyText, familyLatin := reading(family)
	first, second := givenText, familyText
	if c.familyFirst {
		first, second = familyText, givenText
	}
	return name{
		given:       givenText,
		family:      familyText,
		full:        first + c.joiner + second,
		latinGiven:  plain(givenLatin),
		latinFamily: plain(familyLatin),
	}
}

// reading splits "葵|Aoi" into its text and its Latin reading; a word without a bar is both.
func reading(word string) (text, latin string) {
	text, latin, found := strings.Cut(word, "|")
	if !found {
		return text, text
	}
	return text, latin
}

// plain converts a name in Latin letters to a part of an e-mail address: lower case, no
// accents, hyphens for spaces, no apostrophes. It keeps unknown letters, and a test of the
// addresses finds them.
func plain(latin string) string {
	var text strings.Builder
	for _, r := range strings.ToLower(latin) {
		text.WriteString(plainLetter(r))
	}
	return text.String()
}

func plainLetter(r rune) string {
	if r >= 'a' && r <= 'z' || r == '-' {
		return string(r)
	}
	for _, row := range [][2]string{
		{"a", "áàâäãåăąạ"}, {"c", "çćč"}, {"d", "đď"}, {"e", "éèêëěęếềễệ"}, {"g", "ğ"}, {"i", "íìîïıị"}, {"l", "ł"},
		{"n", "ñńň"}, {"o", "óòôöõøőơồộ"}, {"r", "ř"}, {"s", "śšş"}, {"t", "ť"}, {"u", "úùûüůưũứ"}, {"y", "ýỳ"}, {"z", "žźż"},
		{"ss", "ß"}, {"ae", "æ"}, {"oe", "œ"}, {"-", " "}, {"", "'’"},
	} {
		if strings.ContainsRune(row[1], r) {
			return row[0]
		}
	}
	return string(r)
}

// nicknames maps given names to short forms.
func nicknames() map[string]string {
	return map[string]string{
		"Alexander": "Alex", "Benjamin": "Ben", "Eleanor": "Nell", "Josephine": "Jo",
		"Katherine": "Kate", "Matilda": "Tilly", "Nicholas": "Nick", "Philippa": "Pip",
		"Samuel": "Sam", "Theodore": "Theo", "William": "Will", "Guillermo": "Memo",
		"Francisco": "Paco", "Leonor": "Nonô", "Johanna": "Hanna", "Sebastian": "Basti",
		"Małgorzata": "Gosia", "Oluwaseun": "Seun", "Chukwuemeka": "Emeka", "Venkatesh": "Venky",
	}
}
