// Package authserver is the OAuth 2.1 authorization server: registration
// (RFC 7591), authorize with PKCE S256 (RFC 7636) and the member's consent,
// token and revocation (RFC 6749, 7009), metadata (RFC 8414).
//
// The token and revocation endpoints are zitadel/oidc's op.Server with our own
// transitions; a strict wrapper in front of it takes each parameter once and by
// POST form only. What may happen to a code, a grant or a token is decided in
// internal/grant and its store; what people see is rendered by Pages.
package authserver
