// Package server builds, starts and stops the edge from a Config. It is the only package of
// this module that other modules import.
//
//	routes.go    every public path, one list
//	pipeline.go  the steps that every request passes, in order
//	parts.go     the parts that routes and pipeline use
//	listener.go  limits on connections
//
// The edge has no database and no state that another edge would need.
package server
