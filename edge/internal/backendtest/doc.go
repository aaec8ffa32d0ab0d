// Package backendtest is a backend for tests: the generated Connect handlers
// over a few made-up people, reached through memory.
//
// It answers as the real one does where the edge can see the difference: the
// same codec, the same order of checks (credential, scopes, arguments), the same
// error details and response headers. It stores nothing that is written.
package backendtest
