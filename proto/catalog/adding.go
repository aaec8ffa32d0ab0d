package catalog

import "slices"

// AddingTools returns the names of the tools that only add data and never change, end or delete
// existing data. link_connections is not one because it can delete a relation, and
// complete_reminder is not because it ends a reminder.
func AddingTools() []string {
	return []string{"create_connection", "add_note", "log_interaction", "create_reminder"}
}

// ReadAndAdd returns the names of the tools with which a credential with these scopes can read
// and add, and whether any of them adds.
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
