package discovery

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"sync"

	"github.com/kith-crm/kith/edge/internal/httpapi"
	"github.com/kith-crm/kith/edge/internal/route"
)

//go:embed templates
var templateFiles embed.FS

const (
	typeHTML     = "text/html; charset=utf-8"
	typeMarkdown = "text/markdown; charset=utf-8"
	typeScript   = "text/javascript; charset=utf-8"
	varyOnAccept = "Accept, Accept-Encoding"
	// varyOnSession is the Vary header of the landing page: members who are signed in get another page.
	varyOnSession = "Accept, Accept-Encoding, Cookie"
)

// pagePolicy is the content security policy of every page. It allows neither inline code nor frames,
// and scripts call no other server.
const pagePolicy = "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; connect-src 'self'; base-uri 'none'; " +
	"form-action 'self'; frame-ancestors 'none'"

// layout renders HTML pages with the shared template.
type layout struct {
	site     *site
	template *template.Template
	frame    frame
}

// frame is the part that all pages share.
type frame struct {
	Stylesheet, Icon, Version, SignIn string
	// TryScript is the script of the landing page, SearchScript that of the documentation.
	TryScript, SearchScript string
	// Navigation is above the landing page, Sidebar beside the documentation.
	Navigation []link
	Sidebar    []part
}

type link struct{ Title, Path string }

// pageContent is the content of one page: a document, or the landing page.
type pageContent struct {
	frame

	Title    string
	Path     string // the page's own, "" if it has none
	Document template.HTML
	Landing  *landing
	Query    string // the value of the search field
	Error    bool   // error pages have no script
	vary     string // empty means varyOnAccept
}

func newLayout(s *site, assets map[string]asset) (*layout, error) {
	t, err := template.ParseFS(templateFiles, "templates/*.html")
	if err != nil {
		return nil, fmt.Errorf("parse page templates: %w", err)
	}
	f := frame{
		Stylesheet: assets[pathStylesheet].address(), TryScript: assets[pathTry].address(), SearchScript: assets[pathSearch].address(), Version: s.Version,
		Icon: s.served(pathIcon), SignIn: s.served(pathSignIn),
		Navigation: s.servedLinks([]link{
			{"Overview", pathHome}, {"Documentation", pathDocs}, {"Tools", pathTools}, {"Errors", pathErrors}, {"OpenAPI", pathOpenAPI}, {"llms.txt", pathLLMs},
		}),
	}
	f.Sidebar, err = s.sidebar()
	return &layout{site: s, template: t, frame: f}, err
}

// servedLinks returns the links to paths that a route serves.
func (s *site) servedLinks(links []link) []link {
	return slices.DeleteFunc(links, func(l link) bool { return !s.serves(l.Path) })
}

// forms renders a text as HTML and as Markdown.
func (l *layout) forms(title, path string, write func() (string, error)) (html, markdown *httpapi.Document, err error) {
	text, err := write()
	if err != nil {
		return nil, nil, fmt.Errorf("write %s: %w", path, err)
	}
	return l.formsOf(pageContent{Title: title, Path: path}, text)
}

// formsOf returns Markdown as the HTML of a page and as Markdown. The links in the Markdown are
// absolute, because it is often read outside this server.
func (l *layout) formsOf(c pageContent, text string) (html, markdown *httpapi.Document, err error) {
	if c.Document, err = renderHTML(l.site.resolve(text, "")); err != nil {
		return nil, nil, fmt.Errorf("render page %s: %w", c.Path, err)
	}
	html, err = l.render(c)
	return html, httpapi.NewDocument(typeMarkdown, l.site.resolve(text, l.site.BaseURL), http.Header{"Vary": {varyOnAccept}}), err
}

// handler returns the handler of a file or a template of pageFiles.
func (l *layout) handler(title, path, name string, data any) route.Handler {
	return l.textHandler(title, path, func() (string, error) { return l.site.page(name, data) })
}

// textHandler returns the handler of a text: HTML unless Accept prefers Markdown. It renders it when it is first asked for,
// because there are many pages and most are rarely read.
func (l *layout) textHandler(title, path string, write func() (string, error)) route.Handler {
	rendered := sync.OnceValues(func() (route.Handler, error) {
		html, markdown, err := l.forms(title, path, write)
		if err != nil {
			return nil, err
		}
		return httpapi.Negotiate(l.site.Problems, html, markdown), nil
	})
	return func(w http.ResponseWriter, r *http.Request, argument string) {
		serve, err := rendered()
		if err != nil {
			l.site.Problems.Write(w, r, httpapi.Internal, httpapi.InternalDetail)
			return
		}
		serve(w, r, argument)
	}
}

func (l *layout) render(c pageContent) (*httpapi.Document, error) {
	c.frame = l.frame
	var b bytes.Buffer
	if err := l.template.ExecuteTemplate(&b, "layout", c); err != nil {
		return nil, fmt.Errorf("render page %s: %w", c.Path, err)
	}
	return httpapi.NewDocument(typeHTML, b.Bytes(), pageHeader(cmp.Or(c.vary, varyOnAccept))), nil
}

// pageHeader returns the headers of a page.
func pageHeader(vary string) http.Header {
	return http.Header{
		"Vary":                       {vary},
		"Content-Security-Policy":    {pagePolicy},
		"X-Frame-Options":            {"DENY"},
		"Cross-Origin-Opener-Policy": {"same-origin"},
		"Permissions-Policy":         {"camera=(), geolocation=(), microphone=()"},
	}
}
