package discovery

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/kith-crm/kith/proto/catalog"

	"github.com/kith-crm/kith/edge/internal/httpapi"
	"github.com/kith-crm/kith/edge/internal/nearest"
	"github.com/kith-crm/kith/edge/internal/route"
)

// document is the template data of pageFiles.
type document struct {
	*site

	// Split is set if every guide and every tool has its own page. Each guide then begins with its
	// title, and links lead to pages instead of headings.
	Split bool
}

// guide is one guide of guides.md.
type guide struct{ Name, Title, Lead string }

// Guides returns the guides in reading order.
func (*site) Guides() []guide {
	return []guide{
		{"connect", "Connect an agent", "the addresses of the MCP server, how an agent gets access, and how to set up clients"},
		{"protocol", "Protocol", "the versions of MCP, how to offer a client fewer tools, and the answers and prices of calls"},
		{"recipes", "Recipes", "prompts for a morning brief, after a meeting, a clean-up and an import, resources and deep research"},
		{"scopes", "Scopes", "what a person allows an agent to do, and the tools that need it"},
		{"paths", "Paths", "all paths of the HTTP API, with their rate limits"},
	}
}

// toolGroup has the tools that one scope allows.
type toolGroup struct {
	Title, Summary string
	Tools          []toolDoc
}

// Groups returns the tools by their groups.
func (s *site) Groups() ([]toolGroup, error) {
	tools, err := s.Tools()
	if err != nil {
		return nil, err
	}
	var groups []toolGroup
	for _, scope := range s.Catalog.Groups() {
		words := catalog.ScopeWords(scope)
		g := toolGroup{Title: words.Title, Summary: words.Summary()}
		for _, t := range tools {
			if t.GroupID == scope {
				g.Tools = append(g.Tools, t)
			}
		}
		if len(g.Tools) > 0 {
			groups = append(groups, g)
		}
	}
	return groups, nil
}

// part is a part of the sidebar. Its path is "" if it has no page.
type part struct {
	Title, Path string
	Sections    []section
}

// section is a list of links. A section with a title is collapsed unless it lists the open page.
type section struct {
	Title string
	Links []link
}

// Has reports whether a link leads to the path.
func (s section) Has(path string) bool {
	return slices.ContainsFunc(s.Links, func(l link) bool { return l.Path == path })
}

// sidebar returns the links beside every page of the documentation.
func (s *site) sidebar() ([]part, error) {
	var guides, programs section
	for _, g := range s.Guides() {
		guides.Links = append(guides.Links, link{g.Title, pathDocs + "/" + g.Name})
	}
	guides.Links = append(guides.Links, link{"Everything on one page", pathPeopleDocs})
	programs.Links = s.servedLinks([]link{{"OpenAPI", pathOpenAPI}, {"llms.txt", pathLLMs}, {"Agent index", pathIndex}, {"Sandbox", route.SandboxPrefix}})
	documentation := []section{guides}
	if len(s.Manuals) > 0 {
		run := section{Title: "Run your own"}
		for _, m := range s.Manuals {
			run.Links = append(run.Links, link{m.Title(), pathDocs + "/" + m.Name})
		}
		documentation = append(documentation, run)
	}
	parts := []part{
		{"Documentation", pathDocs, documentation}, {"Tools", pathTools, nil}, {"Errors", pathErrors, nil}, {"For programs", "", []section{programs}},
	}
	groups, err := s.Groups()
	if err != nil {
		return nil, err
	}
	for _, g := range groups {
		list := section{Title: g.Title}
		for _, t := range g.Tools {
			list.Links = append(list.Links, link{t.Name, pathTools + "/" + t.Name})
		}
		parts[1].Sections = append(parts[1].Sections, list)
	}
	families, err := s.Families()
	if err != nil {
		return nil, err
	}
	for _, f := range families {
		list := section{Title: f.Title}
		for _, e := range f.Errors {
			list.Links = append(list.Links, link{e.Code, pathErrors + "/" + e.Code})
		}
		parts[2].Sections = append(parts[2].Sections, list)
	}
	return parts, nil
}

// docs serves the pages of the documentation that depend on the request.
type docs struct {
	*layout

	home                  route.Handler
	guides, tools, errors collection
	index                 index
}

// collection holds the pages below a path, by the last part of their paths.
type collection struct {
	path  string
	pages map[string]route.Handler
}

