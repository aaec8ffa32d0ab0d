// Package generate writes the tool catalogue from the contract: the compiled descriptors say what
// each RPC is, who may call it, and what its messages look like. It refuses a contract with a
// mistake: a tool without a description or group, a field without bounds, an integer that JSON
// cannot hold, a name that is used twice.
package generate
