package oauth

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/idempotency"
	"github.com/kith-crm/kith/backend/internal/text"
)

// Bounds of a registration's body and of a client's address, in bytes.
const (
	maxRegistration = 64 << 10
	maxClientURI    = 500
)

// registration is the client metadata (RFC 7591 §2) that this server uses.
type registration struct {
	ClientName    string   `json:"client_name,omitempty"`
	ClientURI     string   `json:"client_uri,omitempty"`
	RedirectURIs  []string `json:"redirect_uris"`
	GrantTypes    []string `json:"grant_types"`
	ResponseTypes []string `json:"response_types"`
	AuthMethod    string   `json:"token_endpoint_auth_method"`
	Scope         string   `json:"scope,omitempty"`
	// ApplicationType is web or native (OpenID Connect Registration §2); nothing depends on it.
	ApplicationType string `json:"application_type,omitempty"`
}

// registered is the response: what was stored (RFC 7591 §3.2.1).
type registered struct {
	ClientID         string `json:"client_id"`
	ClientIDIssuedAt int64  `json:"client_id_issued_at"`
	registration
}

// The error codes of RFC 7591 §3.2.2.
const (
	invalidRedirectURI = "invalid_redirect_uri"
	invalidMetadata    = "invalid_client_metadata"
)

// register is open: no key, no approval. Members see what a client says about itself
// marked as unchecked.
func (s *Server) register(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	key, err := s.registrationKey(r)
	if err != nil {
		writeJSON(w, http.StatusBadRequest, oauthError{"invalid_request", err.Error()})
		return
	}
	asked, body, err := readRegistration(w, r)
	if err == nil {
		err = s.checkRegistration(&asked)
	}
	c := &Client{
		Name: asked.ClientName, ClientURI: asked.ClientURI, RedirectURIs: asked.RedirectURIs,
		GrantTypes: asked.GrantTypes, Scope: asked.Scope, ApplicationType: asked.ApplicationType,
	}
	if key != nil && json.Valid(body) {
		key.Fingerprint = fingerprint(r, body)
		s.registerOnce(w, r, *key, c, err)
		return
	}
	if err == nil {
		err = CreateClient(r.Context(), s.Store, c)
	}
	if err != nil {
		s.refuseRegistration(w, r, err)
		return
	}
	writeJSON(w, http.StatusCreated, answerOf(c))
}

// answerOf returns the response for a registered client. Every client is public and
// uses authorization codes.
func answerOf(c *Client) registered {
	return registered{ClientID: c.ID, ClientIDIssuedAt: c.CreatedAt.Unix(), registration: registration{
		ClientName: c.Name, ClientURI: c.ClientURI, RedirectURIs: c.RedirectURIs, GrantTypes: c.GrantTypes,
		ResponseTypes: responseTypes(), AuthMethod: "none", Scope: c.Scope, ApplicationType: c.ApplicationType,
	}}
}

func readRegistration(w http.ResponseWriter, r *http.Request) (asked registration, body []byte, err error) {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != mediaJSON {
		return asked, nil, fault.New(fault.Invalid, "send the client's metadata as application/json")
	}
	body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, maxRegistration))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return asked, nil, fault.New(fault.Invalid, "the metadata takes %d bytes at most", maxRegistration)
	}
	if err != nil {
		return asked, nil, fault.New(fault.Invalid, "the metadata cannot be read")
	}
	return asked, body, decodeMetadata(body, asked.members())
}

// members are the fields of the metadata by their names.
func (c *registration) members() map[json.Token]any {
	return map[json.Token]any{
		"client_name": &c.ClientName, "client_uri": &c.ClientURI, "redirect_uris": &c.RedirectURIs, "grant_types": &c.GrantTypes,
		"response_types": &c.ResponseTypes, "token_endpoint_auth_method": &c.AuthMethod, "scope": &c.Scope, "application_type": &c.ApplicationType,
	}
}

