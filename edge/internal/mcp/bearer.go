package mcp

import (
	"net/http"
	"strings"
)

// maxBearerBytes is the longest token that is looked at. Ours have about 50.
const maxBearerBytes = 512

// bearer is the credential of a request.
type bearer struct {
	// presented says that there was an Authorization header, good or bad.
	presented bool
	// token is "" if none was presented or what was presented cannot be one.
	token string
}

// readBearer reads the Authorization header (RFC 6750, section 2.1). Two lines,
// another scheme or bytes that no token has are a presented, dead credential.
func readBearer(h http.Header) bearer {
	lines, presented := h["Authorization"]
	b := bearer{presented: presented}
	if len(lines) != 1 {
		return b
	}
	scheme, token, found := strings.Cut(lines[0], " ")
	token = strings.Trim(token, " ")
	if found && strings.EqualFold(scheme, "Bearer") && len(token) <= maxBearerBytes && token68(token) {
		b.token = token
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
