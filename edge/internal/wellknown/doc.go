// Package wellknown serves the protected-resource metadata of RFC 9728: one
// document for each path that a client may have been given, because clients want
// its "resource" to be exactly the address that they know.
//
// The sandbox has none, on purpose: it needs no login. The metadata of the
// authorization server is not here either.
package wellknown
