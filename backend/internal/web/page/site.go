// Package page has what all pages for people share: the layout, sessions and cookies, forms and
// their tokens, headers, and errors.
//
// A browser request goes through these steps; the first that rejects it answers with
// a page:
//
//	headers   of every page: policy, no framing, no caching          (headers.go)
//	origin    403 for a POST from another site                       (request.go)
//	body      forms only, of limited size                            (request.go)
//	session   the cookie's login session, from the store             (session.go)
//	token     each POST carries the token of its browser's cookie    (cookie.go)
//	handler   of the package that brings the route
package page

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/rpc/arguments"
)

// The paths that pages of several folders lead to.
const (
	PathStart         = "/"
	PathToday         = "/today"
	PathSignIn        = "/sign-in"
	PathSignUp        = "/sign-up"
	PathOwner         = "/owner"
	PathForgot        = "/forgot"
	PathReset         = "/reset"
	PathVerify        = "/verify"
	PathUnsubscribe   = "/unsubscribe"
	PathNotMe         = "/not-me"
	PathObject        = "/not-me/object"
	PathPeople        = "/people"
	PathAdd           = "/people/new"
	PathBin           = "/people/bin"
	PathGroups        = "/groups"
	PathNetwork       = "/network"
	PathImport        = "/import"
	PathConnect       = "/connect"
	PathActivity      = "/activity"
	PathDecide        = "/decide"
	PathSettings      = "/settings"
	PathProfile       = "/settings/profile"
	PathAgents        = "/settings/agents"
	PathMCP           = "/settings/mcp" // the same page, at the address that the specification names
	PathTokens        = "/settings/mcp/tokens"
	PathDevices       = "/settings/devices"
	PathImports       = "/settings/imports"
	PathSearch        = "/settings/search"
	PathSources       = "/settings/sources"
	PathTime          = "/settings/time"
	PathNotifications = "/settings/notifications"
	PathSecurity      = "/settings/security"
	PathSeen          = "/settings/security/seen"
	PathAccount       = "/settings/account"
)

// Config is what every page needs.
type Config struct {
	// BaseURL is the public address of the service, without a slash at the end.
	BaseURL string
	Store   *db.DB
	// MailOn is set if emails can be sent; SignUpOpen if people can create an account
	// themselves.
	MailOn, SignUpOpen bool
	// SessionLifetime is how long a browser stays signed in.
	SessionLifetime time.Duration
	// SessionIdle is how long a browser stays signed in without being used.
	SessionIdle time.Duration
	// Used records that a session was used; nil does not.
	Used func(sessionID string, at time.Time)
	// ClientAddress returns the IP address of the client.
	ClientAddress func(r *http.Request) string
	// Confirm handles a request to a Fresh route from a session that is not: it returns true
	// if the form proves who the member is, by the fields of the page that asks for it or by
	// the route's own password field. Otherwise it answers with that page.
	Confirm func(v *Request, password string) (goOn bool, err error)
	// Record records a security event of the member; object is what it concerns, or empty.
	Record func(v *Request, kind account.EventKind, object string)
	// MustEnroll returns the address of the page on which the member of a session has to set
	// up a second factor first; empty if they need not.
	MustEnroll func(login *account.LoginSession) string
	Now        func() time.Time
	Logger     *slog.Logger
}

// Site renders pages and keeps the browsers' sessions. It is safe for concurrent use.
type Site struct {
	Config

	secure      bool
	crossOrigin *http.CrossOriginProtection
	pages       *Pages
	assets      assets
	checker     *arguments.Checker
}

// New returns a site with pages.
func New(c Config, pages *Pages) (s *Site, err error) {
	s = &Site{Config: c, secure: strings.HasPrefix(c.BaseURL, "https://"), crossOrigin: http.NewCrossOriginProtection(), pages: pages}
	if err := s.crossOrigin.AddTrustedOrigin(c.BaseURL); err != nil {
		return nil, fmt.Errorf("web: the base URL is no origin: %w", err)
	}
	if s.checker, err = arguments.New(); err != nil {
		return nil, err
	}
	s.assets, err = loadAssets()
	return s, err
}

// MountAssets registers the stylesheet, the icon and the scripts on a mux.
func (s *Site) MountAssets(mux *http.ServeMux) { s.assets.mount(mux) }
