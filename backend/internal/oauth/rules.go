package oauth

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/url"
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/text"
)

// Bounds of a registration.
const (
	MaxRedirectURIs = 10
	maxRedirectURI  = 2000
	maxClientName   = 100
)

// CheckRedirectURI fails with fault.Invalid unless uri may be registered: absolute
// https, or http on a loopback host (RFC 8252 §7.3), without fragment and userinfo, in
// plain ASCII, with a host in its canonical form.
func CheckRedirectURI(uri string, privateSchemes bool) error {
	u, err := url.Parse(uri)
	switch {
	case len(uri) > maxRedirectURI:
		return fault.InvalidField("redirect_uris", "each takes %d characters at most", maxRedirectURI)
	case err != nil || u.Scheme == "" || strings.ContainsFunc(uri, notAddress):
		return fault.InvalidField("redirect_uris", "%q is no absolute address", uri)
	case strings.Contains(uri, "#") || u.User != nil:
		return fault.InvalidField("redirect_uris", "no fragment and no user name are allowed")
	case u.Host != "" && !isPlainHost(u):
		return fault.InvalidField("redirect_uris", "spell the host with letters, digits, hyphens and dots, or as an IP address: "+
			"no percent-encoding, internationalised names in their xn-- form, the port as a plain number")
	case u.Scheme == "https" && u.Hostname() != "", u.Scheme == "http" && isLoopback(u):
		return nil
	case privateSchemes && strings.ContainsAny(u.Scheme, ".-+") && !slices.Contains(dangerousSchemes(), u.Scheme):
		return nil
	case privateSchemes && u.Host != "" && !slices.Contains(dangerousSchemes(), u.Scheme):
		return nil
	}
	return fault.InvalidField("redirect_uris", "use https, or http on localhost, 127.0.0.1 or [::1]")
}

// notAddress reports whether a character is not allowed in an address. Only browsers
// treat a backslash as a slash.
func notAddress(r rune) bool { return r <= ' ' || r > '~' || r == '\\' }

// dangerousSchemes are never redirected to, even if private schemes are allowed.
func dangerousSchemes() []string {
	return []string{"javascript", "data", "vbscript", "file", "about", "blob", "http", "https", "ftp", "ws", "wss"}
}

// loopbackHosts are the hosts that plain http is allowed for, as written in an address.
// Other spellings of the same hosts are rejected, because hosts are compared as bytes.
func loopbackHosts() []string { return []string{"localhost", "127.0.0.1", "[::1]"} }

func isLoopback(u *url.URL) bool {
	return slices.Contains(loopbackHosts(), strings.TrimSuffix(u.Host, ":"+u.Port()))
}

// MatchRedirectURI reports whether a given redirect URI is one of the registered ones:
// byte for byte, except the port of an http loopback address.
func MatchRedirectURI(registered []string, given string) bool {
	return slices.ContainsFunc(registered, func(uri string) bool {
		return uri == given || withoutLoopbackPort(uri) != "" && withoutLoopbackPort(uri) == withoutLoopbackPort(given)
	})
}

// withoutLoopbackPort removes the port of an http loopback address and changes no other
// byte; empty for any other address.
func withoutLoopbackPort(uri string) string {
	for _, host := range loopbackHosts() {
		rest, ok := strings.CutPrefix(uri, "http://"+host)
		if !ok {
			continue
		}
		if port, ok := strings.CutPrefix(rest, ":"); ok {
			rest = strings.TrimLeft(port, "0123456789")
			if digits := len(port) - len(rest); digits == 0 || digits > 5 {
				return ""
			}
		}
		if rest == "" || rest[0] == '/' || rest[0] == '?' {
			return "http://" + host + rest
		}
	}
	return ""
}

// CheckClientName fails with fault.Invalid unless the name may be shown on a consent
// page: invisible characters, and those that change the direction of the text, make one
// name look like another.
func CheckClientName(name string) error {
	if len([]rune(name)) > maxClientName {
		return fault.InvalidField("client_name", "use %d characters at most", maxClientName)
	}
	if strings.ContainsFunc(name, text.Invisible) {
		return fault.InvalidField("client_name", "leave out invisible characters and those that set the direction of text")
	}
	return nil
}

// ShownName returns a client's name without the characters that CheckClientName
// rejects, which names that were registered earlier may contain. It is empty if no
// visible character remains.
func ShownName(name string) string {
	name = strings.Map(func(r rune) rune {
		if text.Invisible(r) {
			return -1
		}
		return r
	}, name)
	if !text.Visible(name) {
		return ""
	}
	return name
}

// CheckChallenge fails with fault.Invalid unless challenge has the form of a base64url
// SHA-256 (RFC 7636 §4.2): 43 characters. Whether a verifier matches it is checked when
// the code is redeemed.
func CheckChallenge(challenge string) error {
	if len(challenge) != base64.RawURLEncoding.EncodedLen(sha256.Size) || strings.ContainsFunc(challenge, notBase64URL) {
		return fault.InvalidField("code_challenge", "must be the base64url SHA-256 of the verifier")
	}
	return nil
}

// base64URL are the characters of RFC 4648 §5.
const base64URL = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

func notBase64URL(r rune) bool { return !strings.ContainsRune(base64URL, r) }

// VerifyChallenge reports whether the verifier has the form of RFC 7636 §4.1 and
// matches the S256 challenge.
func VerifyChallenge(challenge, verifier string) bool {
	if len(verifier) < 43 || len(verifier) > 128 || strings.ContainsFunc(verifier, notUnreserved) {
		return false
	}
	sum := sha256.Sum256([]byte(verifier))
	return subtle.ConstantTimeCompare([]byte(base64.RawURLEncoding.EncodeToString(sum[:])), []byte(challenge)) == 1
}

// notUnreserved reports whether a character is not in RFC 3986's unreserved set.
func notUnreserved(r rune) bool {
	return !strings.ContainsRune(base64URL+".~", r)
}

// ignoredScopes returns scopes of OpenID Connect, which clients add by habit. They permit nothing here.
func ignoredScopes() []string { return []string{"offline_access", "openid", "profile", "email"} }

// ParseScopes parses a space-separated list of scopes, without ignoredScopes. It returns nil if none
// remains. It fails with fault.Invalid for a scope that is not in all, or a wrong separator.
func ParseScopes(raw string, all []string) ([]string, error) {
	if raw == "" {
		return nil, nil
	}
	var scopes []string
	for scope := range strings.SplitSeq(raw, " ") {
		switch {
		case slices.Contains(ignoredScopes(), scope), slices.Contains(scopes, scope):
		case !slices.Contains(all, scope):
			return nil, fault.InvalidField("scope", "%q does not exist", scope)
		default:
			scopes = append(scopes, scope)
		}
	}
	return scopes, nil
}
