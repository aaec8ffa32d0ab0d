package sandboxmount

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/kith-crm/kith/edge/internal/publicapi"
)

// description is the part of the body that never changes.
type description struct {
	DemoAccount demoAccount    `json:"demo_account"`
	Endpoints   []endpointJSON `json:"endpoints"`
	Limits      limitsJSON     `json:"limits"`
	Try         []tryJSON      `json:"try"`
}

type demoAccount struct {
	Username string `json:"username"`
	URL      string `json:"url"`
}

type endpointJSON struct {
	Method     string `json:"method"`
	Path       string `json:"path"`
	Summary    string `json:"summary"`
	RatePolicy string `json:"rate_policy,omitzero"`
}

type limitsJSON struct {
	ReadOnly     bool        `json:"read_only"`
	RatePolicies []limitJSON `json:"rate_policies"`
}

type limitJSON struct {
	Policy string `json:"policy"`
	Quota  int    `json:"q"`
	Window int    `json:"w"`
	By     string `json:"by"`
}

type tryJSON struct {
	Title  string         `json:"title"`
	Method string         `json:"method"`
	Path   string         `json:"path"`
	Body   jsontext.Value `json:"body,omitzero"`
	Curl   string         `json:"curl"`
}

func newDescription(o Options) description {
	d := description{
		DemoAccount: demoAccount{Username: o.Username, URL: publicapi.ProfileURL(o.BaseURL, o.Username)},
		Endpoints:   []endpointJSON{},
		Limits:      limitsJSON{ReadOnly: true, RatePolicies: []limitJSON{}},
		Try:         []tryJSON{},
	}
	for _, r := range o.Routes {
		if !r.SandboxOnly {
			continue
		}
		for _, method := range r.Methods {
			d.Endpoints = append(d.Endpoints, endpointJSON{method, r.Pattern, r.Summary, r.RatePolicy})
		}
	}
	for _, l := range o.Limits {
		d.Limits.RatePolicies = append(d.Limits.RatePolicies, limitJSON{l.Policy, l.Quota, l.Window, "address"})
	}
	for _, r := range o.Requests {
		d.Try = append(d.Try, r.describe(o.BaseURL))
	}
	slices.SortStableFunc(d.Endpoints, func(a, b endpointJSON) int { return strings.Compare(a.Path, b.Path) })
	return d
}
