// Package bearer reads the credential of a request (RFC 6750) and writes the
// challenge that asks for one.
package bearer

import (
	"net/http"
	"strings"
)

// maxBytes is the longest token that is looked at. Ours have about 50.
const maxBytes = 512

// Bearer is the credential of a request.
type Bearer struct {
	// Presented says that there was an Authorization header, good or bad.
	Presented bool
	// Token is "" if none was presented or what was presented cannot be one.
	Token string
}

// Read reads the Authorization header (RFC 6750, section 2.1). Two lines,
// another scheme or bytes that no token has are a presented, dead credential.
func Read(h http.Header) Bearer {
	lines, presented := h["Authorization"]
	b := Bearer{Presented: presented}
	if len(lines) != 1 {
		return b
	}
	scheme, token, found := strings.Cut(lines[0], " ")
	token = strings.Trim(token, " ")
	if found && strings.EqualFold(scheme, "Bearer") && len(token) <= maxBytes && token68(token) {
		b.Token = token
	}
	return b
}

// token68 says whether s has the form of RFC 9110, section 11.2.
func token68(s string) bool {
	body := strings.TrimRight(s, "=")
	if body == "" {
		return false
	}
	for i := range len(body) {
		switch c := body[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case c == '-', c == '.', c == '_', c == '~', c == '+', c == '/':
		default:
			return false
		}
	}
	return true
}

// Challenge returns the value of WWW-Authenticate that asks for a credential and
// names the metadata of the resource (RFC 9728, section 5.1).
func Challenge(resourceMetadata string) string {
	return `Bearer resource_metadata="` + resourceMetadata + `"`
}

// InvalidToken is added to a challenge when a credential was presented (RFC 6750,
// section 3.1).
const InvalidToken = `, error="invalid_token", error_description="The access token is expired, revoked or malformed"`
