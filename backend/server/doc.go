// Package server builds the backend: database, search, RPC handlers, web pages and
// background jobs behind one HTTP handler that speaks Connect, gRPC and gRPC-Web.
//
// It is the only package of this module that other modules import. Admin serves the
// operator's commands, which need no running server.
package server
