// Package server is the edge's composition root: the one package of this module
// that others import. It reads a Config, builds every part with what it needs,
// and starts and stops the listener.
//
//	routes.go    every public path, one list
//	pipeline.go  what every request passes, in its order
//	parts.go     the parts that routes and pipeline are made of
//	listener.go  bounds on connections
//
// The edge holds no database and no state that a second edge would need.
package server
