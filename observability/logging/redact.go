package logging

import (
	"bytes"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// redacted replaces a secret.
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

// redactAny redacts values that have keys of their own. Bytes become text, because the
// JSON format would encode them in base64, which hides a token from tokenRemover.
func redactAny(v slog.Value) slog.Value {
	switch x := v.Any().(type) {
	case []byte:
		return slog.StringValue(string(x))
	case http.Header:
		return redactMap(x, []string{redacted})
	case url.Values:
		return redactMap(x, []string{redacted})
	case map[string][]string:
		return redactMap(x, []string{redacted})
	case map[string]string:
		return redactMap(x, redacted)
	default:
		return v
	}
}

func redactMap[V any](values map[string]V, replacement V) slog.Value {
	clean := maps.Clone(values)
	for key := range clean {
		if sensitive(key) {
			clean[key] = replacement
		}
	}
	return slog.AnyValue(clean)
}

// sensitive reports whether the value of key is a secret. It ignores case and treats
// a hyphen as an underscore.
func sensitive(key string) bool {
	switch strings.ReplaceAll(strings.ToLower(key), "-", "_") {
	case "authorization", "cookie", "set_cookie",
		"token", "access_token", "refresh_token", "service_token",
		"password", "client_secret", "code", "code_verifier", "idempotency_key":
		return true
	default:
		return false
	}
}

// tokenPattern matches access, refresh and personal tokens. Their characters are those
// of base64url (RFC 4648, section 5), which neither log format escapes.
var tokenPattern = regexp.MustCompile(`kith_(at|rt|pat)_[A-Za-z0-9_-]+`)

// removeTokens returns line with the secret part of each token replaced. It does not
// change its argument.
func removeTokens(line []byte) []byte {
	if !bytes.Contains(line, []byte("kith_")) { // nearly all lines
		return line
	}
	return tokenPattern.ReplaceAll(line, []byte("kith_${1}_"+redacted))
}

// tokenRemover removes Kith tokens from finished lines, because ReplaceAttr does not
// see messages, errors, nested structs and map keys. A token must not be split over
// two writes; slog writes a line at once.
type tokenRemover struct{ next io.Writer }

// Write writes the line without tokens. The count is that of the original line.
func (t tokenRemover) Write(line []byte) (int, error) {
	if _, err := t.next.Write(removeTokens(line)); err != nil {
		return 0, err
	}
	return len(line), nil
}
