package proxy

import (
	"html/template"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/kith-crm/kith/edge/internal/exchange"
	"github.com/kith-crm/kith/edge/internal/problem"
	"github.com/kith-crm/kith/edge/internal/route"
)

// OAuthRefuser writes errors as RFC 6749, section 5.2, has them.
type OAuthRefuser struct{}

type oauthError struct {
	Error       string `json:"error"`
	Description string `json:"error_description"`
}

// Refuse implements route.Refuser.
func (OAuthRefuser) Refuse(w http.ResponseWriter, r *http.Request, code problem.Code, detail string, fields ...problem.Field) {
	status := code.Status()
	answer := oauthError{Error: "invalid_request", Description: detail}
	switch {
	case status >= http.StatusInternalServerError:
		answer.Error = "temporarily_unavailable"
	case code == problem.MalformedRequest && r.URL.Path == route.PathRegister && inBody(fields):
		answer.Error = "invalid_client_metadata" // RFC 7591, section 3.2.2
	}
	body, err := json.Marshal(answer)
	if err != nil {
		status = http.StatusInternalServerError
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // the caller may be gone
	}
}

// inBody reports whether the faults are of a JSON body, and not of a query string.
func inBody(fields []problem.Field) bool {
	return len(fields) > 0 && fields[0].Field != route.FieldQuery
}

// PageRefuser writes errors as pages for people.
type PageRefuser struct{ page *template.Template }

// NewPageRefuser returns a PageRefuser.
func NewPageRefuser() (PageRefuser, error) {
	page, err := template.New("problem").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Title}} · Kith</title><link rel="stylesheet" href="/assets/kith.css"></head>
<body class="narrow"><main><h1>{{.Title}}</h1><p>{{.Detail}}</p><p><a href="{{.Next}}">{{if eq .Next "/"}}Go to the start page{{else}}Go to your settings{{end}}</a></p>
<p>Request {{.RequestID}}</p></main></body></html>
`)
	return PageRefuser{page: page}, err
}

// Refuse implements route.Refuser.
func (p PageRefuser) Refuse(w http.ResponseWriter, r *http.Request, code problem.Code, detail string, _ ...problem.Field) {
	if wait := w.Header().Get("Retry-After"); code == problem.RateLimited && wait != "" {
		detail = "Wait " + wait + " seconds, and try again."
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Security-Policy", refusalPolicy)
	w.WriteHeader(code.Status())
	if r.Method != http.MethodHead {
		_ = p.page.Execute(w, struct{ Title, Detail, Next, RequestID string }{code.Title(), detail, next(r), exchange.RequestID(r.Context())})
	}
}

// refusalPolicy lets a page have the stylesheet of the pages, and nothing else.
const refusalPolicy = "default-src 'none'; style-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// next is where a person goes on from a page that could not be served.
func next(r *http.Request) string {
	if strings.HasPrefix(r.URL.Path, "/settings/") {
		return "/settings"
	}
	return "/"
}
