package openapi

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/kith-crm/kith/edge/internal/ratelimit"
	"github.com/kith-crm/kith/edge/internal/route"
)

// deploy adds the rate limit and the removal date of an operation to its description
// and to its answers.
func (o Options) deploy(root, operation *yaml.Node, r route.Route) {
	answers, added := obtain(operation, "responses"), newMapping()
	policy, limited := o.usedPolicy(r.RatePolicy)
	if limited {
		addAnswer(added, "429", prefix(r.Protocol)+"TooManyRequests")
	}
	if !r.Sunset.IsZero() {
		addAnswer(added, "410", prefix(r.Protocol)+"Gone")
	}
	if r.State == route.Deprecated {
		mark(root, added, "Deprecated", deprecationHeaders())
	}
	for status, answer := range members(added) {
		if child(answers, status) == nil {
			put(answers, status, answer)
		}
	}
	if !r.Sunset.IsZero() {
		description := strings.Replace(text(operation, "description"), withoutSunset, "its removal on "+r.Sunset.UTC().Format(time.DateOnly), 1)
		put(operation, "description", newText(description))
		mark(root, without(answers, "431"), "Sunset", []string{"Sunset"})
	}
	if limited {
		limit(operation, policy)
		mark(root, answers, "Counted", countedHeaders())
	}
	sortByStatus(answers)
}

// limit adds the rate policy of an operation to its description.
func limit(operation *yaml.Node, p ratelimit.Policy) {
	say(operation, "Rate policy `"+p.Name+"`: "+quota(p)+".")
	x := newMapping()
	put(x, "policy", newText(p.Name))
	put(x, "quota", newScalar(tagInteger, strconv.Itoa(p.Quota)))
	put(x, "window", newScalar(tagInteger, strconv.Itoa(int(p.Window/time.Second))))
	put(x, "by", newText(string(p.By)))
	put(operation, "x-rate-limit", x)
}

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
	for _, p := range o.Policies {
		if p.Name != name || !p.Enabled() {
			continue
		}
		for _, r := range o.Routes {
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
		whom = "each credential, or the address of a caller without one; all credentials of a member have five times as many together"
	}
	return fmt.Sprintf("%d requests in %d seconds for %s", p.Quota, int(p.Window/time.Second), whom)
}
