package source

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/nyaruka/phonenumbers"
	"golang.org/x/text/unicode/norm"
)

// phone is a number in the form of the contract (digits, the usual characters between them, and an
// extension after an x), and the words that stand beside it, such as "private".
type phone struct{ value, words string }

// maxPhones is how much of a value is read for phone numbers, in bytes.
const maxPhones = 2000

// readPhones returns the numbers of a value. rest reports that something of the value is in none
// of them. wrong says why there is no number.
func readPhones(value, region string) (numbers []phone, rest bool, wrong string) {
	if isPhone(value) && !strings.ContainsAny(value, "/") {
		return []phone{{value: completePhone(value, region)}}, false, ""
	}
	plain, dropped := plainPhone(value)
	if roundedNumber.MatchString(plain) {
		return nil, false, "a spreadsheet has rounded this phone number"
	}
	rest = dropped
	for _, part := range splitPhones(plain) {
		n, more, ok := readPhone(part, region)
		rest = rest || more || !ok
		if ok {
			numbers = append(numbers, n)
		}
	}
	if len(numbers) == 0 {
		return nil, false, "it is no phone number"
	}
	return numbers, rest, ""
}

// The notations in and beside numbers, after plainPhone.
var (
	roundedNumber = regexp.MustCompile(`\d[.,]?\d*[Ee]\+\d`)
	// bracketWords are words in brackets; bare (0) and area codes are not.
	bracketWords = regexp.MustCompile(`[(\[{]([^()\[\]{}]*\pL[^()\[\]{}]*)[)\]}]`)
	leadingWords = regexp.MustCompile(`^[^\d+(]*`)
	digitsOnly   = regexp.MustCompile(`^[+(]?[\d ()./-]*`)
	// vanityNumber has capital letters instead of digits.
	vanityNumber = regexp.MustCompile(`^\+?[\d(][\d ().-]*[A-Z]{3}[A-Z\d -]*$`)
	// extensionOf is a word, sign or pause before an extension, and the extension.
	extensionOf = regexp.MustCompile(`(?i)^[\s,;.-]*(?:(?:extension|extn|ext|durchwahl|dw|app|anexo|ramal|interno|int|poste|wew|доб)\b[\s.:=]*|[x#,;pw]+[\s.:]*)(\d{1,9})`)
	// betweenNumbers may separate two numbers.
	betweenNumbers = regexp.MustCompile(`(?i)[\n|;,/&]+|\s(?:or|oder|ou|o|of|und|and|y|e|et|i|или|и)\s`)
)

// genericWords say only that a phone number or an extension follows.
const genericWords = " ext extension x t tel telefon telephone téléphone teléfono telefono telefone telefoon phone ph fon nr no number numéro número тел "

// readPhone reads one number. more reports that something of s is not in it.
func readPhone(s, region string) (n phone, more, ok bool) {
	var words []string
	s = strings.TrimSpace(bracketWords.ReplaceAllStringFunc(s, func(in string) string {
		words = append(words, strings.TrimSpace(in[1:len(in)-1]))
		return " "
	}))
	bare := 0 // words that are not in brackets
	lead := leadingWords.FindString(s)
	s = s[len(lead):]
	for word := range strings.FieldsFuncSeq(lead, func(r rune) bool { return !unicode.IsLetter(r) }) {
		if !strings.Contains(genericWords, " "+strings.ToLower(word)+" ") {
			words, bare = append(words, word), bare+1
		}
	}
	if number, ok := vanity(s); ok {
		n = phone{value: completePhone(number, region), words: strings.Join(words, " ")}
		return n, true, true
	}
	number := digitsOnly.FindString(s)
	tail := s[len(number):]
	number = strings.TrimRight(number, " (/.-")
	extension := ""
	for tail = strings.TrimSpace(tail); tail != ""; {
		if at := extensionOf.FindStringSubmatchIndex(tail); at != nil {
			more = more || extension != ""
			if extension == "" {
				extension = tail[at[2]:at[3]]
			}
			tail = strings.TrimLeft(tail[at[1]:], " #*.")
			continue
		}
		word := strings.TrimFunc(tail, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		if strings.ContainsFunc(word, unicode.IsDigit) || !strings.ContainsFunc(word, unicode.IsLetter) {
			more = more || word != ""
			break
		}
		if !strings.Contains(genericWords, " "+strings.ToLower(strings.Trim(word, "."))+" ") {
			words, bare = append(words, word), bare+1
		}
		break
	}
	const fewest = 6 // fewer digits among words are not a phone number: "Room 301"
	if !isPhone(number) || bare > 0 && digitCount(number) < fewest {
		return phone{}, false, false
	}
	n = phone{value: completePhone(number, region), words: strings.Join(words, " ")}
	if with := n.value + " x" + extension; extension != "" && isPhone(with) {
		n.value = with
	} else if extension != "" {
		more = true
	}
	return n, more, true
}

// vanity returns the digits of a number that has letters, as 1-800-FLOWERS.
func vanity(s string) (number string, ok bool) {
	const fewest, most = 7, 15
	digits := digitCount(s)
	// Letters after enough digits, or after a short number, are words.
	if digits >= fewest || digits < 3 || digits == 3 && !strings.ContainsAny(s[:1], "89") || !vanityNumber.MatchString(s) {
		return "", false
	}
	number = phonenumbers.ConvertAlphaCharactersInNumber(s)
	n := digitCount(number)
	return number, n >= fewest && n <= most && isPhone(number)
}

// splitPhones splits a text between its numbers. A slash may be within a number, and a comma may
// be a pause before an extension.
func splitPhones(s string) []string {
	var parts []string
	from := 0
	separators := betweenNumbers.FindAllStringIndex(s, -1)
	for i, at := range separators {
		end := len(s)
		for _, next := range separators[i+1:] { // a slash may be within the number that follows
			if strings.TrimSpace(s[next[0]:next[1]]) != "/" || strings.TrimSpace(s[at[0]:at[1]]) == "/" {
				end = next[0]
				break
			}
		}
		if isBetweenNumbers(s[from:at[0]], s[at[0]:at[1]], s[at[1]:end]) {
			parts, from = append(parts, s[from:at[0]]), at[1]
		}
	}
	return append(parts, s[from:])
}

// isBetweenNumbers reports whether a separator is between two numbers.
func isBetweenNumbers(left, separator, right string) bool {
	if strings.Count(left, "(") > strings.Count(left, ")") {
		return false
	}
	before, after := digitCount(left), digitCount(right)
	const short, number, whole = 3, 6, 7
	switch sign := strings.TrimSpace(separator); {
	case sign == "/":
		right = strings.TrimLeftFunc(right, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsLetter(r) || r == ':' || r == '.' })
		starts := right != "" && strings.ContainsAny(right[:1], "+0(")
		spaced := strings.HasSuffix(left, " ")
		return before >= number && after >= number && (starts || spaced || before >= whole && after >= whole)
	case sign == "," || sign == ";":
		return !strings.HasSuffix(strings.TrimSpace(right), "#") && (before >= short && after >= number || before >= short && before < number && after >= short)
	case strings.ContainsAny(sign, ",;#"): // pauses
		return false
	}
	return before >= short && after >= short
}

