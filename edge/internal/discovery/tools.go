package discovery

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/kith-crm/kith/proto/catalog"

	"github.com/kith-crm/kith/edge/internal/batch"
	"github.com/kith-crm/kith/edge/internal/ratelimit"
	"github.com/kith-crm/kith/edge/internal/route"
)

// The methods below return the generated parts of the pages. Texts are Markdown, except
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

// PublicReads returns the reads that need no credential, each with an address that works.
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

// TakesBatchVersion reports whether the server speaks that version.
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

// toolDoc is the documentation of one tool. Its texts come from the catalogue.
type toolDoc struct {
	Name, Title, Description, Price, Effect, Scopes string
	// Group is the title of the tool's group. GroupID is the group's scope.
	Group, GroupID string
	// Undo says how to undo a call, Repeating what a second call with the same arguments does.
	Undo, Repeating string
	// JobKind is the kind of job that a call starts; "" if it starts none.
	JobKind string
	// Acts are the kinds of changes for which an agent may need the member's approval.
	Acts      []string
	Credits   int
	Arguments []argument
	Answer    []field
	// Example is a call as a command, Message the body that it sends, indented.
	Example, Message string
	NeedsToken       bool
	Errors           []toolError
}

// field is one field of an answer.
type field struct{ Name, Type, Notes string }

// Tools returns the documentation of each tool.
func (s *site) Tools() ([]toolDoc, error) { return s.tools() }

func (s *site) documentTools() ([]toolDoc, error) {
	examples, err := s.exampleArguments()
	if err != nil {
		return nil, err
	}
	titles, err := s.errorTitles()
	if err != nil {
		return nil, err
	}
	var tools []toolDoc
	for _, rpc := range s.Catalog.Tools() {
		tool, err := s.tool(rpc, examples[rpc.Tool.Name])
		if err == nil {
			tool.Errors, err = s.toolErrors(rpc, titles)
		}
		if err != nil {
			return nil, fmt.Errorf("document %s: %w", rpc.Tool.Name, err)
		}
		tools = append(tools, tool)
	}
	return tools, nil
}

func (s *site) tool(rpc *catalog.RPC, example jsontext.Value) (t toolDoc, err error) {
	t = toolDoc{
		Name: rpc.Tool.Name, Title: rpc.Tool.Title, Description: rpc.Tool.Description, Price: price(rpc.Tool), Effect: effect(rpc),
		Scopes: scopesOf(rpc), Group: catalog.ScopeWords(rpc.Tool.Group).Title, GroupID: rpc.Tool.Group,
		Repeating: repeating(rpc), JobKind: rpc.Tool.JobKind, Acts: rpc.Tool.Acts, Credits: rpc.Tool.Credits,
	}
	if t.Arguments, err = argumentsOf(rpc.Tool.BoundedSchema); err != nil {
		return t, err
	}
	answer, err := argumentsOf(rpc.Tool.OutputSchema)
	if err != nil {
		return t, err
	}
	if rpc.Tool.UnlistedSchema != nil {
		unlisted, err := argumentsOf(rpc.Tool.UnlistedSchema)
		if err != nil {
			return t, err
		}
		answer = append(answer, unlisted...)
	}
	t.Answer = answerFields(answer, rpc.Tool.TextByOthers)
	t.Undo = undo(rpc, t.Answer)
	q, err := s.exampleOf(rpc, example)
	if err != nil {
		return t, err
	}
	t.Example, t.NeedsToken = q.curl(s.BaseURL), q.Bearer
	t.Message, err = indented([]byte(q.Body))
	return t, err
}

// answerFields describes the fields of an answer.
func answerFields(answer []argument, byOthers []string) []field {
	var fields []field
	for _, a := range answer {
		f := field{Name: a.Name, Type: a.Type}
		var notes []string
		if a.Required {
			notes = append(notes, "always there")
		}
		if slices.Contains(byOthers, a.Name[strings.LastIndex(a.Name, ".")+1:]) {
			notes = append(notes, "may be written by others")
		}
		if a.Description != "" {
			notes = append(notes, escapeText(a.Description))
		}
		f.Notes = strings.Join(notes, "; ")
		fields = append(fields, f)
	}
	return fields
}

// boundsOf says which values an argument takes.
func boundsOf(a argument) string {
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
	return strings.Join(codeSpans(rpc.Scopes), " and ")
}

func codeSpans(texts []string) []string {
	spans := make([]string, 0, len(texts))
	for _, text := range texts {
		spans = append(spans, codeSpan(text))
	}
	return spans
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

// undo says how to undo a call of the tool.
func undo(rpc *catalog.RPC, answer []field) string {
	const tool = "[`undo_change`](" + pathTools + "/undo_change)"
	switch {
	case !rpc.Writes:
		return "nothing to undo, it only reads"
	case slices.ContainsFunc(answer, func(f field) bool { return f.Name == "change_id" }):
		return "yes, by " + tool + " with the `change_id` of the answer"
	case rpc.Tool.JobKind != "" && strings.Contains(rpc.Tool.Description, "import_id"):
		return "yes, by " + tool + " with the `import_id` of the job's result"
	default:
		return "no"
	}
}

// repeating says what a second call with the same arguments does.
func repeating(rpc *catalog.RPC) string {
	switch {
	case !rpc.Writes:
		return "a second call reads again"
	case rpc.Tool.Annotations.Idempotent:
		return "a second call with the same arguments changes nothing more"
	default:
		return "a second call may change something again, unless both have the same `Idempotency-Key` header"
	}
}

// toolError is a JSON-RPC error that a call of a tool can return.
type toolError struct{ Code, Title, When string }

// toolErrors returns the errors of the tool that have a code, with the titles of their pages.
func (s *site) toolErrors(rpc *catalog.RPC, titles map[string]string) ([]toolError, error) {
	refused := "the token is limited to other tools, the member has paused the agent, or a header leaves the tool out"
	if rpc.Access == catalog.AccessScoped {
		refused = "the token lacks " + strings.Join(codeSpans(rpc.Scopes), " or ") + "; or " + refused
	}
	if rpc.Writes {
		refused += "; or the account is the demo's, which refuses writes"
	}
	limit := "the rate limit of the address is used up"
	if r, ok := s.routeAt(route.PathMCPCurrent); ok {
		if p, limited := s.policy(r); limited {
			limit = "there were more calls than " + quota(p)
		}
	}
	list := []toolError{
		{Code: "-32000", When: "the token is missing, expired or revoked"}, {Code: "-32001", When: refused},
		{Code: "-32003", When: limit}, {Code: "-32603", When: "the service failed or is briefly unavailable"},
	}
	for i, e := range list {
		if list[i].Title = titles[e.Code]; list[i].Title == "" {
			return nil, fmt.Errorf("the error %s has no page", e.Code)
		}
	}
	return list, nil
}
