package logging

import (
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// redacted stands where a secret was.
const redacted = "[redacted]"

// redact is the logger's ReplaceAttr: it replaces the values of sensitive keys,
// also inside groups, headers and forms.
func redact(groups []string, a slog.Attr) slog.Attr {
	if sensitive(a.Key) || slices.ContainsFunc(groups, sensitive) {
		return slog.String(a.Key, redacted)
	}
	if a.Value.Kind() == slog.KindAny {
		a.Value = redactAny(a.Value)
	}
	return a
}

// redactAny redacts the values that hold keys of their own. Bytes become text,
// because the JSON format would write them in base64, where a token is not seen.
func redactAny(v slog.Value) slog.Value {
	switch x := v.Any().(type) {
	case []byte:
		return slog.StringValue(string(x))
	case http.Header:
		return slog.AnyValue(redactLists(x))
	case url.Values:
		return slog.AnyValue(redactLists(x))
	case map[string][]string:
		return slog.AnyValue(redactLists(x))
	case map[string]string:
		return slog.AnyValue(redactStrings(x))
	default:
		return v
	}
}

func redactLists(values map[string][]string) map[string][]string {
	clean := make(map[string][]string, len(values))
	for key, value := range values {
		if sensitive(key) {
			value = []string{redacted}
		}
		clean[key] = value
	}
	return clean
}

func redactStrings(values map[string]string) map[string]string {
	clean := make(map[string]string, len(values))
	for key, value := range values {
		if sensitive(key) {
			value = redacted
		}
		clean[key] = value
	}
	return clean
}

// odd tells whether a key with the letter is not in our spelling.
func odd(r rune) bool { return r == '-' || 'A' <= r && r <= 'Z' || r >= utf8.RuneSelf }

// sensitive says whether the value of key is a secret. Case does not matter, and
// a hyphen is as good as an underscore.
func sensitive(key string) bool {
	if strings.ContainsFunc(key, odd) {
		key = strings.ReplaceAll(strings.ToLower(key), "-", "_")
	}
	switch key {
	case "authorization", "cookie", "set_cookie",
		"token", "access_token", "refresh_token", "service_token",
		"password", "client_secret", "code", "code_verifier", "idempotency_key":
		return true
	default:
		return false
	}
}