// decodeMetadata reads a JSON object into the known members. Other members are ignored,
// as RFC 7591 §2 requires; a repeated member is rejected, because parsers differ in
// which of the two they use.
func decodeMetadata(body []byte, known map[json.Token]any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	if start, err := d.Token(); !json.Valid(body) || err != nil || start != json.Delim('{') {
		return fault.New(fault.Invalid, "the metadata is no JSON object")
	}
	seen := map[json.Token]bool{}
	for d.More() {
		name, err := d.Token()
		if err != nil || seen[name] {
			return fault.New(fault.Invalid, "the metadata names a member twice")
		}
		seen[name] = true
		field, ok := known[name]
		if !ok {
			field = new(json.RawMessage)
		}
		if err := d.Decode(field); err != nil {
			return fault.New(fault.Invalid, "the metadata's %v is of another type", name)
		}
	}
	return nil
}

// checkRegistration rejects invalid metadata, fills in defaults, and leaves out what clients offer to
// other servers: redirect URIs with private-use schemes if they are not allowed here, unknown grant types and
// scopes of OpenID Connect, and an http client_uri.
func (s *Server) checkRegistration(c *registration) error {
	if len(c.RedirectURIs) == 0 || len(c.RedirectURIs) > MaxRedirectURIs {
		return fault.InvalidField("redirect_uris", "give 1 to %d of them", MaxRedirectURIs)
	}
	var unusable error
	c.RedirectURIs = slices.DeleteFunc(c.RedirectURIs, func(uri string) bool {
		if err := CheckRedirectURI(uri, true); err != nil {
			unusable = err
		}
		return CheckRedirectURI(uri, s.AllowPrivateSchemes) != nil
	})
	if unusable != nil {
		return unusable
	}
	if len(c.RedirectURIs) == 0 {
		return fault.InvalidField("redirect_uris", "use https, or http on localhost, 127.0.0.1 or [::1], for at least one of them")
	}
	if err := CheckClientName(c.ClientName); err != nil {
		return err
	}
	c.ClientName = ShownName(text.Line(c.ClientName)) // empty: shown as a client without a name
	if strings.HasPrefix(strings.ToLower(c.ClientURI), "http://") {
		c.ClientURI = ""
	}
	if !isClientURI(c.ClientURI) {
		return fault.InvalidField("client_uri", "must be an https address")
	}
	c.GrantTypes = slices.DeleteFunc(c.GrantTypes, func(grant string) bool { return !slices.Contains(grantTypes(), grant) })
	if !slices.Contains(c.GrantTypes, grantTypes()[0]) { // every client here uses codes
		c.GrantTypes = grantTypes()
	}
	if !slices.Contains(applicationTypes(), c.ApplicationType) {
		return fault.InvalidField("application_type", "takes web and native")
	}
	scopes, err := ParseScopes(c.Scope, s.Catalog.Scopes())
	c.Scope = strings.Join(scopes, " ")
	return err
}

func grantTypes() []string       { return []string{"authorization_code", "refresh_token"} }
func responseTypes() []string    { return []string{"code"} }
func applicationTypes() []string { return []string{"", "web", "native"} }

// isClientURI reports whether a client may have an address as its home page: https, or
// none at all.
func isClientURI(address string) bool {
	u, err := url.Parse(address)
	return address == "" || err == nil && u.Scheme == "https" && u.Host != "" && u.User == nil && len(address) <= maxClientURI
}

func (s *Server) refuseRegistration(w http.ResponseWriter, r *http.Request, err error) {
	var coded *fault.Error
	if errors.As(err, &coded) && refuseKey(w, coded) {
		return
	}
	if !errors.As(err, &coded) || coded.Code != fault.Invalid {
		s.fail(r.Context(), "register client", err)
		w.Header().Set("Retry-After", "1")
		writeJSON(w, http.StatusServiceUnavailable, oauthError{"server_error", "something went wrong on our side; try again shortly"})
		return
	}
	writeJSON(w, http.StatusBadRequest, invalidRegistration(coded))
}

// invalidRegistration returns the answer to invalid metadata.
func invalidRegistration(invalid *fault.Error) oauthError {
	if len(invalid.Fields) > 0 && invalid.Fields[0].Name == "redirect_uris" {
		return oauthError{invalidRedirectURI, invalid.Message}
	}
	return oauthError{invalidMetadata, invalid.Message}
}

