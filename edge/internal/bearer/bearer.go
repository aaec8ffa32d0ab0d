// Package bearer reads the credential of a request (RFC 6750) and writes the
// challenge that asks for one.
package bearer

import (
	"net/http"
	"strings"
)

// maxBytes is the maximum length of a token; longer ones are not parsed. Kith's have about 50 bytes.
const maxBytes = 512

// Bearer is the credential of a request.
type Bearer struct {
	// Presented is set if there was an Authorization header, valid or not.
	Presented bool
	// Token is "" if there was no Authorization header or it has no possible token.
	Token string
}

// Read reads the Authorization header (RFC 6750, section 2.1). With two header lines, another
// scheme or bytes that no token has, Presented is set and Token is "".
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

// token68 reports whether s has the form of RFC 9110, section 11.2.
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

// Challenge makes the values of WWW-Authenticate for one resource (RFC 6750, section 3). The
// zero value is for a path that takes no credential.
type Challenge struct {
	resource, scopes string
}

// NewChallenge returns the challenge of a resource. metadata is the address of its metadata
// (RFC 9728, section 5.1); scopes are those that a client should ask for.
func NewChallenge(resourceMetadata string, scopes []string) Challenge {
	return Challenge{resource: `Bearer resource_metadata="` + resourceMetadata + `"`, scopes: scope(scopes)}
}

// scope returns the parameter with the scopes, or "" for none.
func scope(scopes []string) string {
	if len(scopes) == 0 {
		return ""
	}
	return `, scope="` + strings.Join(scopes, " ") + `"`
}

// Missing is the value if no credential was presented.
func (c Challenge) Missing() string { return c.resource + c.scopes }

// InvalidToken is the value if the presented credential is expired, revoked or malformed.
func (c Challenge) InvalidToken() string {
	return c.resource + `, error="invalid_token", error_description="The access token is expired, revoked or malformed"` + c.scopes
}

// InsufficientScope is the value if a valid credential lacks the required scopes. Without scopes,
// the credential was refused for another reason.
func (c Challenge) InsufficientScope(required []string) string {
	return c.resource + `, error="insufficient_scope"` + scope(required)
}
