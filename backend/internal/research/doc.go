// Package research reads the network as documents: one search over everything, and one document in
// full, for clients that know only these two. It calls the handlers of the tools that read each kind
// of document, and leaves out the kinds that the credential may not read.
package research
