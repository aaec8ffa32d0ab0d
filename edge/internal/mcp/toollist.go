package mcp

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/kith-crm/kith/proto/catalog"
)

// renderedTool is one tool as JSON for tools/list, rendered once, in its two forms. An answer
// concatenates these bytes, which costs little more than copying a cached answer.
type renderedTool struct {
	rpc     *catalog.RPC
	plain   []byte
	refused []byte // marked as a tool that the demo account refuses
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

// toolMetaJSON has this service's own metadata. InScope is present only if it is false: in the
// sandbox, which also lists the tools that write.
type toolMetaJSON struct {
	Group   string   `json:"kith/group"`
	Scopes  []string `json:"kith/scopes"`
	Credits int      `json:"kith/credits"`
	InScope *bool    `json:"kith/in_scope,omitzero"`
}

// newToolList renders the catalogue's tools, in its order.
func newToolList(c *catalog.Catalog) (list []renderedTool, err error) {
	for _, rpc := range c.AllTools() {
		plain, err := renderTool(rpc, true)
		if err != nil {
			return nil, err
		}
		refused, err := renderTool(rpc, false)
		if err != nil {
			return nil, err
		}
		list = append(list, renderedTool{rpc: rpc, plain: plain, refused: refused})
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

// page is a range of the list.
type page struct {
	from string // the name of its first tool; "" for the beginning
	size int    // the most tools on it; 0 for all
}

// keyPageSize is the member of a request's _meta with which a client asks for pages. In MCP the
// server chooses the size, but some clients read only the first page. So a client that does not ask
// for pages gets all tools at once.
const keyPageSize = "kith/page_size"

// maxPageSize is the maximum size of a page, which is more than the number of tools.
const maxPageSize = 100

// next returns the cursor of the page that begins with a tool.
func (p page) next(tool string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.Itoa(p.size) + " " + tool))
}

// readPage returns the requested page of tools/list. A cursor contains the size of its page.
func (e *endpoint) readPage(p params) (page, *failure) {
	if p.cursor != nil {
		text, err := base64.RawURLEncoding.DecodeString(unquote(p.cursor))
		digits, from, _ := strings.Cut(string(text), " ")
		size, ok := pageSize(digits)
		if _, known := e.options.Catalog.Tool(from); err != nil || p.cursor.Kind() != '"' || !ok || !known {
			return page{}, answerError(codeInvalidParams, "The cursor is not one that this server gave. Leave it out for the first page.")
		}
		return page{from, size}, nil
	}
	var meta struct {
		Size jsontext.Value `json:"kith/page_size"`
	}
	if p.meta.Kind() != '{' || json.Unmarshal(p.meta, &meta) != nil || meta.Size == nil {
		return page{}, nil
	}
	size, ok := pageSize(string(meta.Size))
	if !ok {
		return page{}, answerError(codeInvalidParams, "_meta."+keyPageSize+" must be an integer from 1 to "+strconv.Itoa(maxPageSize)+".")
	}
	return page{size: size}, nil
}

func pageSize(digits string) (int, bool) {
	size, err := strconv.Atoi(digits)
	return size, err == nil && size >= 1 && size <= maxPageSize
}

// shows reports whether a caller may use a tool, by the headers and the credential.
func (e *endpoint) shows(c *call, rpc *catalog.RPC) bool {
	if p := c.principal; p != nil {
		if len(rpc.Missing(p.GetScopes())) > 0 || (p.GetReadOnly() && rpc.Writes) || !rpc.WithinLimit(p.GetTools()) {
			return false
		}
	}
	return c.narrowing.allows(rpc)
}

// listTools answers tools/list with the tools that the caller may use; without a bearer, all
// tools. get_account says which tools a credential cannot use.
func (e *endpoint) listTools(c *call) (jsontext.Value, *failure) {
	if c.params.fault != "" {
		return nil, answerError(codeInvalidParams, c.params.fault)
	}
	p, f := e.readPage(c.params)
	if f != nil {
		return nil, f
	}
	out := append(make([]byte, 0, e.listSize), `{"tools":[`...)
	listed, next := 0, ""
	for _, tool := range e.tools {
		name := tool.rpc.Tool.Name
		if p.from == name {
			p.from = ""
		}
		if p.from != "" || !e.shows(c, tool.rpc) {
			continue
		}
		if p.size > 0 && listed == p.size {
			next = p.next(name)
			break
		}
		if listed++; listed > 1 {
			out = append(out, ',')
		}
		if e.policy == demoAccount && tool.rpc.Writes {
			out = append(out, tool.refused...)
		} else {
			out = append(out, tool.plain...)
		}
	}
	if out = append(out, ']'); next != "" {
		out = append(out, `,"nextCursor":"`+next+`"`...) // base64 needs no escapes
	}
	return append(out, '}'), nil
}
