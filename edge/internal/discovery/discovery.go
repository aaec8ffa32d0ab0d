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
	// Manuals are pages for people who run the service, in reading order.
	Manuals []Manual
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

// Documents are the handlers of the documents by the patterns of their routes, see Routes. Every
// handler answers GET and HEAD, with a strong entity tag, and is safe for concurrent use.
type Documents map[string]route.Handler

// New makes the documents. It fails if a required option is missing or a tool's
// schema cannot be read.
func New(o Options) (Documents, error) {
	d, err := build(o)
	if err != nil {
		return nil, fmt.Errorf("build documents: %w", err)
	}
	return d, nil
}

func build(o Options) (Documents, error) {
	s, err := newSite(o)
	if err != nil {
		return nil, err
	}
	assets, err := newAssets()
	if err != nil {
		return nil, err
	}
	l, err := newLayout(s, assets)
	if err != nil {
		return nil, err
	}
	d := Documents{}
	for path, a := range assets {
		d[path] = a.serve
	}
	for path, make := range map[string]func() (*httpapi.Document, error){
		pathIndex: s.newIndex, pathOpenAPI: s.newOpenAPI, pathAPICatalog: s.newAPICatalog, pathAICatalog: s.newAICatalog,
		route.PathServerCard:  func() (*httpapi.Document, error) { return s.newServerCard(route.PathMCPCurrent) },
		route.PathSandboxCard: func() (*httpapi.Document, error) { return s.newServerCard(route.SandboxPrefix + route.PathMCPCurrent) },
	} {
		document, err := make()
		if err != nil {
			return nil, err
		}
		d[path] = document.Serve
	}
	siteIndex, err := s.page("llms.md", s)
	if err != nil {
		return nil, err
	}
	llms := httpapi.NewDocument("text/plain; charset=utf-8", s.resolve(siteIndex, s.BaseURL), nil)
	d[pathLLMs] = llms.Serve
	page, text, err := l.forms("The MCP server and its tools", pathPeopleDocs, func() (string, error) { return s.page("tools.md", document{site: s}) })
	if err != nil {
		return nil, err
	}
	d[pathPeopleDocs], d[pathAgentDocs] = httpapi.Negotiate(s.Problems, page, text), httpapi.Negotiate(s.Problems, text, page)
	if err := addDocs(d, l); err != nil {
		return nil, err
	}
	d[pathHome], err = l.landingPage(llms, assets)
	return d, err
}

func (s *site) newOpenAPI() (*httpapi.Document, error) {
	body, err := openapi.New(openapi.Options{
		BaseURL: s.BaseURL, Version: s.Version, Catalog: s.Catalog, Protocols: s.Protocols, Routes: s.Routes, Policies: s.Policies, DemoUsername: s.DemoUsername,
	})
	return httpapi.NewDocument("application/json", body, nil), err
}
