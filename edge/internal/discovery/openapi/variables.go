package openapi

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kith-crm/kith/proto/catalog"

	"github.com/kith-crm/kith/edge/internal/batch"
	"github.com/kith-crm/kith/edge/internal/httpapi"
	"github.com/kith-crm/kith/edge/internal/jobsapi"
	"github.com/kith-crm/kith/edge/internal/route"
)

// variables are the nodes that the source refers to as ${name}. A scalar that is only a
// reference becomes the node; within other text, only scalars are allowed.
type variables map[string]*yaml.Node

func newVariables(c *catalog.Catalog, protocols []string, routes []route.Route) variables {
	tools := c.ToolNames()
	return variables{
		"base-url":              newText(exampleBaseURL),
		"version":               newText(exampleVersion),
		"demo":                  newText(exampleMember),
		"session-cookie":        newText(secureCookie),
		"about-sandbox":         newText(aboutSandbox),
		"rate-policy-list":      newText(examplePolicies),
		"batchable":             newText(exampleReads),
		"batchable-reads":       batchableReads(routes),
		"scopes":                newList(c.Scopes()),
		"all-scopes":            newText(strings.Join(c.Scopes(), " ")),
		"scope-descriptions":    describeScopes(c),
		"tools":                 newList(tools),
		"tool-list":             newText(list(tools)),
		"toolset-list":          newText(list(c.Groups())),
		"protocol-versions":     newList(protocols),
		"protocol-version":      newText(protocols[0]),
		"protocol-version-list": newText(list(protocols)),
		"job-kinds":             newList(jobsapi.Kinds(c)),
		"job-kind-list":         newText(strings.Join(jobsapi.Kinds(c), ", ")),
		"batch-items":           newScalar(tagInteger, strconv.Itoa(batch.MaxItems)),
		"problem-codes":         newList(problemCodes()),
		"problem-list":          newText(problemList()),
	}
}

// list returns words as a list of code spans.
func list(words []string) string { return "`" + strings.Join(words, "`, `") + "`" }

func batchable(routes []route.Route) []string {
	var paths []string
	for _, r := range batch.Allowlist(routes) {
		paths = append(paths, r.Path)
	}
	return paths
}

// batchableReads returns the reads that can be in a batch, as a refused item lists them.
func batchableReads(routes []route.Route) *yaml.Node {
	reads := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	for _, r := range batch.Allowlist(routes) {
		read := newMapping()
		put(read, "method", newText(r.Method))
		put(read, "path", newText(r.Path))
		put(read, "query", newList(r.Query))
		reads.Content = append(reads.Content, read)
	}
	return reads
}

// describeScopes returns what each scope permits and which tools need it.
func describeScopes(c *catalog.Catalog) *yaml.Node {
	descriptions := newMapping()
	for _, scope := range c.Scopes() {
		var tools []string
		for _, rpc := range c.Tools() {
			if slices.Contains(rpc.Scopes, scope) {
				tools = append(tools, rpc.Tool.Name)
			}
		}
		words := "No tool needs it yet."
		switch {
		case len(tools) > 0 && scope == catalog.ScopeWrite:
			words = "Needed besides the scope of their group by tools that write: " + strings.Join(tools, ", ") + "."
		case len(tools) > 0:
			words = "Needed by " + strings.Join(tools, ", ") + "."
		}
		put(descriptions, scope, newText(catalog.ScopeWords(scope).Summary()+" "+words))
	}
	return descriptions
}

func problemCodes() []string {
	var codes []string
	for _, c := range httpapi.Codes() {
		codes = append(codes, string(c))
	}
	return codes
}

// problemList returns the status and the title of each code as a Markdown list.
func problemList() string {
	var b strings.Builder
	for _, c := range httpapi.Codes() {
		fmt.Fprintf(&b, "- `%s` (%d): %s.\n", c, c.Status(), c.Title())
	}
	return strings.TrimSuffix(b.String(), "\n")
}

var variablePattern = regexp.MustCompile(`\$\{([a-z-]+)\}`)

// fill replaces the references in n by the variables.
func (v variables) fill(n *yaml.Node) error {
	for _, below := range n.Content {
		if err := v.fill(below); err != nil {
			return err
		}
	}
	if n.Kind == yaml.AliasNode {
		return fmt.Errorf("line %d: aliases are not used here", n.Line)
	}
	if n.Kind != yaml.ScalarNode {
		return nil
	}
	var fault error
	whole := ""
	filled := variablePattern.ReplaceAllStringFunc(n.Value, func(placeholder string) string {
		name := placeholder[2 : len(placeholder)-1]
		value, ok := v[name]
		if !ok {
			fault = fmt.Errorf("line %d: there is no variable %q", n.Line, name)
			return ""
		}
		if placeholder == n.Value {
			whole = name
		}
		if value.Kind != yaml.ScalarNode && whole == "" {
			fault = fmt.Errorf("line %d: %q cannot stand within text", n.Line, name)
		}
		return value.Value
	})
	if whole != "" {
		*n = *clone(v[whole])
		return nil
	}
	n.Value = filled
	return fault
}
