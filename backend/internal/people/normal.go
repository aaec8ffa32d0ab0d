package people

import (
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/nyaruka/phonenumbers"
)

// NormalValue returns the form in which two spellings of one address are equal.
func NormalValue(kind, value string) string {
	switch kind {
	case KindEmail:
		return strings.ToLower(value)
	case KindPhone:
		return normalPhone(value)
	default:
		return normalURL(value)
	}
}

// unknownRegion makes the parser accept international numbers only: without the country, a
// national number cannot be completed.
const unknownRegion = "ZZ"

// normalPhone returns an international number as E.164, with its extension, and of any
// other number only the digits. A leading 00 counts as a plus.
func normalPhone(value string) string {
	digits := phoneDigits(value)
	if rest, ok := strings.CutPrefix(digits, "00"); ok {
		digits = "+" + rest
		value = "+" + strings.TrimPrefix(strings.TrimLeft(value, "( "), "00")
	}
	if !strings.HasPrefix(digits, "+") {
		return digits
	}
	for _, spelling := range []string{value, digits} {
		number, err := phonenumbers.Parse(spelling, unknownRegion)
		if err != nil || !phonenumbers.IsPossibleNumber(number) {
			continue
		}
		normal := phonenumbers.Format(number, phonenumbers.E164)
		if again, err := phonenumbers.Parse(normal, unknownRegion); err != nil || phonenumbers.Format(again, phonenumbers.E164) != normal {
			continue // of several trunk zeros each parse takes one: no number
		}
		if extension := number.GetExtension(); extension != "" {
			normal += "x" + extension
		}
		return normal
	}
	return digits
}

// phoneDigits keeps the digits, and a leading plus.
func phoneDigits(value string) string {
	var b strings.Builder
	for _, r := range value {
		if r == '+' && b.Len() == 0 || r >= '0' && r <= '9' {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// normalURL returns a web address without its scheme, "www." and trailing slash, and with the host in
// lower case, so that spellings of the same address are equal.
func normalURL(value string) string {
	u, err := url.Parse(value)
	if err != nil || u.Host == "" {
		return strings.ToLower(value)
	}
	normal := strings.TrimPrefix(strings.ToLower(u.Host), "www.") + strings.TrimSuffix(u.EscapedPath(), "/")
	if u.RawQuery != "" {
		normal += "?" + u.RawQuery
	}
	return normal
}

var organizationMarks = strings.NewReplacer(",", " ", ".", "")

// NormalOrganization returns the form in which two spellings of one organisation
// are equal: folded, without the words for its legal form.
func NormalOrganization(name string) string {
	plain := organizationMarks.Replace(text.Fold(name))
	words := strings.Fields(text.Fold(plain)) // again: a mark may have stood between a letter and its accent
	for len(words) > 1 && legalForm(words[len(words)-1]) {
		words = words[:len(words)-1]
	}
	return strings.Join(words, " ")
}

func legalForm(word string) bool {
	switch word {
	case "inc", "ltd", "llc", "llp", "plc", "gmbh", "ag", "kg", "se", "sa", "sas", "sarl", "srl", "spa", "bv", "nv",
		"oy", "ab", "as", "aps", "co", "corp", "corporation", "company", "limited", "kk", "pty", "eg", "ev":
		return true
	}
	return false
}

// CheckPartialDate fails with fault.Invalid unless value is empty or a real
// YYYY, YYYY-MM or YYYY-MM-DD.
func CheckPartialDate(field, value string) error {
	if value == "" {
		return nil
	}
	layout := map[int]string{4: "2006", 7: "2006-01", 10: time.DateOnly}[len(value)]
	if layout == "" {
		return fault.InvalidField(field, "%q is no date; use YYYY, YYYY-MM or YYYY-MM-DD", value)
	}
	if _, err := time.Parse(layout, value); err != nil {
		return fault.InvalidField(field, "%s", civil.NoDay(value))
	}
	return nil
}

// maxName limits the length of a guessed name; the contract limits given ones.
const maxName = 200

// GuessName guesses a name from an e-mail or web address:
// ana.lopez@… and …/in/ana-lopez both give "Ana Lopez".
func GuessName(handles []Handle) string {
	for _, h := range handles {
		var raw string
		switch h.Kind {
		case KindEmail:
			raw, _ = SplitEmail(h.Value)
			raw, _, _ = strings.Cut(raw, "+")
		case KindURL, KindSocial:
			raw = lastOfPath(h.NormalValue)
		default:
			continue
		}
		words := strings.FieldsFunc(raw, func(r rune) bool { return strings.ContainsRune("._- ", r) })
		for i, w := range words {
			first, size := utf8.DecodeRuneInString(w)
			words[i] = string(unicode.ToUpper(first)) + w[size:]
		}
		if name := text.Line(strings.Join(words, " ")); name != "" {
			return text.Truncate(name, maxName-1)
		}
	}
	return ""
}

// lastOfPath returns the last part of a normal web address as people read it.
func lastOfPath(address string) string {
	address, _, _ = strings.Cut(address, "?")
	last := address[strings.LastIndexByte(address, '/')+1:]
	if plain, err := url.PathUnescape(last); err == nil {
		return plain
	}
	return last
}

// IsSharedMailbox reports whether the local part of an address names a role, such as
// info, rather than a person.
func IsSharedMailbox(local string) bool {
	switch local {
	case "info", "contact", "hello", "office", "mail", "admin", "team", "sales", "support", "kontakt", "contacto",
		"help", "service", "reception", "enquiries", "inquiries", "press", "jobs", "hr", "billing", "noreply", "no-reply":
		return true
	}
	return false
}
