package source

import (
	"strings"
	"unicode"

	"github.com/nyaruka/phonenumbers"
	"golang.org/x/text/unicode/norm"
)

// cleanPhone returns a number as the contract has numbers: digits and what is
// usual between them, an extension after an x. A number that already is such is
// kept as it is spelled, unless it lacks the country code that region tells.
func cleanPhone(value, region string) (phone, wrong string) {
	phone = value
	if !isPhone(phone) {
		phone = plainPhone(value)
	}
	switch {
	case strings.Contains(phone, "E+"):
		return "", "a spreadsheet has rounded this phone number"
	case !isPhone(phone):
		return "", "it is no phone number"
	}
	if region == "" || strings.HasPrefix(phone, "+") || strings.HasPrefix(phone, "00") {
		return phone, ""
	}
	number, err := phonenumbers.Parse(phone, region)
	if err != nil || !phonenumbers.IsPossibleNumber(number) {
		return phone, ""
	}
	extension := number.GetExtension()
	number.Extension = nil
	full := phonenumbers.Format(number, phonenumbers.INTERNATIONAL)
	if extension != "" {
		full += " x" + extension
	}
	if !isPhone(full) {
		return phone, ""
	}
	return full, ""
}

// plainPhone writes a number in ASCII: digits of any script, dashes, spaces, the
// tel scheme (RFC 3966) and the ways to write an extension.
func plainPhone(value string) string {
	const scheme = "tel:"
	if len(value) > len(scheme) && strings.EqualFold(value[:len(scheme)], scheme) {
		value = withoutParameters(value[len(scheme):])
	}
	var b strings.Builder
	for _, r := range norm.NFKC.String(value) {
		switch {
		case r >= '٠' && r <= '٩':
			b.WriteRune('0' + r - '٠')
		case r >= '۰' && r <= '۹':
			b.WriteRune('0' + r - '۰')
		case r >= '०' && r <= '९':
			b.WriteRune('0' + r - '०')
		case unicode.Is(unicode.Pd, r) || r == '−':
			b.WriteByte('-')
		case unicode.IsSpace(r):
			b.WriteByte(' ')
		case unicode.Is(unicode.Cf, r): // marks of direction, which come with numbers copied from screens
		default:
			b.WriteRune(r)
		}
	}
	plain := strings.TrimLeftFunc(b.String(), func(r rune) bool { return unicode.IsLetter(r) || r == ':' || r == ' ' })
	return strings.Join(strings.Fields(plainExtension(plain)), " ")
}

// withoutParameters drops the parameters of a tel URI but its extension.
func withoutParameters(uri string) string {
	number, parameters, _ := strings.Cut(uri, ";")
	for parameter := range strings.SplitSeq(parameters, ";") {
		if extension, ok := strings.CutPrefix(parameter, "ext="); ok {
			return number + " x" + extension
		}
	}
	return number
}

// plainExtension writes an extension with an x.
func plainExtension(s string) string {
	lower := strings.ToLower(s)
	if len(lower) != len(s) {
		return s
	}
	for _, word := range []string{"extension", "ext.", "ext", "x.", "#", ",,", ",", ";", "x"} {
		at := strings.Index(lower, word)
		if at <= 0 {
			continue
		}
		extension := strings.Trim(s[at+len(word):], " .:,;#")
		if extension == "" {
			return strings.TrimSpace(s[:at])
		}
		return strings.TrimSpace(s[:at]) + " x" + extension
	}
	return s
}

// isPhone tells whether the contract takes the number.
func isPhone(s string) bool {
	const shortest = 3
	if len(s) < shortest || len(s) > maxPhone-1 || s[0] != '+' && s[0] != '(' && !isDigit(s[0]) {
		return false
	}
	for i := 1; i < len(s); i++ {
		if !isDigit(s[i]) && strings.IndexByte(" ()./x-", s[i]) < 0 {
			return false
		}
	}
	return strings.ContainsFunc(s, unicode.IsDigit)
}
