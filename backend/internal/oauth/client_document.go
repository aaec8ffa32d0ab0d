package oauth

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/text"
)

// Bounds of a client ID metadata document: of its URL, in characters, and of its
// redirect URIs. A document may list more of them than a registration, because a client
// can register several times.
const (
	maxDocumentURL          = 500
	maxDocumentRedirectURIs = 50
)

// IsDocumentURL reports whether a client id can be the URL of a client ID metadata
// document (draft-ietf-oauth-client-id-metadata-document, section "Client Identifier"):
// https, a path, no fragment, no user name and no dot segments. Beyond the draft it
// needs a domain name, in lower-case ASCII.
func IsDocumentURL(clientID string) bool {
	if len(clientID) > maxDocumentURL || strings.ContainsFunc(clientID, notAddress) || !strings.HasPrefix(clientID, "https://") {
		return false
	}
	u, err := url.Parse(clientID)
	if err != nil || u.User != nil || strings.Contains(clientID, "#") || !isPlainHost(u) {
		return false
	}
	host := u.Hostname()
	if host != strings.ToLower(host) || strings.Contains(host, ":") || endsInNumber(host) || !strings.Contains(host, ".") {
		return false
	}
	return len(u.Path) > 1 && !slices.ContainsFunc(strings.Split(u.Path, "/"), func(s string) bool { return s == "." || s == ".." })
}

// clientDocument holds the members of a client ID metadata document that this server
// uses. A document is written for every authorization server: what this one does not
// support is ignored.
type clientDocument struct {
	registration

	clientID                string
	secret, secretExpiresAt json.RawMessage
	// authMethods are all methods with which the client can authenticate (OpenID
	// Connect Relying Party Metadata Choices 1.0); AuthMethod is the preferred one.
	authMethods []string
}

// parseClientDocument parses the document at a URL. It fails with fault.Invalid if the
// document belongs to another client or describes a client that this server cannot
// serve.
func parseClientDocument(clientID string, body []byte, privateSchemes bool) (*Client, error) {
	d := &clientDocument{}
	members := d.members()
	members["client_id"], members["token_endpoint_auth_methods_supported"] = &d.clientID, &d.authMethods
	members["client_secret"], members["client_secret_expires_at"] = &d.secret, &d.secretExpiresAt
	if err := decodeMetadata(body, members); err != nil {
		return nil, err
	}
	if err := d.check(clientID); err != nil {
		return nil, err
	}
	c := &Client{
		ID: clientID, Name: ShownName(text.Line(d.ClientName)),
		RedirectURIs: slices.DeleteFunc(d.RedirectURIs, func(uri string) bool { return CheckRedirectURI(uri, privateSchemes) != nil }),
		GrantTypes:   slices.DeleteFunc(grantTypes(), func(grant string) bool { return d.GrantTypes != nil && !slices.Contains(d.GrantTypes, grant) }),
	}
	if len(c.RedirectURIs) == 0 {
		return nil, fault.New(fault.Invalid, "it names no return address that is allowed here")
	}
	if isClientURI(d.ClientURI) {
		c.ClientURI = d.ClientURI
	}
	if slices.Contains(applicationTypes(), d.ApplicationType) {
		c.ApplicationType = d.ApplicationType
	}
	return c, nil
}

// check rejects a document that this service cannot support.
func (d *clientDocument) check(clientID string) error {
	switch {
	case d.clientID != clientID:
		return fault.New(fault.Invalid, "its client_id is another address")
	case d.secret != nil || d.secretExpiresAt != nil:
		return fault.New(fault.Invalid, "it contains a client secret, which everyone can read")
	case strings.HasPrefix(d.AuthMethod, "client_secret_"):
		return fault.New(fault.Invalid, "its token_endpoint_auth_method needs a secret that everyone can read")
	case d.AuthMethod != "" && d.AuthMethod != "none" && !slices.Contains(d.authMethods, "none"),
		d.AuthMethod == "" && d.authMethods != nil && !slices.Contains(d.authMethods, "none"):
		return fault.New(fault.Invalid, "it does not allow the token_endpoint_auth_method none, the only one here")
	case d.GrantTypes != nil && !slices.Contains(d.GrantTypes, grantTypes()[0]):
		return fault.New(fault.Invalid, "its grant_types lack authorization_code")
	case d.ResponseTypes != nil && !slices.Contains(d.ResponseTypes, responseTypes()[0]):
		return fault.New(fault.Invalid, "its response_types lack code")
	case len(d.RedirectURIs) > maxDocumentRedirectURIs:
		return fault.New(fault.Invalid, "it names more than %d return addresses", maxDocumentRedirectURIs)
	}
	return CheckClientName(d.ClientName)
}
