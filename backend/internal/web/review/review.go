// Package review serves the pages on which members look over what was done to their data:
// the activity of agents and of themselves, what agents read, undo, and the bin; and the page on
// which they decide what agents ask them first. Package history records changes and undoes them,
// package decision has the questions.
package review

import (
	"embed"
	"io/fs"
	"net/http"
	"net/url"

	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/web/page"
	"github.com/kith-crm/kith/proto/catalog"
)

//go:embed templates
var templates embed.FS

// Templates returns the templates of the pages, for page.New.
func Templates() (fs.FS, error) { return fs.Sub(templates, "templates") }

// PathReads is the path of the page of what agents read.
const PathReads = page.PathActivity + "/reads"

// The paths of the other pages.
const (
	pathUndo       = page.PathActivity + "/undo"
	pathBinRestore = page.PathBin + "/restore"
	pathBinDelete  = page.PathBin + "/delete"
	pathApprove    = page.PathDecide + "/approve"
	pathRefuse     = page.PathDecide + "/refuse"
)

// Config is what the pages need. All is required.
type Config struct {
	Catalog *catalog.Catalog
	// Kinds are the kinds of objects whose changes can be undone.
	Kinds history.Kinds
	// Wake is called when a job is due.
	Wake func()
}

// Pages are the pages of what was done. They are safe for concurrent use.
type Pages struct{ Config }

// New returns the pages.
func New(c Config) *Pages { return &Pages{c} }

// Routes returns the routes of the pages.
func (p *Pages) Routes() []page.Route {
	routes := []page.Route{
		{Pattern: "GET " + page.PathActivity, Enter: page.MembersOnly, Handle: p.with((*request).showActivity)},
		{Pattern: "GET " + PathReads, Enter: page.MembersOnly, Handle: p.with((*request).showReads)},
		{Pattern: "GET " + pathUndo, Enter: page.MembersOnly, Handle: p.with((*request).showUndo)},
		{Pattern: "POST " + pathUndo, Enter: page.MembersOnly, Handle: p.with((*request).undo)},
		{Pattern: "GET " + page.PathBin, Enter: page.MembersOnly, Handle: p.with((*request).showBin)},
		{Pattern: "POST " + pathBinRestore, Enter: page.MembersOnly, Handle: p.with((*request).restoreFromBin)},
		{Pattern: "GET " + pathBinDelete, Enter: page.MembersOnly, Handle: p.with((*request).confirmBinDelete)},
		{Pattern: "GET " + page.PathDecide, Enter: page.MembersOnly, Handle: p.with((*request).showDecide)},
		{Pattern: "POST " + pathApprove, Enter: page.MembersOnly, Handle: p.with((*request).approve)},
		{Pattern: "POST " + pathRefuse, Enter: page.MembersOnly, Handle: p.with((*request).refuse)},
		{Pattern: "POST " + pathBinDelete, Enter: page.MembersOnly, Handle: p.with((*request).binDelete), Fresh: true},
	}
	for old, path := range moved() {
		routes = append(routes, page.Route{Pattern: "GET " + old, Enter: redirectTo(path)})
	}
	return routes
}

// moved returns the former addresses of pages, with those that they redirect to.
func moved() map[string]string {
	return map[string]string{
		"/settings/activity":      page.PathActivity,
		"/settings/activity/undo": pathUndo,
		"/settings/bin":           page.PathBin,
		"/settings/bin/delete":    pathBinDelete,
	}
}

// redirectTo returns an entrance that redirects everybody to a path, with the parameters of
// the address.
func redirectTo(path string) page.Entrance {
	return func(v *page.Request) (bool, error) {
		to := url.URL{Path: path, RawQuery: v.R.URL.RawQuery}
		http.Redirect(v.W, v.R, to.String(), http.StatusPermanentRedirect)
		return false, nil
	}
}

// request is one request of a member.
type request struct {
	*page.Member
	*Pages
}

func (p *Pages) with(handle func(*request) error) page.Handler {
	return page.ForMember(func(m *page.Member) error { return handle(&request{m, p}) })
}
