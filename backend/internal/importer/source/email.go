package source

import (
	"strings"

	"github.com/kith-crm/kith/backend/internal/people"
	"golang.org/x/net/idna"
)

// cleanEmail returns the address in value as the contract has addresses (those of
// HTML's input element): without a name around it, the domain in ASCII.
func cleanEmail(value string) (email, wrong string) {
	for _, spelling := range []string{value, bareEmail(value)} {
		local, domain := people.SplitEmail(spelling)
		if !isASCII(domain) {
			domain, _ = idna.Lookup.ToASCII(domain) // empty on failure, which is no domain
		}
		email = local + "@" + domain
		switch {
		case local == "" || !isLocal(local) || !isDomain(domain):
			continue
		case len(email) > maxEmail:
			return "", "it is longer than e-mail addresses are"
		}
		return email, ""
	}
	return "", "it is no e-mail address"
}

// bareEmail takes off what stands around an address: Ana <ana@…>, mailto:ana@…,
// quotation marks and separators.
func bareEmail(value string) string {
	if open := strings.LastIndexByte(value, '<'); open >= 0 && strings.HasSuffix(value, ">") {
		value = value[open+1 : len(value)-1]
	}
	value = strings.Trim(value, " '\"<>,;")
	const scheme = "mailto:"
	if len(value) > len(scheme) && strings.EqualFold(value[:len(scheme)], scheme) {
		value, _, _ = strings.Cut(value[len(scheme):], "?")
	}
	return value
}

// isLocal tells whether s may stand before the @.
func isLocal(s string) bool {
	for i := range len(s) {
		if !isAlphanumeric(s[i]) && strings.IndexByte(".!#$%&'*+/=?^_`{|}~-", s[i]) < 0 {
			return false
		}
	}
	return true
}

// isDomain tells whether s is made of labels of letters, digits and hyphens.
func isDomain(s string) bool {
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for i := range len(label) {
			if !isAlphanumeric(label[i]) && label[i] != '-' {
				return false
			}
		}
	}
	return true
}

func isAlphanumeric(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || isDigit(b)
}

func isDigit(b byte) bool { return b >= '0' && b <= '9' }

func isASCII[T string | []byte](s T) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