func digitCount(s string) int {
	n := 0
	for i := range len(s) {
		if isDigit(s[i]) {
			n++
		}
	}
	return n
}

// completePhone adds the country code of a region to a number without one, if the number is a
// complete national number there. Local, short and emergency numbers stay as they are.
func completePhone(phone, region string) string {
	if region == "" || strings.HasPrefix(phone, "+") || strings.HasPrefix(phone, "00") {
		return phone
	}
	number, err := phonenumbers.Parse(phone, region)
	if err != nil || !isNational(phone, number, region) {
		return phone
	}
	extension := number.GetExtension()
	number.Extension = nil
	full := phonenumbers.Format(number, phonenumbers.INTERNATIONAL)
	if extension != "" {
		full += " x" + extension
	}
	if !isPhone(full) {
		return phone
	}
	return full
}

// isNational reports whether a number as it was typed is a complete national number of a region.
// Where national numbers begin with a trunk prefix, a number without one may be local; only mobile
// numbers are recognised without it. Elsewhere, the number is valid or has the length of the
// numbers there: the numbers that are reserved for fiction are not valid.
func isNational(typed string, number *phonenumbers.PhoneNumber, region string) bool {
	if phonenumbers.IsPossibleNumberWithReason(number) != phonenumbers.IS_POSSIBLE {
		return false
	}
	valid := phonenumbers.IsValidNumber(number)
	trunk := phonenumbers.GetNddPrefixForRegion(region, true)
	example := phonenumbers.GetExampleNumber(region)
	if trunk != "" && example != nil && strings.HasPrefix(phonenumbers.NormalizeDigitsOnly(phonenumbers.Format(example, phonenumbers.NATIONAL)), trunk) {
		return strings.HasPrefix(phonenumbers.NormalizeDigitsOnly(typed), trunk) ||
			valid && phonenumbers.GetNumberType(number) == phonenumbers.MOBILE
	}
	if valid {
		return true
	}
	length := len(phonenumbers.GetNationalSignificantNumber(number))
	for _, kind := range []phonenumbers.PhoneNumberType{phonenumbers.FIXED_LINE, phonenumbers.MOBILE} {
		usual := phonenumbers.GetExampleNumberForType(region, kind)
		if usual != nil && len(phonenumbers.GetNationalSignificantNumber(usual)) == length {
			return true
		}
	}
	return false
}

// plainPhone converts a number to ASCII: digits of any script, dashes, spaces, and the extension
// of the tel scheme (RFC 3966). dropped reports other parameters of that scheme.
func plainPhone(value string) (plain string, dropped bool) {
	const scheme = "tel:"
	if len(value) > len(scheme) && strings.EqualFold(value[:len(scheme)], scheme) {
		value, dropped = withoutParameters(value[len(scheme):])
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
		case r == '\n' || r == '\r':
			b.WriteByte('\n')
		case unicode.IsSpace(r):
			b.WriteByte(' ')
		case unicode.Is(unicode.Cf, r): // marks of direction, which come with numbers copied from screens
		default:
			b.WriteRune(r)
		}
	}
	lines := strings.Split(strings.ReplaceAll(b.String(), ";ext=", " x"), "\n")
	for i, line := range lines {
		lines[i] = strings.Join(strings.Fields(line), " ")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n"), dropped
}

// withoutParameters removes the parameters of a tel URI except its extension.
func withoutParameters(uri string) (number string, dropped bool) {
	number, parameters, _ := strings.Cut(uri, ";")
	for parameter := range strings.SplitSeq(parameters, ";") {
		name, value, _ := strings.Cut(parameter, "=")
		switch {
		case strings.EqualFold(name, "ext"):
			number += " x" + value
		case parameter != "":
			dropped = true
		}
	}
	return number, dropped
}

// isPhone reports whether the contract accepts the number.
func isPhone(s string) bool { return phoneForm.MatchString(s) && digitCount(s) >= 3 }

var phoneForm = regexp.MustCompile(`^[+(0-9][0-9 ()./x-]{2,38}$`)
