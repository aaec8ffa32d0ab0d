package index

import (
	"strings"
	"unicode"
)

// minSharedDigits is how many digits two phone numbers must share at their end
// when one is written with a country code and the other without.
const minSharedDigits = 7

// handles is the whole query read as an identifier; a part it cannot be is "".
type handles struct {
	email, phone, url, domain string
}

// parseHandles reads text, which is trimmed, as an identifier.
func parseHandles(text string) handles {
	h := handles{phone: phoneQuery(text)}
	if strings.IndexFunc(text, unicode.IsSpace) >= 0 {
		return h
	}
	if domain, ok := strings.CutPrefix(text, "@"); ok {
		h.domain = strings.ToLower(domain)
		return h
	}
	if email := normalizeEmail(text); strings.Contains(email, "@") {
		h.email = email
		return h
	}
	if strings.Contains(text, ".") {
		h.url = normalizeURL(text)
		if !strings.Contains(h.url, "/") {
			h.domain = h.url
		}
	}
	return h
}

// words is the part of the query that is looked up as words: of an address or
// a URL only what is indexed of them.
func (h handles) words(text string) string {
	switch {
	case h.email != "":
		local, domain := splitEmail(h.email)
		return local + " " + domainWords(domain)
	case strings.Contains(h.url, "/"):
		return urlWords(h.url)
	}
	return text
}

func normalizeEmail(raw string) string {
	email := strings.ToLower(strings.TrimSpace(raw))
	email = strings.TrimPrefix(email, "mailto:")
	return strings.Trim(email, "<>")
}

func splitEmail(email string) (local, domain string) {
	at := strings.LastIndexByte(email, '@')
	if at < 0 {
		return email, ""
	}
	return email[:at], email[at+1:]
}

// domainWords is a domain without its last label, which tells nothing.
func domainWords(domain string) string {
	if at := strings.LastIndexByte(domain, '.'); at >= 0 {
		return domain[:at]
	}
	return domain
}

// normalizeURL drops the scheme, www, a fragment and a closing slash.
func normalizeURL(raw string) string {
	url := strings.ToLower(strings.TrimSpace(raw))
	if _, rest, ok := strings.Cut(url, "://"); ok {
		url = rest
	}
	url, _, _ = strings.Cut(url, "#")
	return strings.TrimRight(strings.TrimPrefix(url, "www."), "/")
}

// urlWords is what identifies a person in a normalised URL: the last segment of
// the path (linkedin.com/in/maria-lopez), else the host.
func urlWords(url string) string {
	url, _, _ = strings.Cut(url, "?")
	if at := strings.LastIndexByte(url, '/'); at >= 0 {
		return url[at+1:]
	}
	return domainWords(url)
}

// normalizePhone keeps the digits, without the zeros that stand for a trunk or
// an international prefix.
func normalizePhone(raw string) string {
	digits := strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return r
		}
		return -1
	}, raw)
	return strings.TrimLeft(digits, "0")
}

// phoneQuery returns the digits of a text that can only be a number, else "".
func phoneQuery(text string) string {
	for _, r := range text {
		if (r < '0' || r > '9') && !strings.ContainsRune("+-.()/  ", r) {
			return ""
		}
	}
	digits := normalizePhone(text)
	if len(digits) < 3 {
		return ""
	}
	return digits
}

// phoneKey is what two writings of one number have in common: its last digits.
func phoneKey(digits string) string {
	return digits[max(0, len(digits)-minSharedDigits):]
}

// samePhone compares two normalised numbers; one may lack the country code.
func samePhone(a, b string) bool {
	if len(a) < len(b) {
		a, b = b, a
	}
	return a == b || len(b) >= minSharedDigits && strings.HasSuffix(a, b)
}
