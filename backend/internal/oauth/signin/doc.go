// Package signin signs members in by an OpenID provider of the operator's
// choice: it asks the provider who somebody is and judges the answer.
//
// A sign-in takes these steps; the pages are internal/web's:
//
//	Begin ──▶ Attempt, kept for 10 minutes ──▶ the provider's own pages
//	                                               │ state, code, iss
//	Identity ◀── Finish ◀── the attempt, used up ◀─┘
//	   │
//	   ├─ linked to a member ──────────▶ signed in
//	   └─ not linked, verified e-mail ─▶ Attempt that waits for the password ─▶ LinkedIdentity
//
// An attempt belongs to the browser that began it, by the hash of a cookie, and
// is used up by the first answer, so that neither a replay nor another browser
// gets anywhere (RFC 9700, 4.7 and 4.8). State, nonce and PKCE verifier are new
// for each, so that several tabs can sign in at a time.
//
// What an ID token must be is checked by zitadel/oidc's relying party; this
// package adds what that leaves out: the nonce, the iss of the answer (RFC 9207),
// and that a provider which is down is an outage and no refusal.
//
// Nobody becomes a member here, and an e-mail address alone links nothing: that
// takes the member's password, once.
package signin
