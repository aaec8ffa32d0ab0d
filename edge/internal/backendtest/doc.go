// Package backendtest is a fake backend for tests: the generated Connect handlers with a
// few invented people, called in memory.
//
// Everything that the edge can see is as in the real backend: the codec, the order of
// checks (credential, scopes, arguments), the error details and the response headers. It
// does not store writes.
package backendtest
