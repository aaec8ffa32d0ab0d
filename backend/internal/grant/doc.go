// Package grant owns delegated access: the clients that ask for it, the member's
// consent, and the chain from authorization code to access and refresh tokens.
//
//	request ──consent──▶ code ──redeemed──▶ grant ─┬─ access token   (1 h; replaced at each refresh)
//	   │                  │                        └─ refresh token  (newest one current, others spent)
//	   └ 10 min           └ 60 s, once
//
// A request leads to one code, however often it is answered: answered again in the
// same way, from the same session, it gives that code again until it is used.
//
// Revoking a grant, replaying a code with its verifier, or presenting a spent
// refresh token kills the grant with every token of it, at once. Only hashes of
// codes and tokens are kept. The protocol around it is internal/authserver.
package grant
