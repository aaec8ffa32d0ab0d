package sandbox

import "strings"

// locale is a pool of names that go together, and the places their bearers live in.
type locale struct {
	quota       int      // how many people to cast from it
	familyFirst bool     // the full name starts with the family name
	joiner      string   // between the two names
	given       []string // "Jürgen", or "葵|Aoi" where letters other than Latin need a reading
	family      []string
	places      []place
}

// place is a town, as it is written in a connection's location.
type place struct {
	city, country string
	area          string // "+1 NXX" or "+44 20" where its people have such numbers
}

// String returns "City, Country", the city alone where it says it all, or nothing.
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

// plain turns a Latin-letter name into what an e-mail address holds: lower case, no
// accents, a hyphen for a space, no apostrophes. Letters that it does not know stay, and
// a test of the addresses finds them.
func plain(latin string) string {
	var text strings.Builder
	for _, r := range strings.ToLower(latin) {
		text.WriteString(plainLetter(r))
	}
	return text.String()
}

func plainLetter(r rune) string {
	switch r {
	case 'á', 'à', 'â', 'ä', 'ã', 'å', 'ă', 'ą', 'ạ':
		return "a"
	case 'ç', 'ć', 'č':
		return "c"
	case 'đ', 'ď':
		return "d"
	case 'é', 'è', 'ê', 'ë', 'ě', 'ę', 'ế', 'ề', 'ễ', 'ệ':
		return "e"
	case 'ğ':
		return "g"
	case 'í', 'ì', 'î', 'ï', 'ı', 'ị':
		return "i"
	case 'ł':
		return "l"
	case 'ñ', 'ń', 'ň':
		return "n"
	case 'ó', 'ò', 'ô', 'ö', 'õ', 'ø', 'ő', 'ơ', 'ồ', 'ộ':
		return "o"
	case 'ř':
		return "r"
	case 'ś', 'š', 'ş':
		return "s"
	case 'ú', 'ù', 'û', 'ü', 'ů', 'ư', 'ũ', 'ứ':
		return "u"
	case 'ý', 'ỳ':
		return "y"
	case 'ž', 'ź', 'ż':
		return "z"
	case 'ß':
		return "ss"
	case 'æ':
		return "ae"
	case 'œ':
		return "oe"
	case 'ť':
		return "t"
	case ' ':
		return "-"
	case '\'', '’':
		return ""
	default:
		return string(r)
	}
}

// nicknames maps given names to the short form their bearers go by.
func nicknames() map[string]string {
	return map[string]string{
		"Alexander": "Alex", "Benjamin": "Ben", "Eleanor": "Nell", "Josephine": "Jo",
		"Katherine": "Kate", "Matilda": "Tilly", "Nicholas": "Nick", "Philippa": "Pip",
		"Samuel": "Sam", "Theodore": "Theo", "William": "Will", "Guillermo": "Memo",
		"Francisco": "Paco", "Leonor": "Nonô", "Johanna": "Hanna", "Sebastian": "Basti",
		"Małgorzata": "Gosia", "Oluwaseun": "Seun", "Chukwuemeka": "Emeka", "Venkatesh": "Venky",
	}
}
