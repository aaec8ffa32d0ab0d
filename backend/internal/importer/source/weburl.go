package source

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// cleanURL returns a web address as the contract has them, https or http. An
// address without a scheme gets https; any other scheme is refused, since some of
// them run what they hold.
func cleanURL(value string) (address, wrong string) {
	scheme, rest, found := strings.Cut(value, ":")
	switch scheme = strings.ToLower(scheme); {
	case found && (scheme == "https" || scheme == "http") && strings.HasPrefix(rest, "//"):
		address = scheme + ":" + rest // the contract knows schemes in lower case only
	case found && isScheme(scheme) && !isPort(rest):
		return "", "only https and http addresses are kept"
	default:
		address = "https://" + strings.TrimLeft(value, "/")
		if u, err := url.Parse(address); err != nil || !strings.Contains(u.Hostname(), ".") {
			return "", "it is no web address"
		}
	}
	address = strings.ReplaceAll(address, " ", "%20")
	switch {
	case strings.ContainsFunc(address, unusable) || strings.HasSuffix(address, "://"):
		return "", "it is no web address"
	case utf8.RuneCountInString(address) > maxURL:
		return "", "it is longer than web addresses are kept"
	}
	return address, ""
}

// unusable tells white space and characters that nobody sees.
func unusable(r rune) bool { return unicode.IsSpace(r) || unicode.In(r, unicode.C) }

// isScheme tells whether s is a scheme (RFC 3986, section 3.1).
func isScheme(s string) bool {
	for i := range len(s) {
		if !isAlphanumeric(s[i]) && (i == 0 || strings.IndexByte("+-.", s[i]) < 0) {
			return false
		}
	}
	return s != "" && !isDigit(s[0])
}

// isPort tells the port of host:8080/path from what follows a scheme.
func isPort(rest string) bool {
	port, _, _ := strings.Cut(rest, "/")
	for i := range len(port) {
		if !isDigit(port[i]) {
			return false
		}
	}
	return port != ""
}
