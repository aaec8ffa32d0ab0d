// Package signin signs members in by an OpenID provider of the operator's choice: it asks
// the provider who a person is and checks the response.
//
// A sign-in takes these steps; package web has the pages:
//
//	Begin ──▶ Attempt, kept for 10 minutes ──▶ the provider's own pages
//	                                               │ state, code, iss
//	Identity ◀── Finish ◀── the attempt, used up ◀─┘
//	   │
//	   ├─ linked to a member ──────────▶ signed in
//	   └─ not linked, verified e-mail ─▶ Attempt that waits for the password ─▶ LinkedIdentity
//
// An attempt belongs to the browser that started it, by the hash of a cookie, and
// is used up by the first response, so that neither a replay nor another browser
// succeeds (RFC 9700, 4.7 and 4.8). State, nonce and PKCE verifier are new
// for each, so that several tabs can sign in at the same time.
//
// zitadel/oidc's relying party checks ID tokens. This package adds the missing checks:
// the nonce and the iss of the response (RFC 9207). It reports a provider that is down as
// an outage and not as a refusal.
//
// This package creates no members, and an e-mail address alone links nothing: linking
// needs the member's password, once.
package signin
