// Package oauth is the OAuth 2.1 authorization server: registration
// (RFC 7591), authorize with PKCE S256 (RFC 7636) and the member's consent,
// token and revocation (RFC 6749, 7009), metadata (RFC 8414). It owns the chain from
// authorization code to access and refresh tokens:
//
//	request ──consent──▶ code ──redeemed──▶ grant ─┬─ access token   (1 h; replaced at each refresh)
//	   │                  │                        └─ refresh token  (newest one current, others spent)
//	   └ 10 min           └ 60 s, once
//
// A request leads to one code, however often it is answered: answered again in the
// same way, from the same session, it gives that code again until it is used.
//
// A client has registered, or names itself by the https address of its client ID metadata
// document; package clientdoc fetches that for signed-in members. Both kinds are rows of
// one table.
//
// Revoking a grant, replaying a code with its verifier, or presenting a spent
// refresh token kills the grant with every token of it, at once. Only hashes of
// codes and tokens are kept. Every transition is one conditional statement in one
// transaction; what comes back is the state that it left.
//
// The token and revocation endpoints are zitadel/oidc's op.Server with our own
// transitions; a strict wrapper in front of it takes each parameter once and by
// POST form only. What people see is rendered by Pages.
package oauth
