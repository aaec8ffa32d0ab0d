package oauth

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/fault"
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
