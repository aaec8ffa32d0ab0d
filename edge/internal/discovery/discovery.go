package discovery

import (
	"errors"
	"fmt"

	"github.com/kith-crm/kith/proto/catalog"

	"github.com/kith-crm/kith/edge/internal/discovery/openapi"
	"github.com/kith-crm/kith/edge/internal/httpapi"
	"github.com/kith-crm/kith/edge/internal/ratelimit"
	"github.com/kith-crm/kith/edge/internal/route"
	"github.com/kith-crm/kith/edge/internal/sandbox"
)

// Options configure the documents.
type Options struct {
	// BaseURL is the public address, without a slash at the end. Required.
	BaseURL string
	// Version of the service. Required.
	Version string
	// Routes are the routes that are live, as route.Mounted and route.LiveAt return
	// them. The documents mention no others. Required.
	Routes []route.Route
	// Catalog has the tools. Required.
	Catalog *catalog.Catalog
	// Protocols are the versions of MCP that the server speaks, the default first,
	// as mcp.Versions returns them. Required.
	Protocols []string
	// Problems writes 404 and 406. Required.
	Problems *httpapi.Problems
	// Policies are the rate policies in force. One with a quota of 0 is off.
	Policies []ratelimit.Policy
	// Requests are the ready-made requests of GET /sandbox. The examples of tools take
	// their arguments from them, and the landing page offers them to try. Without any,
	// examples are made from the schemas alone.
	Requests []sandbox.Request
	// SignUpOpen is set if people can create an account themselves.
	SignUpOpen bool
	// DemoUsername is the username of the demo account; "" without a sandbox.
	DemoUsername string
}

func (o Options) check() error {
	if o.BaseURL == "" || o.Version == "" || o.Catalog == nil || o.Problems == nil {
		return errors.New("base URL, version, catalogue and problem writer are required")
	}
	if len(o.Routes) == 0 || len(o.Protocols) == 0 {
		return errors.New("routes and protocol versions are required")
	}
	return nil
}

// Documents holds the documents. It is immutable and safe for concurrent use.
// Every handler answers GET and HEAD, with a strong entity tag.
type Documents struct {
	index, llms, apiCatalog       *httpapi.Document
	serverCard, sandboxCard       *httpapi.Document
	aiCatalog                     *httpapi.Document
	openAPI                       *httpapi.Document // nil where no route serves it
	peopleDocs, agentDocs, landed route.Handler
	docs                          *docs
	stylesheet, try, search       asset
	light, dark                   asset // the pictures of the demo
}

// New makes the documents. It fails if a required option is missing or a tool's
// schema cannot be read.
func New(o Options) (*Documents, error) {
	d := &Documents{}
	if err := d.build(o); err != nil {
		return nil, fmt.Errorf("build documents: %w", err)
	}
	return d, nil
}

func (d *Documents) build(o Options) error {
	s, err := newSite(o)
	if err != nil {
		return err
	}
	if err := d.loadAssets(); err != nil {
		return err
	}
	l, err := newLayout(s, d.stylesheet, d.try, d.search)
	if err != nil {
		return err
	}
	if d.index, err = newIndex(s); err != nil {
		return err
	}
	if d.apiCatalog, err = newAPICatalog(s); err != nil {
		return err
	}
	if d.serverCard, err = newServerCard(s, route.PathMCPCurrent); err != nil {
		return err
	}
	if d.sandboxCard, err = newServerCard(s, route.SandboxPrefix+route.PathMCPCurrent); err != nil {
		return err
	}
	if d.aiCatalog, err = newAICatalog(s); err != nil {
		return err
	}
	if d.openAPI, err = s.newOpenAPI(); err != nil {
		return err
	}
	siteIndex, err := s.page("llms.md", s)
	if err != nil {
		return err
	}
	d.llms = httpapi.NewDocument("text/plain; charset=utf-8", s.resolve(siteIndex, s.BaseURL), nil)
	page, text, err := l.forms("The MCP server and its tools", pathPeopleDocs, "tools.md", document{site: s})
	if err != nil {
		return err
	}
	d.peopleDocs, d.agentDocs = httpapi.Negotiate(s.Problems, page, text), httpapi.Negotiate(s.Problems, text, page)
	if d.docs, err = newDocs(l); err != nil {
		return err
	}
	d.landed, err = l.landingPage(d.llms, d.light, d.dark)
	return err
}

