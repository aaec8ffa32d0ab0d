package sandbox

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/kith-crm/kith/edge/internal/publicapi"
	"github.com/kith-crm/kith/edge/internal/route"
)

// description is the part of the body that is the same for every request.
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
	routes := slices.DeleteFunc(slices.Clone(o.Routes), func(r route.Route) bool { return !r.SandboxOnly || r.Protocol == route.Page })
	for _, r := range routes {
		for _, method := range r.Methods {
			d.Endpoints = append(d.Endpoints, endpointJSON{method, r.Pattern, r.Summary, r.RatePolicy})
		}
	}
	for _, p := range o.Policies {
		used := slices.ContainsFunc(routes, func(r route.Route) bool { return r.RatePolicy == p.Name })
		if used && p.Enabled() {
			d.Limits.RatePolicies = append(d.Limits.RatePolicies, limitJSON{p.Name, p.Quota, int(p.Window / time.Second), "address"})
		}
	}
	for _, r := range o.Requests {
		d.Try = append(d.Try, r.describe(o.BaseURL))
	}
	slices.SortStableFunc(d.Endpoints, func(a, b endpointJSON) int { return strings.Compare(a.Path, b.Path) })
	return d
}

// Request is a ready-made request for visitors.
type Request struct {
	Title  string
	Method string
	// Path is relative to the base URL, with its query.
	Path string
	// Body is the JSON to send as application/json; "" for none.
	Body string
	// Accept is the value of the Accept header; "" leaves it out.
	Accept string
}

func (r Request) describe(baseURL string) tryJSON {
	try := tryJSON{Title: r.Title, Method: r.Method, Path: r.Path, Curl: r.curl(baseURL)}
	if r.Body != "" {
		try.Body = jsontext.Value(r.Body)
	}
	return try
}

// curl returns the request as one line for a POSIX shell.
func (r Request) curl(baseURL string) string {
	return strings.Join(append(append([]string{"curl -sS"}, r.CurlArguments()...), ShellQuote(baseURL+r.Path)), " ")
}

// CurlArguments returns the arguments of curl that make the request, without its address.
func (r Request) CurlArguments() []string {
	var arguments []string
	if r.Accept != "" {
		arguments = append(arguments, "-H "+ShellQuote("Accept: "+r.Accept))
	}
	implied := http.MethodGet
	if r.Body != "" {
		implied = http.MethodPost
		arguments = append(arguments, "-H "+ShellQuote("Content-Type: application/json"), "-d "+ShellQuote(r.Body))
	}
	if r.Method != implied {
		arguments = append(arguments, "-X "+r.Method)
	}
	return arguments
}

// ShellQuote quotes text as one word of a POSIX shell (section 2.2.2).
func ShellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
