package discovery

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/kith-crm/kith/edge/internal/discovery/markup"
	"github.com/kith-crm/kith/edge/internal/discovery/static"
	"github.com/kith-crm/kith/edge/internal/problem"
)

// errorPages are the list of errors and a page for each.
type errorPages struct {
	list     *static.Choice
	pages    map[string]*static.Choice
	problems *problem.Writer
}

// errorPage is one error code and what there is to say about it.
type errorPage struct {
	// Code is the last part of the page's path.
	Code string
	// Title says what it is in a few words.
	Title string
	// Status is the HTTP status that comes with it, in words.
	Status string
	// Meaning says when it happens, Action what to do. Both are markup.Prose.
	Meaning, Action string
	// Example is an answer with the code.
	Example string
}

func (e errorPage) path() string { return pathErrors + "/" + e.Code }

// family are the errors of one shape.
type family struct {
	ID, Title, Intro string
	Pages            []errorPage
}

// families returns every error that has a page, by its shape.
func (s *site) families() []family {
	families := []family{
		{
			ID: "http-api", Title: "HTTP API", Pages: problemPages(s.Problems),
			Intro: "The body is a problem of RFC 9457, `application/problem+json`: `type` is the page about the error, `code` is stable and " +
				"may be compared, `detail` is about this occurrence, `instance` is the id of the request, and `errors` names the fields at " +
				"fault. Items of a batch have the same bodies. MCP and OAuth have shapes of their own, below.",
		},
		{
			ID: "mcp", Title: "MCP", Pages: rpcPages(),
			Intro: "The body is a JSON-RPC error object. A tool that fails is none of these: its result has `isError: true` and a text that says " +
				"what went wrong, with status 200.",
		},
	}
	if s.oauth() {
		families = append(families, family{
			ID: "oauth", Title: "OAuth", Pages: oauthPages(),
			Intro: "The body is that of RFC 6749, section 5.2: `error` is the code, `error_description` is for people. On the way through the " +
				"browser the same two are parameters of the redirect; somebody who is not signed in is shown a page that names the code.",
		})
	}
	return families
}

func newErrorPages(s *site, p *pages) (*errorPages, error) {
	e := &errorPages{pages: map[string]*static.Choice{}, problems: s.Problems}
	families := s.families()
	for _, f := range families {
		for _, page := range f.Pages {
			if e.pages[page.Code] != nil {
				return nil, fmt.Errorf("build error pages: %s is there twice", page.Code)
			}
			choice, err := p.choice(page.Code+": "+page.Title, page.path(), f.document(page))
			if err != nil {
				return nil, err
			}
			e.pages[page.Code] = choice
		}
	}
	list, err := p.choice("Errors", pathErrors, errorList(families))
	e.list = list
	return e, err
}

// serve is the handler of GET /docs/errors/{code}.
func (e *errorPages) serve(w http.ResponseWriter, r *http.Request, code string) {
	page, ok := e.pages[code]
	if !ok {
		e.problems.Write(w, r, problem.NotFound, "There is no error with this code.")
		return
	}
	page.Serve(w, r, code)
}

func errorList(families []family) markup.Document {
	doc := markup.Document{
		markup.Heading(1, "", markup.Plain("Errors")),
		markup.Paragraph(markup.Prose("The shape of an error depends on who is asked. Every code has a page with what it means and what to do. " +
			"Every answer has an `X-Request-Id`; name it when you report a fault. An answer with `Retry-After` may be asked for again " +
			"after that many seconds; all others, only after a change.")),
	}
	for _, f := range families {
		doc = append(doc, markup.Heading(2, f.ID, markup.Plain(f.Title)), markup.Paragraph(markup.Prose(f.Intro)), f.table())
	}
	return doc
}

func (f family) table() markup.Block {
	var rows [][]markup.Line
	for _, e := range f.Pages {
		rows = append(rows, []markup.Line{
			markup.CodeLink(e.Code, e.path()), markup.Plain(e.Status), markup.Plain(e.Title), markup.Prose(e.Action),
		})
	}
	return markup.Table("Errors: "+f.Title, []string{"Code", "Status", "What it is", "What to do"}, rows...)
}

// document is the page about one error.
func (f family) document(e errorPage) markup.Document {
	doc := markup.Document{
		markup.Heading(1, "", markup.Join(markup.Code(e.Code), markup.Plain(": "+e.Title))),
		markup.List(
			markup.Join(markup.Plain("Where: "), markup.Link(f.Title, pathErrors+"#"+f.ID)),
			markup.Plain("Status: "+e.Status),
		),
		markup.Heading(2, "meaning", markup.Plain("What it means")),
		markup.Paragraph(markup.Prose(e.Meaning)),
		markup.Heading(2, "action", markup.Plain("What to do")),
		markup.Paragraph(markup.Prose(e.Action)),
	}
	if e.Example == "" {
		return doc
	}
	language := "http"
	if strings.HasPrefix(e.Example, "{") {
		language = "json"
	}
	return append(doc, markup.Heading(2, "example", markup.Plain("Example")), markup.Fence(language, e.Example))
}

// aboutRPCErrors is the part about errors of the document on MCP.
func (s *site) aboutRPCErrors() markup.Document {
	for _, f := range s.families() {
		if f.ID == "mcp" {
			return markup.Document{
				markup.Heading(2, "errors", markup.Plain("Errors")),
				markup.Paragraph(markup.Prose(f.Intro + " All errors: [`" + pathErrors + "`](" + pathErrors + ").")),
				f.table(),
			}
		}
	}
	return nil
}

// statusWords is a status as pages show it.
func statusWords(status int) string { return strconv.Itoa(status) + " " + http.StatusText(status) }