// oauthError is the error body of RFC 6749 §5.2.
type oauthError struct {
	Error       string `json:"error"`
	Description string `json:"error_description"`
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"error":"server_error"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may have disconnected
}

const (
	headerKey      = "Idempotency-Key"
	headerReplayed = "Idempotency-Replayed"
	mediaJSON      = "application/json"
	// unknownAddress is the scope of callers whose address is unknown.
	unknownAddress = "unknown"
)

// registrationKey returns the key of a registration that may be repeated, or nil. Its
// scope is the caller's address, because a caller that registers has no credential yet.
func (s *Server) registrationKey(r *http.Request) (*idempotency.Key, error) {
	name, err := readKey(r.Header)
	if name == "" || err != nil {
		return nil, err
	}
	address := unknownAddress
	if s.ClientAddress != nil {
		address = s.ClientAddress(r)
	}
	return &idempotency.Key{Scope: idempotency.AddressScope(address), Name: name}, nil
}

// readKey returns the Idempotency-Key of a request; empty if it has none. It fails with a
// text for the caller if the header is not valid.
func readKey(h http.Header) (string, error) {
	lines := h.Values(headerKey)
	switch {
	case len(lines) == 0:
		return "", nil
	case len(lines) > 1 || !idempotency.Valid(lines[0]):
		return "", errors.New("send one Idempotency-Key of 1 to 255 printable ASCII characters")
	}
	return lines[0], nil
}

// fingerprint distinguishes registrations from each other and from requests to other
// endpoints.
func fingerprint(r *http.Request, body []byte) string {
	h := sha256.New()
	h.Write([]byte(r.Method + "\n" + PathRegister + "\n" + mediaJSON + "\n"))
	h.Write(body)
	return hex.EncodeToString(h.Sum(nil))
}

// registerOnce registers a client, or repeats the stored response. The error response to invalid metadata is
// stored, too. It continues if the caller disconnects.
func (s *Server) registerOnce(w http.ResponseWriter, r *http.Request, key idempotency.Key, c *Client, invalid error) {
	var answer []byte
	old, err := s.Keys.Once(context.WithoutCancel(r.Context()), key, func(ctx context.Context, tx db.Querier) (body []byte, err error) {
		var wrong *fault.Error
		switch {
		case errors.As(invalid, &wrong) && wrong.Code == fault.Invalid:
			answer, err = json.Marshal(invalidRegistration(wrong))
		case invalid != nil:
			return nil, invalid
		default:
			if err := insertClient(ctx, s.Store, tx, c); err != nil {
				return nil, err
			}
			answer, err = json.Marshal(answerOf(c))
		}
		return answer, err
	})
	if err != nil {
		s.refuseRegistration(w, r, err)
		return
	}
	if old != nil {
		answer = old
		w.Header().Set(headerReplayed, "true")
	}
	status := http.StatusCreated
	if failed := (oauthError{}); json.Unmarshal(answer, &failed) == nil && failed.Error != "" {
		status = http.StatusBadRequest
	}
	writeJSON(w, status, json.RawMessage(answer))
}

// refuseKey responds to errors of the idempotency key, and reports whether it was one.
func refuseKey(w http.ResponseWriter, coded *fault.Error) bool {
	if errors.Is(coded, idempotency.ErrNoRoom) {
		w.Header().Set("Retry-After", "60")
		writeJSON(w, http.StatusServiceUnavailable, oauthError{"temporarily_unavailable", coded.Message})
		return true
	}
	status := 0
	switch coded.Code {
	case fault.InFlight:
		status = http.StatusConflict
		w.Header().Set("Retry-After", "1")
	case fault.KeyReused:
		status = http.StatusUnprocessableEntity
	case fault.Exhausted:
		status = http.StatusTooManyRequests
		w.Header().Set("Retry-After", "3600") // old keys expire one by one
	default:
		return false
	}
	writeJSON(w, status, oauthError{"invalid_request", coded.Message})
	return true
}

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
