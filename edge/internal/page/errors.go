package page

import (
	"maps"
	"net/http"
	"slices"

	"github.com/kith-crm/kith/edge/internal/httpapi"
	"github.com/kith-crm/kith/edge/internal/requestlog"
	"github.com/kith-crm/kith/edge/internal/route"
)

// problemContent is the content of an error's page.
type problemContent struct {
	Title, Text, RequestID string
	// Search is the path to which the search form is sent; empty for no form.
	Search string
	// Settings is set if the page links to the settings, and not to the start page.
	Settings bool
}

// WriteError implements httpapi.ErrorWriter: it answers with a page that says what is wrong and
// links to another page. It shows the request's id, and nothing else of the request.
func (p *Pages) WriteError(w http.ResponseWriter, r *http.Request, e httpapi.Error) {
	h := w.Header()
	if e.Code == httpapi.Unavailable && h.Get("Retry-After") == "" {
		h.Set("Retry-After", httpapi.RetryAfter)
	}
	content := problemContent{
		Title: e.Code.Title(), Text: sentence(e, h.Get("Retry-After")), RequestID: requestlog.RequestID(r.Context()),
		Settings: route.NeedsMember(r.URL.Path),
	}
	_, err := r.Cookie(p.session)
	signedIn := err == nil
	if slices.Contains([]httpapi.Code{httpapi.NotFound, httpapi.MethodNotAllowed, httpapi.Gone}, e.Code) {
		content.Search = "/members"
		if signedIn {
			content.Search = "/people"
		}
	}
	body, err := p.Render(problem, Page{Title: content.Title, SignedIn: signedIn, Content: content})
	status := e.Code.Status()
	if err != nil { // the templates are compiled in, and tests render each of them
		status = http.StatusInternalServerError
	}
	p.Write(w, r, status, body)
}

// Write answers with a rendered page that no cache may keep and no other site may read.
func (p *Pages) Write(w http.ResponseWriter, r *http.Request, status int, body []byte) {
	h := w.Header()
	maps.Copy(h, Header(false))
	h.Set("Content-Type", Type)
	h.Set("Cache-Control", "no-store")
	delete(h, "Access-Control-Allow-Origin")
	delete(h, "Access-Control-Expose-Headers")
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // the browser may have disconnected
	}
}

// sentence returns what is wrong and what to do.
func sentence(e httpapi.Error, wait string) string {
	switch {
	case e.Detail == httpapi.NoPathDetail:
		return "This page does not exist. It may have moved, or the link to it is broken."
	case e.Code == httpapi.MethodNotAllowed:
		return "This address cannot be opened in a browser. It may be for a form, or for a program such as an agent."
	case e.Code == httpapi.RateLimited && wait != "":
		return "Wait " + wait + " seconds, and try again."
	case e.Code == httpapi.Internal:
		return "It was logged under the id below. Try again in a moment."
	}
	return e.Detail
}

// Or returns an error writer that writes a page if Accept prefers HTML, and otherwise uses others.
func (p *Pages) Or(others httpapi.ErrorWriter) httpapi.ErrorWriter { return either{p, others} }

type either struct{ pages, others httpapi.ErrorWriter }

// WriteError implements httpapi.ErrorWriter.
func (o either) WriteError(w http.ResponseWriter, r *http.Request, e httpapi.Error) {
	if httpapi.WantsPage(r.Header["Accept"]) {
		o.pages.WriteError(w, r, e)
		return
	}
	o.others.WriteError(w, r, e)
}
