// Package parting lets an HTTP server leave without cutting callers off.
//
// A caller keeps its connection, and may send the next request at the very moment at
// which a server that stops closes it. Nobody answers then, and nobody can tell
// whether the request was done. So a server that leaves says so first: new callers
// find nobody listening, and each answer on a connection that is open is the last
// one there.
package parting
