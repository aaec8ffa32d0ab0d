package mcp

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/kith-crm/kith/proto/catalog"
	accessv1 "github.com/kith-crm/kith/proto/gen/kith/access/v1"

	"github.com/kith-crm/kith/edge/internal/nearest"
	"github.com/kith-crm/kith/edge/internal/route"
)

// Headers with which a client limits its tools. They work as in github-mcp-server.
const (
	headerToolsets = "X-MCP-Toolsets"
	headerTools    = "X-MCP-Tools"
	headerReadOnly = "X-MCP-Readonly"
)

// maxUnknown is how many unknown names an error names.
const maxUnknown = 3

// narrowing is the set of tools that the headers select. Its zero value selects all.
type narrowing struct {
	named    bool           // only those of scopes and tools
	scopes   []string       // the named toolsets and write; nil without a toolset
	tools    []*catalog.RPC // the named tools
	research bool           // the toolset research
	readOnly bool
}

// allows reports whether the tool is selected. A toolset has the tools that a credential with its
// scope and write may call, so every toolset has get_account and get_job. The tools for research are
// selected only by their own toolset or by name.
func (n *narrowing) allows(rpc *catalog.RPC) bool {
	if n.readOnly && rpc.Writes {
		return false
	}
	if rpc.Tool.Research {
		return n.research || slices.Contains(n.tools, rpc)
	}
	return !n.named || (n.scopes != nil && len(rpc.Missing(n.scopes)) == 0) || slices.Contains(n.tools, rpc)
}

// readNarrowing reads the headers. They select the tools of the named toolsets and the named tools,
// and with X-MCP-Readonly only those that read. A header without names is ignored. An unknown
// name is an error, so that a typo is noticed when the client connects.
func (d *Dispatcher) readNarrowing(h http.Header) (n narrowing, f *failure) {
	toolsets, names := listHeader(h, headerToolsets), listHeader(h, headerTools)
	n.readOnly = slices.ContainsFunc(h[http.CanonicalHeaderKey(headerReadOnly)], isTrue)
	n.named = len(toolsets)+len(names) > 0
	var unknown []string
	for _, name := range toolsets {
		switch {
		case name == "all", name == "default": // the default is all
			n.named = false
		case name == catalog.ToolsetResearch:
			n.research = true
		case slices.Contains(d.options.Catalog.Groups(), name):
			n.scopes = append(n.scopes, name)
		default:
			unknown = append(unknown, name)
		}
	}
	if unknown != nil {
		return n, unknownNames(headerToolsets, "toolset", unknown, append(d.options.Catalog.Groups(), catalog.ToolsetResearch, "all"))
	}
	if n.scopes != nil {
		n.scopes = append(n.scopes, catalog.ScopeWrite)
	}
	for _, name := range names {
		if rpc, ok := d.options.Catalog.Tool(name); ok {
			n.tools = append(n.tools, rpc)
		} else {
			unknown = append(unknown, name)
		}
	}
	if unknown != nil {
		return n, unknownNames(headerTools, "tool", unknown, d.options.Catalog.ToolNames())
	}
	return n, nil
}

// clientChatGPT begins the addresses of ChatGPT's client metadata documents.
const clientChatGPT = "https://chatgpt.com/"

// offersResearch reports whether the caller has the tools for research: it asked for them, or it is
// ChatGPT and did not narrow its tools. It asks the backend for a client that is not known yet.
func (e *endpoint) offersResearch(ctx context.Context, c *call, rpc *catalog.RPC) bool {
	if !c.narrowing.named && c.principal == nil && c.bearer.Token != "" && e.policy != demoAccount {
		_ = e.checkBearer(ctx, c) // the call itself tells the caller about a dead bearer
	}
	return c.narrowing.allows(rpc)
}

// addResearch selects the tools for research for ChatGPT, unless its headers narrow its tools.
func (n *narrowing) addResearch(client *accessv1.GetPrincipalResponse) {
	n.research = n.research || !n.named && strings.HasPrefix(client.GetClientId(), clientChatGPT)
}

// listHeader returns the members of a list header (RFC 9110, section 5.6.1).
func listHeader(h http.Header, name string) (members []string) {
	for _, line := range h[http.CanonicalHeaderKey(name)] {
		for member := range strings.SplitSeq(line, ",") {
			if member = strings.TrimSpace(member); member != "" {
				members = append(members, member)
			}
		}
	}
	return members
}

// isTrue reads a boolean header: every value is true except "", false, no, 0 and off.
func isTrue(value string) bool {
	switch strings.ToLower(strings.TrimSpace(value)) {
	case "", "false", "f", "no", "n", "0", "off":
		return false
	default:
		return true
	}
}

// unknownNames refuses names in a header. The message suggests similar names, or has all valid
// names if there are few; data always has all.
func unknownNames(header, kind string, unknown, known []string) *failure {
	var text strings.Builder
	text.WriteString(header + ": unknown " + kind + " ")
	for i, name := range unknown[:min(len(unknown), maxUnknown)] {
		if i > 0 {
			text.WriteString(" and ")
		}
		text.WriteString(quoted(name) + " (nearest: " + strings.Join(nearest.Names(known, name, maxNearest), ", ") + ")")
	}
	if list := strings.Join(known, ", "); len(list) < 100 {
		text.WriteString(". Valid: " + list + ".")
	} else {
		text.WriteString(". error.data.valid has all valid names.")
	}
	f := refusal(http.StatusBadRequest, text.String())
	f.data = encode(map[string][]string{"valid": known})
	return f
}

// narrowedCall is the error for a tool that the caller's headers or the address exclude.
func (e *endpoint) narrowedCall(tool *catalog.RPC, n *narrowing) *failure {
	header, text := headerToolsets+" or "+headerTools, " is not among the tools that this client's header "
	if n.readOnly && tool.Writes {
		header, text = headerReadOnly, " writes, and only tools that read are left by this client's header "
	}
	message := "Refused: " + tool.Tool.Name + text + header + ". Use a tool of tools/list, or ask the person to change the header in the client's settings."
	if e.research {
		message = "Refused: this address has the tools search and fetch alone; " + route.PathMCPMember + " has all others."
	}
	f := answerError(codeRefused, message)
	f.data = encode(refusalJSON{Reason: reasonNarrowed, RequiredScopes: tool.Scopes})
	return f
}
