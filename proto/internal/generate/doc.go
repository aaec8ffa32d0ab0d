// Package generate writes the tool catalogue from the contract: the compiled
// descriptors say what each RPC is, who may call it, and what its messages look like.
// It refuses a contract that would surprise an agent: a tool without words or group,
// a field without bounds, an integer that JSON cannot hold, a name given twice.
package generate
