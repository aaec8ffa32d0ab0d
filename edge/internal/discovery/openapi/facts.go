package openapi

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/kith-crm/kith/proto/catalog"

	"github.com/kith-crm/kith/edge/internal/batch"
	"github.com/kith-crm/kith/edge/internal/jobsapi"
	"github.com/kith-crm/kith/edge/internal/problem"
	"github.com/kith-crm/kith/edge/internal/ratelimit"
)

// facts are what the source may name as ${name}. A scalar that is nothing but a
// name becomes the node; within other text only scalars can stand.
type facts map[string]*yaml.Node

// noDemo is the username of examples where there is no demo account.
const noDemo = "ada-lovelace"

func newFacts(o Options) facts {
	demo := o.DemoUsername
	if demo == "" {
		demo = noDemo
	}
	tools := o.Catalog.ToolNames()
	return facts{
		"base-url":              newText(o.BaseURL),
		"version":               newText(o.Version),
		"demo":                  newText(demo),
		"scopes":                newList(o.Catalog.Scopes()),
		"all-scopes":            newText(strings.Join(o.Catalog.Scopes(), " ")),
		"scope-descriptions":    describeScopes(o.Catalog),
		"tools":                 newList(tools),
		"tool-list":             newText(list(tools)),
		"protocol-versions":     newList(o.Protocols),
		"protocol-version":      newText(o.Protocols[0]),
		"protocol-version-list": newText(list(o.Protocols)),
		"job-kinds":             newList(jobsapi.Kinds(o.Catalog)),
		"job-kind-list":         newText(strings.Join(jobsapi.Kinds(o.Catalog), ", ")),
		"batch-items":           newScalar(tagInteger, strconv.Itoa(batch.MaxItems)),
		"batchable":             newText(list(batchable(o))),
		"batchable-reads":       batchableReads(o),
		"problem-codes":         newList(problemCodes()),
		"problem-list":          newText(problemList()),
		"rate-policy-list":      newText(policyList(o)),
		"session-cookie":        newText(sessionCookie(o.BaseURL)),
	}
}

// list is code words for prose.
func list(words []string) string { return "`" + strings.Join(words, "`, `") + "`" }

func batchable(o Options) []string {
	var paths []string
	for _, r := range batch.Allowlist(o.Rows) {
		paths = append(paths, r.Path)
	}
	return paths
}

// batchableReads is the allowlist as refused items have it.
func batchableReads(o Options) *yaml.Node {
	reads := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	for _, r := range batch.Allowlist(o.Rows) {
		read := newMapping()
		put(read, "method", newText(r.Method))
		put(read, "path", newText(r.Path))
		put(read, "query", newList(r.Query))
		reads.Content = append(reads.Content, read)
	}
	return reads
}

// sessionCookie is the name under which browsers keep a person's session; the
// pages choose it so (an end-to-end test holds them to it).
func sessionCookie(baseURL string) string {
	if strings.HasPrefix(baseURL, "https://") {
		return "__Host-kith_session"
	}
	return "kith_session"
}

// describeScopes says of each scope what it permits and which tools need it.
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
	for _, c := range problem.Codes() {
		codes = append(codes, string(c))
	}
	return codes
}

// problemList tells the status and the title of each code, as Markdown.
func problemList() string {
	var b strings.Builder
	for _, c := range problem.Codes() {
		fmt.Fprintf(&b, "- `%s` (%d): %s.\n", c, c.Status(), c.Title())
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// policyList tells the rate policies of the rows, as Markdown.
func policyList(o Options) string {
	var lines []string
	for _, p := range o.Policies {
		if _, used := usedPolicy(o, p.Name); used {
			lines = append(lines, "- `"+p.Name+"`: "+quota(p)+".")
		}
	}
	if len(lines) == 0 {
		return "This server limits nothing."
	}
	return strings.Join(lines, "\n")
}

// usedPolicy returns the policy of a name if it is in force and some row has it.
func usedPolicy(o Options, name string) (ratelimit.Policy, bool) {
	for _, p := range o.Policies {
		if p.Name != name || !p.Enabled() {
			continue
		}
		for _, r := range o.Rows {
			if r.RatePolicy == name {
				return p, true
			}
		}
	}
	return ratelimit.Policy{}, false
}

func quota(p ratelimit.Policy) string {
	whom := "each address"
	if p.By == ratelimit.Credential {
		whom = "each credential, or the address of a caller without one"
	}
	return fmt.Sprintf("%d requests in %d seconds for %s", p.Quota, int(p.Window/time.Second), whom)
}

var factPattern = regexp.MustCompile(`\$\{([a-z-]+)\}`)

// fill puts the facts where n names them.
func (f facts) fill(n *yaml.Node) error {
	for _, below := range n.Content {
		if err := f.fill(below); err != nil {
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
	filled := factPattern.ReplaceAllStringFunc(n.Value, func(placeholder string) string {
		name := placeholder[2 : len(placeholder)-1]
		value, ok := f[name]
		if !ok {
			fault = fmt.Errorf("line %d: there is no fact %q", n.Line, name)
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
		*n = *clone(f[whole])
		return nil
	}
	n.Value = filled
	return fault
}
