package openapi

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/proto/catalog"

	"github.com/kith-crm/kith/edge/internal/batch"
	"github.com/kith-crm/kith/edge/internal/httpapi"
	"github.com/kith-crm/kith/edge/internal/jobsapi"
	"github.com/kith-crm/kith/edge/internal/ratelimit"
	"github.com/kith-crm/kith/edge/internal/route"
)

// variables are the values that the source refers to as ${name}. A string that is only a
// reference becomes the value; within other text, only strings and numbers are allowed.
type variables map[string]any

func (o Options) variables() variables {
	aboutSandbox := ""
	if o.sandbox() {
		aboutSandbox = " Neither does the sandbox, a demo account that everyone may read."
	}
	var paths []string
	reads := []any{}
	for _, r := range batch.Allowlist(o.Routes) {
		paths = append(paths, r.Path)
		reads = append(reads, object{"method": r.Method, "path": r.Path, "query": r.Query})
	}
	kinds := jobsapi.Kinds(o.Catalog)
	return variables{
		"base-url":              o.BaseURL,
		"version":               o.Version,
		"demo":                  o.DemoUsername,
		"session-cookie":        route.SessionCookie(o.BaseURL),
		"about-sandbox":         aboutSandbox,
		"rate-policy-list":      o.policyList(),
		"batchable":             list(paths),
		"batchable-reads":       reads,
		"scopes":                o.Catalog.Scopes(),
		"all-scopes":            strings.Join(o.Catalog.Scopes(), " "),
		"scope-descriptions":    describeScopes(o.Catalog),
		"tools":                 o.Catalog.AllToolNames(),
		"tool-list":             list(o.Catalog.ToolNames()),
		"toolset-list":          list(o.Catalog.Groups()),
		"protocol-versions":     o.Protocols,
		"protocol-version":      o.Protocols[0],
		"protocol-version-list": list(o.Protocols),
		"job-kinds":             kinds,
		"job-kind-list":         strings.Join(kinds, ", "),
		"batch-items":           batch.MaxItems,
		"problem-codes":         httpapi.Codes(),
		"problem-list":          problemList(),
	}
}

// list returns words as a list of code spans.
func list(words []string) string { return "`" + strings.Join(words, "`, `") + "`" }

// policyList returns the rate policies of the routes as a Markdown list.
func (o Options) policyList() string {
	var lines []string
	for _, p := range o.Policies {
		if _, used := o.usedPolicy(p.Name); used {
			lines = append(lines, "- `"+p.Name+"`: "+quota(p)+".")
		}
	}
	if len(lines) == 0 {
		return "This server has no rate limits."
	}
	return strings.Join(lines, "\n")
}

// usedPolicy returns the policy of a name if it is in force and some route has it.
func (o Options) usedPolicy(name string) (ratelimit.Policy, bool) {
	i := slices.IndexFunc(o.Policies, func(p ratelimit.Policy) bool { return p.Name == name && p.Enabled() })
	if i < 0 || !slices.ContainsFunc(o.Routes, func(r route.Route) bool { return r.RatePolicy == name }) {
		return ratelimit.Policy{}, false
	}
	return o.Policies[i], true
}

func quota(p ratelimit.Policy) string {
	whom := "each address"
	if p.By == ratelimit.Credential {
		whom = "each credential, or the address of a caller without one; all credentials of a member have five times as many together"
	}
	return fmt.Sprintf("%d requests in %d seconds for %s", p.Quota, int(p.Window/time.Second), whom)
}

// describeScopes returns what each scope permits and which tools need it.
func describeScopes(c *catalog.Catalog) object {
	descriptions := object{}
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
		descriptions[scope] = catalog.ScopeWords(scope).Summary() + " " + words
	}
	return descriptions
}

// problemList returns the status and the title of each code as a Markdown list.
func problemList() string {
	var lines []string
	for _, c := range httpapi.Codes() {
		lines = append(lines, fmt.Sprintf("- `%s` (%d): %s.", c, c.Status(), c.Title()))
	}
	return strings.Join(lines, "\n")
}

// fill replaces the references in a value by the variables, and completes problems. It changes
// objects and lists in place.
func (v variables) fill(value any) (any, error) {
	var err error
	switch value := value.(type) {
	case object:
		for key, below := range value {
			if value[key], err = v.fill(below); err != nil {
				return nil, fmt.Errorf("%s: %w", key, err)
			}
		}
		return value, v.completeProblem(value)
	case []any:
		for i, below := range value {
			if value[i], err = v.fill(below); err != nil {
				return nil, err
			}
		}
	case string:
		return v.fillText(value)
	case time.Time, map[any]any:
		return nil, fmt.Errorf("put quotes around times, and around numbers that are names: %v", value)
	}
	return value, nil
}

var variablePattern = regexp.MustCompile(`\$\{([a-z-]+)\}`)

func (v variables) fillText(text string) (any, error) {
	if whole := variablePattern.FindStringSubmatch(text); whole != nil && whole[0] == text && v[whole[1]] != nil {
		return v[whole[1]], nil
	}
	var fault error
	filled := variablePattern.ReplaceAllStringFunc(text, func(reference string) string {
		name := reference[2 : len(reference)-1]
		switch value := v[name].(type) {
		case string, int:
			return fmt.Sprint(value)
		case nil:
			fault = fmt.Errorf("there is no variable %q", name)
		default:
			fault = fmt.Errorf("%q cannot stand within text", name)
		}
		return ""
	})
	return filled, fault
}

// keyProblem marks an example that is a problem; its value is the code.
const keyProblem = "$problem"

// completeProblem adds the type, title and status of the code to an object with keyProblem.
func (v variables) completeProblem(o object) error {
	code := httpapi.Code(text(o, keyProblem))
	if code == "" {
		return nil
	}
	if !slices.Contains(httpapi.Codes(), code) {
		return fmt.Errorf("there is no problem code %q", code)
	}
	delete(o, keyProblem)
	o["type"] = fmt.Sprint(v["base-url"], "/docs/errors/", code)
	o["title"], o["status"], o["code"] = code.Title(), code.Status(), code
	return nil
}
