package publicapi

import "strings"

// Bounds of a username: ^[a-z0-9](?:[a-z0-9-]{1,28}[a-z0-9])$.
const (
	minUsername = 3
	maxUsername = 30
)

// normalUsername returns the username in lower case, or false if no member can
// have it.
func normalUsername(s string) (string, bool) {
	if len(s) < minUsername || len(s) > maxUsername || s[0] == '-' || s[len(s)-1] == '-' {
		return "", false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-':
		default:
			return "", false
		}
	}
	return strings.ToLower(s), true
}
