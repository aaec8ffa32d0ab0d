// Package oauth is the OAuth 2.1 authorization server: registration
// (RFC 7591), authorize with PKCE S256 (RFC 7636) and the member's consent,
// token and revocation (RFC 6749, 7009), metadata (RFC 8414). It owns the chain from
// authorization code to access and refresh tokens:
//
//	request ──consent──▶ code ──redeemed──▶ grant ─┬─ access token   (1 h; replaced at each refresh)
//	   │                  │                        └─ refresh token  (newest one current, others spent)
//	   └ 10 min           └ 60 s, once
//
// A request results in one code, however often it is answered: repeating the same answer
// from the same session returns the same code until it is used.
//
// A client has registered, or identifies itself by the https address of its client ID
// metadata document; package clientdoc fetches that for signed-in members. Both kinds are
// rows of one table.
//
// Revoking a grant, replaying a code with its verifier, or presenting a spent
// refresh token revokes the grant with all its tokens, at once. Only hashes of
// codes and tokens are stored. Every transition is one conditional statement in one
// transaction, which returns the resulting state.
//
// The token and revocation endpoints are zitadel/oidc's op.Server with our own
// transitions; a strict wrapper in front of it accepts each parameter once and by
// POST form only. Pages renders the web pages.
package oauth
