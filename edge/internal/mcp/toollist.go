package mcp

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/kith-crm/kith/proto/catalog"
)

// toolList holds the tools as tools/list shows them, rendered once.
type toolList struct {
	tools []renderedTool
}

// renderedTool is one tool in its two forms.
type renderedTool struct {
	rpc        *catalog.RPC
	inScope    []byte
	outOfScope []byte
}

// toolJSON is MCP's Tool (2025-06-18, "Tools").
type toolJSON struct {
	Name         string         `json:"name"`
	Title        string         `json:"title"`
	Description  string         `json:"description"`
	InputSchema  jsontext.Value `json:"inputSchema"`
	OutputSchema jsontext.Value `json:"outputSchema"`
	Annotations  hintsJSON      `json:"annotations"`
	Meta         toolMetaJSON   `json:"_meta"`
}

type hintsJSON struct {
	Title       string `json:"title"`
	ReadOnly    bool   `json:"readOnlyHint"`
	Destructive bool   `json:"destructiveHint"`
	Idempotent  bool   `json:"idempotentHint"`
	OpenWorld   bool   `json:"openWorldHint"`
}

// toolMetaJSON is what this service adds. InScope is there only when it is false
// and the caller is known.
type toolMetaJSON struct {
	Group   string   `json:"kith/group"`
	Scopes  []string `json:"kith/scopes"`
	Credits int      `json:"kith/credits"`
	InScope *bool    `json:"kith/in_scope,omitzero"`
}

// newToolList renders the catalogue's tools, in its order.
func newToolList(c *catalog.Catalog) (*toolList, error) {
	list := &toolList{}
	for _, rpc := range c.Tools() {
		inScope, err := renderTool(rpc, true)
		if err != nil {
			return nil, err
		}
		outOfScope, err := renderTool(rpc, false)
		if err != nil {
			return nil, err
		}
		list.tools = append(list.tools, renderedTool{rpc: rpc, inScope: inScope, outOfScope: outOfScope})
	}
	return list, nil
}

func renderTool(rpc *catalog.RPC, inScope bool) ([]byte, error) {
	tool := rpc.Tool
	shown := toolJSON{
		Name:         tool.Name,
		Title:        tool.Title,
		Description:  tool.Description,
		InputSchema:  jsontext.Value(tool.InputSchema),
		OutputSchema: jsontext.Value(tool.OutputSchema),
		Annotations: hintsJSON{
			Title:       tool.Title,
			ReadOnly:    tool.Annotations.ReadOnly,
			Destructive: tool.Annotations.Destructive,
			Idempotent:  tool.Annotations.Idempotent,
			OpenWorld:   tool.Annotations.OpenWorld,
		},
		Meta: toolMetaJSON{Group: tool.Group, Scopes: rpc.Scopes, Credits: tool.Credits},
	}
	if !inScope {
		shown.Meta.InScope = &inScope
	}
	text, err := json.Marshal(shown)
	if err != nil {
		return nil, fmt.Errorf("render tool %s: %w", tool.Name, err)
	}
	return text, nil
}

// all returns the result of tools/list for a caller of whom nothing is known.
func (l *toolList) all() []byte {
	return l.render(nil, nil, func(*catalog.RPC) bool { return true })
}

// forScopes appends the result of tools/list for a credential with the scopes.
// Tools out of its reach are marked, not hidden. A credential that is limited to
// named tools is shown no other.
func (l *toolList) forScopes(out []byte, scopes, limit []string) []byte {
	return l.render(out, limit, func(rpc *catalog.RPC) bool { return len(rpc.Missing(scopes)) == 0 })
}

// render appends the tools of the limit, or all when there is none.
func (l *toolList) render(out []byte, limit []string, inScope func(*catalog.RPC) bool) []byte {
	out = append(out, `{"tools":[`...)
	first := true
	for _, tool := range l.tools {
		if len(limit) > 0 && !slices.Contains(limit, tool.rpc.Tool.Name) {
			continue
		}
		if !first {
			out = append(out, ',')
		}
		first = false
		if inScope(tool.rpc) {
			out = append(out, tool.inScope...)
		} else {
			out = append(out, tool.outOfScope...)
		}
	}
	return append(out, ']', '}')
}

// listTools answers tools/list, all on one page.
func (e *endpoint) listTools(out []byte, c *call) ([]byte, *failure) {
	switch {
	case c.params.fault != "":
		return out, answerError(codeInvalidParams, c.params.fault)
	case c.params.cursor != nil:
		return out, answerError(codeInvalidParams, "There is no further page, so no cursor is valid.")
	case c.principal == nil:
		return append(out, e.anonymousTools...), nil
	}
	scopes := c.principal.GetScopes()
	if c.principal.GetReadOnly() {
		scopes = withoutWrite(scopes)
	}
	return e.tools.forScopes(out, scopes, c.principal.GetTools()), nil
}

// withoutWrite returns the scopes that are left where every write is refused.
func withoutWrite(scopes []string) []string {
	var left []string
	for _, scope := range scopes {
		if scope != catalog.ScopeWrite {
			left = append(left, scope)
		}
	}
	return left
}
