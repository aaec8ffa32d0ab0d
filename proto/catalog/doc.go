// Package catalog is the generated catalogue of agent tools and its reader.
//
// catalog.json is written by `make gen` from the contract: one entry for each
// RPC, a tool or not. The edge reads from it what a tool is called, what its
// schemas and annotations are and which RPC it is; the backend reads who may
// call which RPC and for how many credits. Nothing here knows MCP or HTTP.
package catalog
