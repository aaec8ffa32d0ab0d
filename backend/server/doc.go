// Package server composes the backend: store, search, handlers and background
// work behind one HTTP handler that speaks Connect, gRPC and gRPC-Web.
//
// It is the only package of this module that other modules import. Admin is the
// part of it that needs no running server: what operators do by command line.
package server