// addDocs adds the pages at /docs and below.
func addDocs(documents Documents, l *layout) error {
	d := &docs{
		layout: l, guides: collection{pathDocs, map[string]route.Handler{}},
		tools: collection{pathTools, map[string]route.Handler{}}, errors: collection{pathErrors, map[string]route.Handler{}},
		home: l.handler("Documentation", pathDocs, "docs.md", l.site),
	}
	tools, err := l.site.Tools()
	if err != nil {
		return err
	}
	for _, t := range tools {
		path := pathTools + "/" + t.Name
		d.tools.pages[t.Name] = l.handler(t.Name+": "+t.Title, path, "tool", t)
		d.index.addTool(t, path)
	}
	for _, g := range l.site.Guides() {
		path, name := pathDocs+"/"+g.Name, "guide-"+g.Name
		text, err := l.site.page(name, document{l.site, true})
		if err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
		d.guides.pages[g.Name] = l.handler(g.Title, path, name, document{l.site, true})
		d.index.addGuide(g, path, text)
	}
	for _, m := range l.site.Manuals {
		path, text := pathDocs+"/"+m.Name, l.site.manualText(m)
		d.guides.pages[m.Name] = l.textHandler(m.Title(), path, func() (string, error) { return text, nil })
		d.index.addGuide(guide{m.Name, m.Title(), m.Lead}, path, text)
	}
	families, err := l.site.Families()
	if err != nil {
		return err
	}
	for _, f := range families {
		for _, e := range f.Errors {
			path := pathErrors + "/" + e.Code
			d.errors.pages[e.Code] = l.handler(e.Code+": "+e.Title, path, "error", e)
			d.index.addError(e, path)
		}
	}
	documents[pathDocs] = d.search
	documents[pathTools] = l.handler("Tools", pathTools, "tool-list", l.site)
	documents[pathErrors] = l.handler("Errors", pathErrors, "errors.md", l.site)
	documents[pathGuide] = d.serve("page", d.guides, d.tools, d.errors)
	documents[pathTool] = d.serve("tool", d.tools)
	documents[pathError] = d.serve("error", d.errors)
	return nil
}

// search serves GET /docs: the overview, or the results of a search for q.
func (d *docs) search(w http.ResponseWriter, r *http.Request, argument string) {
	query := cutQuery(r.URL.Query().Get("q"))
	if query == "" {
		d.home(w, r, argument)
		return
	}
	found := d.index.search(query)
	if len(found.Entries) == 0 {
		found.Nearest = nearestPages(query, d.guides, d.tools, d.errors)
	}
	text, err := d.site.page("search", found)
	var html, markdown *httpapi.Document
	if err == nil {
		html, markdown, err = d.formsOf(pageContent{Title: "Search", Query: query}, text)
	}
	if err != nil {
		d.site.Problems.Write(w, r, httpapi.Internal, httpapi.InternalDetail)
		return
	}
	httpapi.Negotiate(d.site.Problems, html, markdown)(w, r, argument)
}

// serve returns the handler of a collection. It answers with the page of the name that is its
// argument, else with a 404 that suggests the most similar names of the collection and of others.
// The 404 is a page for browsers and a problem for other clients.
func (d *docs) serve(kind string, c collection, others ...collection) route.Handler {
	return func(w http.ResponseWriter, r *http.Request, name string) {
		if serve := c.pages[name]; serve != nil {
			serve(w, r, name)
			return
		}
		m := missing{Kind: kind, Name: name, Nearest: nearestPages(name, append(others, c)...)}
		w.Header().Set("Vary", varyOnAccept)
		var body []byte
		if httpapi.WantsPage(r.Header["Accept"]) {
			body = d.missingPage(m)
		}
		if body == nil {
			d.site.Problems.Write(w, r, httpapi.NotFound, m.Detail())
			return
		}
		h := w.Header()
		maps.Copy(h, pageHeader(varyOnAccept))
		delete(h, "Access-Control-Allow-Origin") // as on all error pages
		delete(h, "Access-Control-Expose-Headers")
		h.Set("Content-Type", typeHTML)
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(http.StatusNotFound)
		if r.Method != http.MethodHead {
			_, _ = w.Write(body) // the caller may be gone
		}
	}
}

// missingPage returns the page that says what does not exist, or nil if it cannot be made.
func (d *docs) missingPage(m missing) []byte {
	text, err := d.site.page("missing", m)
	if err != nil {
		return nil
	}
	html, _, err := d.formsOf(pageContent{Title: "Page not found", Query: m.Name, Error: true}, text)
	if err != nil {
		return nil
	}
	return html.Body()
}

// missing is a page that does not exist.
type missing struct {
	Kind, Name string
	Nearest    []link // titles are names
}

const (
	mostNearest  = 3
	maxNameShown = 40 // bytes; names of paths are ASCII
)

// Detail says in one sentence what does not exist, and which similar names do.
func (m missing) Detail() string {
	var names []string
	for _, n := range m.Nearest {
		names = append(names, n.Title)
	}
	return "There is no " + m.Kind + " " + strconv.Quote(m.Name[:min(len(m.Name), maxNameShown)]) + "; the nearest are " + strings.Join(names, ", ") + "."
}

// nearestPages returns the pages of the collections with the names most similar to the wanted one.
func nearestPages(wanted string, all ...collection) []link {
	paths := map[string]string{}
	for _, c := range all {
		for name := range c.pages {
			paths[name] = c.path + "/" + name
		}
	}
	var links []link
	for _, name := range nearest.Names(slices.Sorted(maps.Keys(paths)), wanted, mostNearest) {
		links = append(links, link{name, paths[name]})
	}
	return links
}
