package catalog

import "slices"

// AddingTools returns the names of the tools that add something and never change, end or
// delete what is there. link_connections and complete_reminder are none of them: the first
// can delete a relation, the second ends a reminder.
func AddingTools() []string {
	return []string{"create_connection", "add_note", "log_interaction", "create_reminder"}
}

// ReadAndAdd returns the names of the tools that a credential needs to read and to add, given
// its scopes, and whether any of them adds.
func (c *Catalog) ReadAndAdd(scopes []string) (tools []string, adds bool) {
	for _, rpc := range c.Tools() {
		adding := slices.Contains(AddingTools(), rpc.Tool.Name)
		if len(rpc.Missing(scopes)) > 0 || rpc.Writes && !adding {
			continue
		}
		tools = append(tools, rpc.Tool.Name)
		adds = adds || adding
	}
	return tools, adds
}
