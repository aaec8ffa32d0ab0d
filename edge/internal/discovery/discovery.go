package discovery

import (
	"github.com/kith-crm/kith/edge/internal/discovery/static"
	"github.com/kith-crm/kith/edge/internal/route"
)

// Docs holds the documents. It is immutable and safe for concurrent use. Every
// handler answers GET and HEAD, with a strong entity tag.
type Docs struct {
	index      *static.Document
	llms       *static.Document
	apiCatalog *static.Document
	peopleDocs *static.Choice
	agentDocs  *static.Choice
	errors     *errorPages
	landing    *static.Choice
	assets     assets
}

// New makes the documents. It fails if a required option is missing or a tool's
// schema cannot be read.
func New(o Options) (*Docs, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	s, err := newSite(o)
	if err != nil {
		return nil, err
	}
	d := &Docs{assets: newAssets()}
	pages, err := newPages(s, d.assets)
	if err != nil {
		return nil, err
	}
	if d.index, err = newIndex(s); err != nil {
		return nil, err
	}
	if d.apiCatalog, err = newAPICatalog(s); err != nil {
		return nil, err
	}
	d.llms = newLLMs(s)
	if d.peopleDocs, d.agentDocs, err = newToolDocs(s, pages); err != nil {
		return nil, err
	}
	if d.errors, err = newErrorPages(s, pages); err != nil {
		return nil, err
	}
	if d.landing, err = newLanding(s, pages, d.llms); err != nil {
		return nil, err
	}
	return d, nil
}

// AgentIndex returns the handler of GET /v1.
func (d *Docs) AgentIndex() route.Handler { return d.index.Serve }

// LLMs returns the handler of GET /llms.txt.
func (d *Docs) LLMs() route.Handler { return d.llms.Serve }

// APICatalog returns the handler of GET /.well-known/api-catalog.
func (d *Docs) APICatalog() route.Handler { return d.apiCatalog.Serve }

// PeopleDocs returns the handler of GET /docs/mcp: HTML unless Accept prefers
// Markdown.
func (d *Docs) PeopleDocs() route.Handler { return d.peopleDocs.Serve }

// AgentDocs returns the handler of GET /mcp/docs: Markdown unless Accept prefers
// HTML.
func (d *Docs) AgentDocs() route.Handler { return d.agentDocs.Serve }

// ErrorList returns the handler of GET /docs/errors.
func (d *Docs) ErrorList() route.Handler { return d.errors.list.Serve }

// Error returns the handler of GET /docs/errors/{code}. It answers 404 for a code
// that does not exist.
func (d *Docs) Error() route.Handler { return d.errors.serve }

// Landing returns the handler of GET /: a page for people, the site index for
// those who prefer Markdown.
func (d *Docs) Landing() route.Handler { return d.landing.Serve }

// Asset is a file that pages load.
type Asset struct {
	// Path is where pages expect it.
	Path string
	// Serve is its handler.
	Serve route.Handler
}

// Assets returns the files that pages load.
func (d *Docs) Assets() []Asset {
	var list []Asset
	for _, f := range []*static.File{d.assets.stylesheet, d.assets.script} {
		list = append(list, Asset{Path: f.Path(), Serve: f.Serve})
	}
	return list
}
