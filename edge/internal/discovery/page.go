package discovery

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"

	"github.com/kith-crm/kith/edge/internal/discovery/markup"
	"github.com/kith-crm/kith/edge/internal/discovery/static"
)

//go:embed templates
var templateFiles embed.FS

const (
	typeHTML     = "text/html; charset=utf-8"
	typeMarkdown = "text/markdown; charset=utf-8"
	varyOnAccept = "Accept, Accept-Encoding"
)

// What pages may load and do. Neither allows inline code or frames; the landing
// page alone may run its script, which calls this server and no other.
const (
	pagePolicy = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
	tryPolicy  = "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; connect-src 'self'; base-uri 'none'; " +
		"form-action 'self'; frame-ancestors 'none'"
)

// pages makes HTML pages of one look.
type pages struct {
	site     *site
	template *template.Template
	frame    frame
}

// frame is what every page has around its content.
type frame struct {
	Stylesheet, Script, Icon string
	Version                  string
	Navigation               []navigation
	SignIn                   string
}

type navigation struct{ Title, Path string }

// pageContent is what the layout is filled with.
type pageContent struct {
	frame

	Title string
	// Path is the page's own.
	Path string
	// Markdown says that the page is to be had as Markdown too.
	Markdown bool
	Document markup.Document
	// Landing is the content of the landing page; nil on others.
	Landing *landing
	Policy  string
}

func newPages(s *site, a assets) (*pages, error) {
	t, err := template.ParseFS(templateFiles, "templates/*.html")
	if err != nil {
		return nil, fmt.Errorf("parse page templates: %w", err)
	}
	if t, err = markup.Define(t); err != nil {
		return nil, err
	}
	f := frame{Stylesheet: a.stylesheet.Address(), Script: a.script.Address(), Version: s.Version, Icon: s.served(pathIcon), SignIn: s.served(pathSignIn)}
	for _, n := range []navigation{
		{"Overview", pathHome}, {"Tools", pathPeopleDocs}, {"Errors", pathErrors}, {"OpenAPI", pathOpenAPI}, {"llms.txt", pathLLMs},
	} {
		if s.serves(n.Path) {
			f.Navigation = append(f.Navigation, n)
		}
	}
	return &pages{site: s, template: t, frame: f}, nil
}

// page makes a document's HTML representation.
func (p *pages) page(title, path string, doc markup.Document) (*static.Document, error) {
	return p.render(pageContent{
		Title: title, Path: path, Markdown: true, Document: doc.Resolve(p.site.relative), Policy: pagePolicy,
	})
}

// choice makes a document's representations, HTML for those without a preference.
func (p *pages) choice(title, path string, doc markup.Document) (*static.Choice, error) {
	page, err := p.page(title, path, doc)
	if err != nil {
		return nil, err
	}
	return static.NewChoice(p.site.Problems, page, markdownOf(p.site, doc)), nil
}

func (p *pages) render(c pageContent) (*static.Document, error) {
	c.frame = p.frame
	var b bytes.Buffer
	if err := p.template.ExecuteTemplate(&b, "layout", c); err != nil {
		return nil, fmt.Errorf("render page %s: %w", c.Path, err)
	}
	return static.New(typeHTML, b.Bytes(), http.Header{
		"Vary":                       {varyOnAccept},
		"Content-Security-Policy":    {c.Policy},
		"X-Frame-Options":            {"DENY"},
		"Cross-Origin-Opener-Policy": {"same-origin"},
		"Permissions-Policy":         {"camera=(), geolocation=(), microphone=()"},
	}), nil
}

// markdownOf makes a document's Markdown representation. Its links are whole:
// it is often read where it does not come from.
func markdownOf(s *site, doc markup.Document) *static.Document {
	return static.New(typeMarkdown, doc.Resolve(s.absolute).Markdown(), http.Header{"Vary": {varyOnAccept}})
}
