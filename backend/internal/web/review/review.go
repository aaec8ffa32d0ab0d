// Package review serves the pages on which members look over what was done to their data:
// the activity of agents and of themselves, what agents read, undo, and the bin; and the page on
// which they decide what agents ask them first. Package history records changes and undoes them,
// package decision has the questions.
package review

import (
	"context"
	"embed"
	"net/http"
	"net/url"

	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/web/page"
	"github.com/kith-crm/kith/proto/catalog"
)

// Templates has the templates of the pages.
//
//go:embed templates
var Templates embed.FS

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

// Pages are the pages of what was done. All fields are required. They are safe for concurrent use.
type Pages struct {
	Catalog *catalog.Catalog
	// Kinds are the kinds of objects whose changes can be undone.
	Kinds history.Kinds
	// Wake is called when a job is due.
	Wake func()
	// FlushReads writes the counts of reads that are in memory.
	FlushReads func(context.Context) error
}

// Routes returns the routes of the pages.
func (p *Pages) Routes() []page.Route {
	with := page.With(func(m *page.Member) *request { return &request{m, p} })
	routes := []page.Route{
		{Pattern: "GET " + page.PathActivity, Handle: with((*request).showActivity)},
		{Pattern: "GET " + PathReads, Handle: with((*request).showReads)},
		{Pattern: "GET " + pathUndo, Handle: with((*request).showUndo)},
		{Pattern: "POST " + pathUndo, Handle: with((*request).undo)},
		{Pattern: "GET " + page.PathBin, Handle: with((*request).showBin)},
		{Pattern: "POST " + pathBinRestore, Handle: with((*request).restoreFromBin)},
		{Pattern: "GET " + pathBinDelete, Handle: with((*request).confirmBinDelete)},
		{Pattern: "GET " + page.PathDecide, Handle: with((*request).showDecide)},
		{Pattern: "POST " + pathApprove, Handle: with((*request).approve)},
		{Pattern: "POST " + pathRefuse, Handle: with((*request).refuse)},
		{Pattern: "POST " + pathBinDelete, Handle: with((*request).binDelete), Fresh: true},
	}
	for old, path := range map[string]string{ // the former addresses
		"/settings/activity":      page.PathActivity,
		"/settings/activity/undo": pathUndo,
		"/settings/bin":           page.PathBin,
		"/settings/bin/delete":    pathBinDelete,
	} {
		routes = append(routes, page.Route{Pattern: "GET " + old, Enter: redirectTo(path)})
	}
	return routes
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
