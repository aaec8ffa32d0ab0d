// Package cors lets web pages of any origin call the service (Fetch standard,
// section 3.2). There are no cookies here, so the origin `*` gives nothing away;
// the MCP endpoints check Origin by themselves.
package cors
