package catalog

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
)

//go:embed catalog.json
var generated []byte

// ScopeWrite is the scope that every writing tool needs besides its group's.
const ScopeWrite = "write"

// ToolsetResearch is the toolset of the tools for research, which is no scope.
const ToolsetResearch = "research"

// The kinds of acts for which a member can require approval.
const (
	ActDelete = "delete"
	ActMerge  = "merge"
	ActImport = "import"
	ActBulk   = "bulk"
)

// Acts returns the kinds of acts, in the order in which forms show them.
func Acts() []string { return []string{ActDelete, ActMerge, ActImport, ActBulk} }

// Access is who may call an RPC.
type Access string

// The kinds of access. An RPC that is not in the catalogue may not be called.
const (
	// AccessAnonymous needs no member credential.
	AccessAnonymous Access = "anonymous"
	// AccessCredential needs any valid member credential.
	AccessCredential Access = "credential"
	// AccessScoped needs a valid credential with RPC.Scopes.
	AccessScoped Access = "scoped"
)

// RPC is one procedure of the contract.
type RPC struct {
	// Procedure is the path of the RPC: /package.Service/Method.
	Procedure string `json:"procedure"`
	// Access says who may call.
	Access Access `json:"access"`
	// Scopes that a credential must hold, all of them; empty unless Access is AccessScoped.
	Scopes []string `json:"scopes,omitempty"`
	// Writes reports whether the RPC changes anything.
	Writes bool `json:"writes,omitempty"`
	// Tool describes the RPC for agents; nil if it is not a tool.
	Tool *Tool `json:"tool,omitempty"`
}

// Tool describes an RPC for agents.
type Tool struct {
	// Name in snake_case, unique.
	Name string `json:"name"`
	// Title for people.
	Title string `json:"title"`
	// Description says when to use the tool, what it changes and what it costs.
	Description string `json:"description"`
	// Group is the tool's scope.
	Group string `json:"group"`
	// Credits is the price of one successful call.
	Credits int `json:"credits"`
	// JobKind is the kind of job that the tool starts; "" if it starts none.
	JobKind string `json:"job_kind,omitempty"`
	// Waits is set if the caller can ask the tool to wait before it answers.
	Waits bool `json:"waits,omitempty"`
	// Acts are the kinds of acts that a call can perform and for which a member can require
	// approval.
	Acts []string `json:"acts,omitempty"`
	// Research is set if only clients that ask for the toolset ToolsetResearch are shown the tool.
	Research bool `json:"research,omitempty"`
	// Annotations are MCP's four hints.
	Annotations Annotations `json:"annotations"`
	// InputSchema and OutputSchema describe for clients the arguments and
	// the answer. They are valid under JSON Schema draft-07 and 2020-12.
	InputSchema  json.RawMessage `json:"input_schema"`
	OutputSchema json.RawMessage `json:"output_schema"`
	// UnlistedSchema describes the fields of the answer that OutputSchema leaves out, to save tokens.
	UnlistedSchema json.RawMessage `json:"unlisted_schema,omitempty"`
	// BoundedSchema is InputSchema with the bounds that the server checks, and without null. It
	// is for documentation and tests.
	BoundedSchema json.RawMessage `json:"bounded_schema"`
	// TextByOthers names the fields of the answer, at any depth, whose text someone other
	// than the member may have written; sorted.
	TextByOthers []string `json:"text_by_others,omitempty"`
}

// Annotations are the hints of MCP's ToolAnnotations.
type Annotations struct {
	ReadOnly    bool `json:"readOnlyHint"`
	Destructive bool `json:"destructiveHint"`
	Idempotent  bool `json:"idempotentHint"`
	OpenWorld   bool `json:"openWorldHint"`
}

// Catalog holds every RPC of the contract. It is immutable and safe for
// concurrent use.
type Catalog struct {
	rpcs        []*RPC
	byTool      map[string]*RPC
	byProcedure map[string]*RPC
	scopes      []string
}

// Load reads the generated catalogue. It fails only if the embedded file is damaged.
func Load() (*Catalog, error) { return parse(generated) }

func parse(data []byte) (*Catalog, error) {
	var file struct {
		Scopes []string `json:"scopes"`
		RPCs   []*RPC   `json:"rpcs"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("parse catalogue: %w", err)
	}
	c := &Catalog{
		rpcs:        file.RPCs,
		scopes:      file.Scopes,
		byTool:      make(map[string]*RPC, len(file.RPCs)),
		byProcedure: make(map[string]*RPC, len(file.RPCs)),
	}
	for _, rpc := range file.RPCs {
		c.byProcedure[rpc.Procedure] = rpc
		if rpc.Tool != nil {
			c.byTool[rpc.Tool.Name] = rpc
		}
	}
	return c, nil
}

// Tool returns the RPC behind a tool name, or false.
func (c *Catalog) Tool(name string) (*RPC, bool) {
	rpc, ok := c.byTool[name]
	return rpc, ok
}

// Procedure returns the RPC with a path, or false.
func (c *Catalog) Procedure(path string) (*RPC, bool) {
	rpc, ok := c.byProcedure[path]
	return rpc, ok
}

// AllTools returns the RPCs that are tools, in the order in which they are listed.
func (c *Catalog) AllTools() []*RPC {
	tools := make([]*RPC, 0, len(c.byTool))
	for _, rpc := range c.rpcs {
		if rpc.Tool != nil {
			tools = append(tools, rpc)
		}
	}
	return tools
}

// Tools returns AllTools without those for research, which only clients that ask for them see.
func (c *Catalog) Tools() []*RPC {
	return slices.DeleteFunc(c.AllTools(), func(rpc *RPC) bool { return rpc.Tool.Research })
}

// ToolNames returns the names of Tools, in the same order.
func (c *Catalog) ToolNames() []string { return namesOf(c.Tools()) }

// AllToolNames returns the names of AllTools, in the same order.
func (c *Catalog) AllToolNames() []string { return namesOf(c.AllTools()) }

func namesOf(tools []*RPC) []string {
	names := make([]string, len(tools))
	for i, rpc := range tools {
		names[i] = rpc.Tool.Name
	}
	return names
}

// Scopes returns every scope that a credential can hold: the tool groups and
// ScopeWrite.
func (c *Catalog) Scopes() []string { return slices.Clone(c.scopes) }

// Groups returns the tool groups: the scopes without ScopeWrite.
func (c *Catalog) Groups() []string {
	return slices.DeleteFunc(c.Scopes(), func(scope string) bool { return scope == ScopeWrite })
}

// HasScope reports whether a scope exists.
func (c *Catalog) HasScope(scope string) bool { return slices.Contains(c.scopes, scope) }

// WithinLimit reports whether a credential that is limited to the named tools may call the RPC. No
// names are no limit. A limit leaves out what every valid credential may call, such as get_job:
// the other tools need it.
func (r *RPC) WithinLimit(tools []string) bool {
	return len(tools) == 0 || r.Tool == nil || r.Access == AccessCredential || slices.Contains(tools, r.Tool.Name)
}

// Missing returns the scopes of the RPC that held lacks, in the RPC's order.
func (r *RPC) Missing(held []string) []string {
	var missing []string
	for _, scope := range r.Scopes {
		if !slices.Contains(held, scope) {
			missing = append(missing, scope)
		}
	}
	return missing
}
