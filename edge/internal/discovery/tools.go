package discovery

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kith-crm/kith/proto/catalog"

	"github.com/kith-crm/kith/edge/internal/batch"
	"github.com/kith-crm/kith/edge/internal/discovery/schema"
	"github.com/kith-crm/kith/edge/internal/ratelimit"
	"github.com/kith-crm/kith/edge/internal/route"
)

// The methods below return the generated parts of tools.md and llms.md. Texts are Markdown, except
// Address, Title, Description and Summary.

type mcpServer struct{ Address, Path, State, Limit, Deprecation, Summary string }

// Servers returns the MCP servers.
func (s *site) Servers() []mcpServer {
	var servers []mcpServer
	for _, r := range s.mcpServers() {
		m := mcpServer{Address: s.BaseURL + r.Pattern, Path: r.Pattern, State: string(r.State), Limit: "none", Summary: r.Summary}
		if r.State == route.Deprecated {
			m.State = "deprecated, use " + codeSpan(r.Successor) + "; no date of removal is set"
			m.Deprecation = "Deprecated, use " + r.Successor + ". "
		}
		if !r.Sunset.IsZero() {
			day := r.Sunset.UTC().Format(time.DateOnly)
			m.State = "deprecated, use " + codeSpan(r.Successor) + "; removed on " + day
			m.Deprecation = "Deprecated, removed on " + day + ", use " + r.Successor + ". "
		}
		if p, limited := s.policy(r); limited {
			m.Limit = quota(p) + " (" + codeSpan(p.Name) + ")"
		}
		servers = append(servers, m)
	}
	return servers
}

func quota(p ratelimit.Policy) string {
	window := strconv.Itoa(int(p.Window/time.Second)) + " seconds"
	switch p.Window {
	case time.Second:
		window = "second"
	case time.Minute:
		window = "minute"
	case time.Hour:
		window = "hour"
	}
	return strconv.Itoa(p.Quota) + " per " + window + " and " + string(p.By)
}

type publicRead struct{ Name, Path, Note string }

// PublicReads returns the reads that need no credential, each with an address that
// exists.
func (s *site) PublicReads() []publicRead {
	var reads []publicRead
	for _, r := range s.Routes {
		path := s.example(r)
		if !r.Batchable || r.SandboxOnly || path == "" {
			continue
		}
		note := escapeText(r.Summary)
		if path != r.Pattern {
			note = "Example of " + r.Pattern + ". " + note
		}
		reads = append(reads, publicRead{http.MethodGet + " " + path, path, note})
	}
	if r, ok := s.routeAt(pathBatch); ok {
		note := "Up to " + strconv.Itoa(batch.MaxItems) + " of these reads in one request."
		reads = append(reads, publicRead{strings.Join(r.Methods, ", ") + " " + r.Pattern, r.Pattern, note})
	}
	return reads
}

// FirstCall returns a tool call on the demo account as a command, "" without a
// sandbox.
func (s *site) FirstCall() string {
	for _, t := range s.tries() {
		if t.Argument != "" {
			return t.Curl
		}
	}
	return ""
}

// versionWithBatches is the only version of MCP that asks servers to take batches.
const versionWithBatches = "2025-03-26"

// TakesBatchVersion says whether the server speaks that version.
func (s *site) TakesBatchVersion() bool { return slices.Contains(s.Protocols, versionWithBatches) }

type scopeDoc struct {
	Name, Words string
	Tools       []string
}

// Scopes returns the scopes and the tools that need each.
func (s *site) Scopes() []scopeDoc {
	var scopes []scopeDoc
	for _, scope := range s.Catalog.Scopes() {
		d := scopeDoc{Name: scope, Words: catalog.ScopeWords(scope).Summary()}
		for _, rpc := range s.Catalog.Tools() {
			if slices.Contains(rpc.Scopes, scope) {
				d.Tools = append(d.Tools, rpc.Tool.Name)
			}
		}
		scopes = append(scopes, d)
	}
	return scopes
}

type toolDoc struct {
	Name, Title, Description, Price, Effect, Scopes, Example string
	Arguments                                                []schema.Argument
	NeedsToken                                               bool
}

// Tools returns the documentation of each tool.
func (s *site) Tools() ([]toolDoc, error) {
	x := newExamples(s)
	var tools []toolDoc
	for _, rpc := range s.Catalog.Tools() {
		input, err := schema.Parse(rpc.Tool.BoundedSchema)
		if err != nil {
			return nil, fmt.Errorf("document %s: %w", rpc.Tool.Name, err)
		}
		arguments, err := x.arguments(rpc.Tool, input)
		if err != nil {
			return nil, err
		}
		q, err := x.request(rpc, arguments)
		if err != nil {
			return nil, err
		}
		tools = append(tools, toolDoc{
			Name: rpc.Tool.Name, Title: rpc.Tool.Title, Description: rpc.Tool.Description, Price: price(rpc.Tool), Effect: effect(rpc),
			Scopes: scopesOf(rpc), Example: q.curl(s.BaseURL), Arguments: input.Arguments(), NeedsToken: q.Bearer,
		})
	}
	return tools, nil
}

// bounds says which values an argument takes.
func bounds(a schema.Argument) string {
	var all []string
	for _, bound := range a.Bounds {
		all = append(all, escapeText(bound))
	}
	if a.Pattern != "" {
		all = append(all, "matches "+codeSpan(a.Pattern))
	}
	return strings.Join(all, "; ")
}

func price(tool *catalog.Tool) string {
	switch tool.Credits {
	case 0:
		return "free"
	case 1:
		return "1 credit"
	default:
		return strconv.Itoa(tool.Credits) + " credits"
	}
}

func scopesOf(rpc *catalog.RPC) string {
	if rpc.Access == catalog.AccessCredential {
		return "any valid credential"
	}
	var scopes []string
	for _, scope := range rpc.Scopes {
		scopes = append(scopes, codeSpan(scope))
	}
	return strings.Join(scopes, " and ")
}

// effect says what a call changes, from the tool's annotations.
func effect(rpc *catalog.RPC) string {
	switch {
	case !rpc.Writes:
		return "reads"
	case rpc.Tool.Annotations.Destructive:
		return "writes, and may overwrite or delete"
	default:
		return "writes, and only adds"
	}
}
