package discovery

import (
	"net/http"
	"strings"

	"github.com/kith-crm/kith/edge/internal/httpapi"
	"github.com/kith-crm/kith/edge/internal/route"
)

// landing is the content of the page at /.
type landing struct {
	Summary string
	// Tries are requests for the sandbox; empty without a sandbox.
	Tries []try
	// MCP and MCPSandbox are the addresses for MCP clients; MCPSandbox is "" without a sandbox.
	MCP, MCPSandbox string
	Documents       []entryLink
	// Connect, SignUp, Settings, Sandbox, Demo and Members are paths; "" for what this server does not offer.
	Connect, SignUp, Settings, Sandbox, Demo, Members string
	// Light and Dark are the addresses of pictures of the demo.
	Light, Dark string
}

// endpoint is one entry in the table of paths of the documentation.
type endpoint struct {
	Methods, Path, Summary, Needs, Limit string
	Deprecated                           bool
}

type entryLink struct{ Title, Path, Note string }

// landingPage returns the handler of GET / for callers without a login session. Callers that
// prefer Markdown get the site index.
func (l *layout) landingPage(llms *httpapi.Document, assets map[string]asset) (route.Handler, error) {
	content := l.site.landing()
	content.Light, content.Dark = assets[pathPictureLight].address(), assets[pathPictureDark].address()
	page, err := l.render(pageContent{
		Title: "A personal CRM for AI agents", Path: pathHome, Landing: content, vary: varyOnSession,
	})
	text := httpapi.NewDocument(typeMarkdown, llms.Body(), http.Header{"Vary": {varyOnSession}})
	return httpapi.Negotiate(l.site.Problems, page, text), err
}

func (s *site) landing() *landing {
	l := &landing{
		Summary: summary, Tries: s.tries(), MCP: s.BaseURL + route.PathMCPCurrent,
		MCPSandbox: s.address(route.PathMCPSandbox),
		Connect:    s.served(pathDocs + "/connect"), Settings: s.served(pathSettings),
		Sandbox: s.served(route.SandboxPrefix), Demo: s.served(route.DemoPrefix), Members: s.served(pathMembers),
	}
	if s.SignUpOpen {
		l.SignUp = s.served(pathSignUp)
	}
	for _, e := range []entryLink{
		{"Documentation", pathDocs, "guides, tools, errors and paths, with a search"},
		{"Tools", pathTools, "every tool with its arguments, answer, price, scopes, errors and an example"},
		{"Errors", pathErrors, "what each code means and what to do about it"},
		{"Sandbox", route.SandboxPrefix, "the demo account, with requests that work as printed"},
		{"Agent index", pathIndex, "addresses, limits and deprecations as JSON"},
		{"OpenAPI", pathOpenAPI, "every path, its parameters and its answers"},
		{"llms.txt", pathLLMs, "the site index for agents"},
	} {
		if s.serves(e.Path) {
			l.Documents = append(l.Documents, e)
		}
	}
	return l
}

// Endpoints lists the paths of the API, without pages and without the copies under
// /sandbox.
func (s *site) Endpoints() []endpoint {
	var list []endpoint
	for _, r := range s.Routes {
		if r.Protocol == route.Page || r.CopyOf != "" || s.isDocument(r) {
			continue
		}
		limit := "none"
		if p, limited := s.policy(r); limited {
			limit = quota(p)
		}
		list = append(list, endpoint{
			Methods: strings.Join(r.Methods, ", "), Path: r.Pattern, Summary: r.Summary, Needs: needs(r),
			Limit: limit, Deprecated: r.State == route.Deprecated,
		})
	}
	return list
}

// isDocument reports whether a route serves a page or a file that pages load.
func (s *site) isDocument(r route.Route) bool {
	return r.Pattern == pathHome || r.Pattern == pathDocs || strings.HasPrefix(r.Pattern, pathDocs+"/") || strings.HasPrefix(r.Pattern, route.AssetPrefix)
}

func needs(r route.Route) string {
	switch {
	case r.Anonymous:
		return "nothing"
	case r.Pattern == route.PathMCPCurrent:
		return "a token for tool calls"
	default:
		return "a token"
	}
}