func (d *Documents) loadAssets() error {
	for _, a := range []struct {
		to          *asset
		path, media string
	}{
		{&d.stylesheet, pathStylesheet, "text/css; charset=utf-8"},
		{&d.try, pathTry, typeScript}, {&d.search, pathSearch, typeScript},
		{&d.light, pathPictureLight, "image/png"}, {&d.dark, pathPictureDark, "image/png"},
	} {
		var err error
		if *a.to, err = newAsset(a.path, a.media); err != nil {
			return err
		}
	}
	return nil
}

func (s *site) newOpenAPI() (*httpapi.Document, error) {
	if !s.serves(pathOpenAPI) {
		return nil, nil
	}
	body, err := openapi.New(openapi.Options{
		BaseURL: s.BaseURL, Version: s.Version, Routes: s.Routes, Policies: s.Policies, DemoUsername: s.DemoUsername,
	})
	return httpapi.NewDocument("application/json", body, nil), err
}

// OpenAPI returns the handler of GET /openapi.json.
func (d *Documents) OpenAPI() route.Handler { return d.openAPI.Serve }

// AgentIndex returns the handler of GET /v1.
func (d *Documents) AgentIndex() route.Handler { return d.index.Serve }

// LLMs returns the handler of GET /llms.txt.
func (d *Documents) LLMs() route.Handler { return d.llms.Serve }

// APICatalog returns the handler of GET /.well-known/api-catalog.
func (d *Documents) APICatalog() route.Handler { return d.apiCatalog.Serve }

// ServerCard returns the handler of GET /mcp/v1/server-card.
func (d *Documents) ServerCard() route.Handler { return d.serverCard.Serve }

// SandboxCard returns the handler of GET /sandbox/mcp/v1/server-card.
func (d *Documents) SandboxCard() route.Handler { return d.sandboxCard.Serve }

// AICatalog returns the handler of GET /.well-known/ai-catalog.json.
func (d *Documents) AICatalog() route.Handler { return d.aiCatalog.Serve }

// PeopleDocs returns the handler of GET /docs/mcp: HTML unless Accept prefers
// Markdown.
func (d *Documents) PeopleDocs() route.Handler { return d.peopleDocs }

// AgentDocs returns the handler of GET /mcp/docs: Markdown unless Accept prefers
// HTML.
func (d *Documents) AgentDocs() route.Handler { return d.agentDocs }

// Docs returns the handler of GET /docs: an overview of the documentation or, with the parameter q,
// the results of a search. Like the other pages of the documentation it is HTML unless Accept
// prefers Markdown.
func (d *Documents) Docs() route.Handler { return d.docs.search }

// Guide returns the handler of GET /docs/{guide}. For a page that does not exist, it answers 404
// with the most similar names, as do Tool and Error.
func (d *Documents) Guide() route.Handler { return d.docs.serveGuide }

// ToolList returns the handler of GET /docs/tools.
func (d *Documents) ToolList() route.Handler { return d.docs.toolList }

// Tool returns the handler of GET /docs/tools/{name}.
func (d *Documents) Tool() route.Handler { return d.docs.serveTool }

// ErrorList returns the handler of GET /docs/errors.
func (d *Documents) ErrorList() route.Handler { return d.docs.errorList }

// Error returns the handler of GET /docs/errors/{code}.
func (d *Documents) Error() route.Handler { return d.docs.serveError }

// Landing returns the handler of GET /: a page for people, the site index for
// callers that prefer Markdown.
func (d *Documents) Landing() route.Handler { return d.landed }
