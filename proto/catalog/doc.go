// Package catalog is the generated catalogue of agent tools and its reader.
//
// catalog.json is written by `make gen` from the contract: one entry for each RPC, a tool or not.
// The edge reads from it the name, schemas, annotations and RPC of each tool; the backend reads who
// may call an RPC and its price in credits. The package does not depend on MCP or HTTP.
package catalog
