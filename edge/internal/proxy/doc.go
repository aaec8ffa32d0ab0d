// Package proxy hands the authorization server's endpoints and the people's
// pages on to the backend, which serves them. The public origin is the edge's:
// cookies, redirects and the issuer belong to it.
//
// The proxy adds the edge's credential, the request's id and the caller's
// address; what a caller sent under those names, or as X-Forwarded-*, is
// dropped.
package proxy
