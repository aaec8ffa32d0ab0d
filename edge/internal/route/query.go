package route

import (
	"errors"
	"net/url"
	"strings"
	"unicode/utf8"
)

// errQuery is what ParseQuery answers. The caller is told no more than this:
// the query may hold what it did not mean to send.
var errQuery = errors.New("the query string is not well-formed")

// ParseQuery reads a query string strictly: a broken percent escape, a semicolon
// as separator, a control character or bytes that are no UTF-8 are errors, where
// URL.Query drops them in silence.
func ParseQuery(raw string) (url.Values, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, errQuery
	}
	for name, list := range values {
		if !cleanText(name) {
			return nil, errQuery
		}
		for _, value := range list {
			if !cleanText(value) {
				return nil, errQuery
			}
		}
	}
	return values, nil
}

func cleanText(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) < 0
}

// CarriesCredential says whether a query parameter looks like a bearer
// credential, which is never accepted there (RFC 6750, section 2.3, is not
// implemented).
func CarriesCredential(values url.Values) bool {
	for name := range values {
		switch strings.ToLower(name) {
		case "access_token", "token", "api_key":
			return true
		}
	}
	return false
}
