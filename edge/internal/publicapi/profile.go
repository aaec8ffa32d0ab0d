package publicapi

import (
	"net/http"

	"github.com/kith-crm/kith/edge/internal/problem"
	"github.com/kith-crm/kith/edge/internal/upstream"
)

// ServeJSON serves a profile as JSON.
func (a *API) ServeJSON(w http.ResponseWriter, r *http.Request, username string) {
	a.serveProfile(w, r, username, asJSON)
}

// ServeMarkdown serves a profile as Markdown.
func (a *API) ServeMarkdown(w http.ResponseWriter, r *http.Request, username string) {
	a.serveProfile(w, r, username, asMarkdown)
}

func (a *API) serveProfile(w http.ResponseWriter, r *http.Request, username string, f format) {
	username, ok := normalUsername(username)
	if !ok {
		a.refuseMember(w, r)
		return
	}
	if lines := r.Header["Accept"]; len(lines) > 0 && refuses(lines, f.contentType()) {
		a.options.Problems.Write(w, r, problem.NotAcceptable, "This address is "+f.contentType()+" only.")
		return
	}
	rep, err := a.profiles.read(r.Context(), profileKey{username: username, format: f})
	switch {
	case err != nil:
		a.fail(w, r, upstream.AsError(err))
	case rep == nil:
		a.refuseMember(w, r)
	default:
		rep.serve(w, r)
	}
}

// refuseMember is the one answer for a member who does not exist, is private or
// is suspended.
func (a *API) refuseMember(w http.ResponseWriter, r *http.Request) {
	a.options.Problems.Write(w, r, problem.NotFound, "No member shows a public profile under this username.")
}
