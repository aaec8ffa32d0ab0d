// Package server is the edge's composition root: the one package of this module
// that others import. It reads a Config, builds every part with what it needs,
// and starts and stops the listener.
//
//	manners → route table → publicapi, mcp, wellknown, sandboxmount → upstream → backend
//
// The edge holds no database and no state that a second edge would need.
package server
