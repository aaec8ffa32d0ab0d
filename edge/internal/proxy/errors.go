package proxy

import (
	"html/template"
	"net/http"

	"github.com/go-json-experiment/json"

	"github.com/kith-crm/kith/edge/internal/httpapi"
	"github.com/kith-crm/kith/edge/internal/requestlog"
	"github.com/kith-crm/kith/edge/internal/route"
)

// OAuthErrors writes errors as RFC 6749, section 5.2, has them.
type OAuthErrors struct{}

type oauthError struct {
	Error       string `json:"error"`
	Description string `json:"error_description"`
}

// WriteError implements httpapi.ErrorWriter.
func (OAuthErrors) WriteError(w http.ResponseWriter, r *http.Request, e httpapi.Error) {
	status := e.Code.Status()
	answer := oauthError{Error: "invalid_request", Description: e.Detail}
	switch {
	case status >= http.StatusInternalServerError:
		answer.Error = "temporarily_unavailable"
	case e.Code == httpapi.MalformedRequest && r.URL.Path == pathRegister && inBody(e.Fields):
		answer.Error = "invalid_client_metadata" // RFC 7591, section 3.2.2
	}
	body, err := json.Marshal(answer)
	if err != nil {
		status = http.StatusInternalServerError
	}
	httpapi.WriteJSON(w, r, status, body)
}

// inBody reports whether the faults are of a JSON body, and not of a query string.
func inBody(fields []httpapi.Field) bool {
	return len(fields) > 0 && fields[0].Field != route.FieldQuery
}

// PageErrors writes errors as pages for people.
type PageErrors struct{ page *template.Template }

// NewPageErrors returns the error writer of pages.
func NewPageErrors() (PageErrors, error) {
	page, err := template.New("problem").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Title}} · Kith</title><link rel="stylesheet" href="/assets/kith.css"></head>
<body class="narrow"><main><h1>{{.Title}}</h1><p>{{.Detail}}</p><p><a href="{{.Next}}">{{if eq .Next "/"}}Go to the start page{{else}}Go to your settings{{end}}</a></p>
<p>Request {{.RequestID}}</p></main></body></html>
`)
	return PageErrors{page: page}, err
}

// WriteError implements httpapi.ErrorWriter.
func (p PageErrors) WriteError(w http.ResponseWriter, r *http.Request, e httpapi.Error) {
	detail := e.Detail
	if wait := w.Header().Get("Retry-After"); e.Code == httpapi.RateLimited && wait != "" {
		detail = "Wait " + wait + " seconds, and try again."
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Security-Policy", errorPolicy)
	w.WriteHeader(e.Code.Status())
	if r.Method != http.MethodHead {
		_ = p.page.Execute(w, struct{ Title, Detail, Next, RequestID string }{e.Code.Title(), detail, next(r), requestlog.RequestID(r.Context())})
	}
}

// errorPolicy lets a page have the stylesheet of the pages, and nothing else.
const errorPolicy = "default-src 'none'; style-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// next is where a person goes on from a page that could not be served.
func next(r *http.Request) string {
	if route.NeedsMember(r.URL.Path) {
		return "/settings"
	}
	return "/"
}
