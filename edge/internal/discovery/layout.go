package discovery

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"net/http"

	"github.com/kith-crm/kith/edge/internal/httpapi"
	"github.com/kith-crm/kith/edge/internal/route"
)

//go:embed templates
var templateFiles embed.FS

const (
	typeHTML     = "text/html; charset=utf-8"
	typeMarkdown = "text/markdown; charset=utf-8"
	varyOnAccept = "Accept, Accept-Encoding"
	// varyOnSession is for the landing page, in whose place members get their own.
	varyOnSession = "Accept, Accept-Encoding, Cookie"
)

// The content security policies. Neither allows inline code or frames. Only the landing
// page runs a script, which calls no other server.
const (
	pagePolicy = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
	tryPolicy  = "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; connect-src 'self'; base-uri 'none'; " +
		"form-action 'self'; frame-ancestors 'none'"
)

// layout makes HTML pages of one look.
type layout struct {
	site     *site
	template *template.Template
	frame    frame
}

// frame is the part that all pages share.
type frame struct {
	Stylesheet, Script, Icon string
	Version                  string
	Navigation               []navigation
	SignIn                   string
}

type navigation struct{ Title, Path string }

// pageContent is the content of one page: a document, or the landing page.
type pageContent struct {
	frame

	Title    string
	Path     string // the page's own
	Document template.HTML
	Landing  *landing
	policy   string
	vary     string // varyOnAccept if empty
}

func newLayout(s *site, stylesheet, script asset) (*layout, error) {
	t, err := template.ParseFS(templateFiles, "templates/*.html")
	if err != nil {
		return nil, fmt.Errorf("parse page templates: %w", err)
	}
	f := frame{
		Stylesheet: stylesheet.address(), Script: script.address(), Version: s.Version,
		Icon: s.served(pathIcon), SignIn: s.served(pathSignIn),
	}
	for _, n := range []navigation{
		{"Overview", pathHome}, {"Tools", pathPeopleDocs}, {"Errors", pathErrors}, {"OpenAPI", pathOpenAPI}, {"llms.txt", pathLLMs},
	} {
		if s.serves(n.Path) {
			f.Navigation = append(f.Navigation, n)
		}
	}
	return &layout{site: s, template: t, frame: f}, nil
}

// forms renders a file of pageFiles as HTML and as Markdown. The links in the Markdown
// are absolute, because it is often read outside this server.
func (l *layout) forms(title, path, name string, data any) (html, markdown *httpapi.Document, err error) {
	text, err := l.site.page(name, data)
	if err != nil {
		return nil, nil, fmt.Errorf("write %s: %w", path, err)
	}
	content, err := renderHTML(l.site.resolve(text, ""))
	if err != nil {
		return nil, nil, fmt.Errorf("render %s: %w", path, err)
	}
	html, err = l.render(pageContent{Title: title, Path: path, Document: content, policy: pagePolicy})
	return html, httpapi.NewDocument(typeMarkdown, l.site.resolve(text, l.site.BaseURL), http.Header{"Vary": {varyOnAccept}}), err
}

// handler returns the handler of a file of pageFiles: HTML unless Accept prefers
// Markdown.
func (l *layout) handler(title, path, name string, data any) (route.Handler, error) {
	html, markdown, err := l.forms(title, path, name, data)
	return httpapi.Negotiate(l.site.Problems, html, markdown), err
}

func (l *layout) render(c pageContent) (*httpapi.Document, error) {
	c.frame = l.frame
	var b bytes.Buffer
	if err := l.template.ExecuteTemplate(&b, "layout", c); err != nil {
		return nil, fmt.Errorf("render page %s: %w", c.Path, err)
	}
	return httpapi.NewDocument(typeHTML, b.Bytes(), http.Header{
		"Vary":                       {cmp.Or(c.vary, varyOnAccept)},
		"Content-Security-Policy":    {c.policy},
		"X-Frame-Options":            {"DENY"},
		"Cross-Origin-Opener-Policy": {"same-origin"},
		"Permissions-Policy":         {"camera=(), geolocation=(), microphone=()"},
	}), nil
}
