// Package httpapi has what the handlers of the edge share: reading request bodies, the
// strict JSON decoder, content negotiation, documents with entity tags, the table of error
// codes, problem documents (RFC 9457), and the mapping of backend errors to HTTP.
//
// MCP, OAuth endpoints and pages have other error formats. Each has an ErrorWriter, which
// takes the codes of this package.
package httpapi
