package web

import (
	"context"
	"embed"
	"net/http"
	"runtime"
	"slices"
	"sync"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/account/passkey"
	"github.com/kith-crm/kith/backend/internal/account/password"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/demo"
	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/web/calendars"
	"github.com/kith-crm/kith/backend/internal/web/connect"
	"github.com/kith-crm/kith/backend/internal/web/contacts"
	"github.com/kith-crm/kith/backend/internal/web/grouping"
	"github.com/kith-crm/kith/backend/internal/web/importing"
	"github.com/kith-crm/kith/backend/internal/web/network"
	"github.com/kith-crm/kith/backend/internal/web/page"
	"github.com/kith-crm/kith/backend/internal/web/review"
	"github.com/kith-crm/kith/backend/internal/web/today"
)

// The paths of the pages that only this package links to.
const (
	pathProvider         = "/sign-in/provider"
	pathProviderCallback = "/sign-in/provider/callback"
	pathProviderLink     = "/sign-in/provider/link"
	pathSignOut          = "/sign-out"
	pathOffline          = "/offline"
)

//go:embed templates
var templates embed.FS

// Web serves the pages. It is safe for concurrent use.
type Web struct {
	Config

	site *page.Site
	// areas are the routes of the areas of the site that have their own package.
	areas []page.Route
	// members are more such routes, which the demo does not have.
	members []page.Route
	review  *review.Pages
	emails  *emails
	events  *account.EventRecorder
	// passkeys is nil if the site has none.
	passkeys *passkey.Party
	// hashing holds a slot for each password that may be hashed at the same time: each
	// needs 19 MiB and a processor.
	hashing chan struct{}
	// verifyHash is password.Verify; tests count its calls.
	verifyHash func(hash, given string) bool
	// dummyHash is verified when there is no hash, so that the response takes equally long.
	dummyHash string
}

// pages are those of all areas. A process parses them once, since they are the same for every site.
var pages = sync.OnceValues(func() (*page.Pages, error) { //nolint:gochecknoglobals // what the binary has
	return page.ParsePages(templates, today.Templates, contacts.Templates, grouping.Templates, network.Templates, review.Templates, connect.Templates, importing.Templates, calendars.Templates)
})

// New builds the pages.
func New(c Config) (*Web, error) {
	c, err := c.resolved()
	if err != nil {
		return nil, err
	}
	web := &Web{Config: c, verifyHash: password.Verify}
	if web.passkeys, err = passkey.New(c.BaseURL); err != nil {
		return nil, err
	}
	web.events = account.NewEventRecorder(c.Store, c.Logger, web.tell)
	web.review = &review.Pages{Catalog: c.Catalog, Kinds: c.Kinds, Wake: func() { c.Handlers.Imports.Jobs.Wake() }, FlushReads: c.FlushReads}
	web.areas = slices.Concat(
		today.Routes(c.Handlers), contacts.Routes(c.Handlers), grouping.Routes(c.Handlers),
		network.Routes(c.Handlers), web.review.Routes(), connect.Routes(c.Handlers, c.SandboxOn),
	)
	if web.members, err = importing.Routes(c.Handlers); err != nil {
		return nil, err
	}
	web.members = append(web.members, calendars.Routes(c.Sources, func() { c.Handlers.Imports.Jobs.Wake() })...)
	parsed, err := pages()
	if err != nil {
		return nil, err
	}
	web.site, err = page.New(page.Config{
		BaseURL: c.BaseURL, Store: c.Store, MailOn: c.Mailer != nil, SignUpOpen: c.SignUpOpen, SessionLifetime: c.SessionLifetime,
		SessionIdle: c.SessionIdle, Used: c.Used, ClientAddress: c.ClientAddress, Now: c.Now, Logger: c.Logger, MustEnroll: web.mustEnroll,
		Confirm: func(v *page.Request, password string) (bool, error) {
			return (&request{Web: web, Request: v}).confirm(password)
		},
		Record: func(v *page.Request, kind account.EventKind, object string) {
			(&request{Web: web, Request: v}).record(kind, v.Owner, object)
		},
	}, parsed)
	if err != nil {
		return nil, err
	}
	if web.emails, err = parseEmails(c.BaseURL); err != nil {
		return nil, err
	}
	if web.dummyHash, err = c.PasswordCost.Unmatched(); err != nil {
		return nil, err
	}
	web.hashing = make(chan struct{}, max(2, runtime.GOMAXPROCS(0)))
	return web, nil
}

// request is one browser request while it is handled.
type request struct {
	*Web
	*page.Request

	// cheaperHash is the hash that raiseCost replaced in this request; empty if it did not.
	cheaperHash string
}

// data returns the data of the member.
func (v *request) data() *db.Tenant { return v.Data(v.Login.MemberID) }

// routes returns all routes except those of other packages and the assets.
func (web *Web) routes() []page.Route {
	with := func(handle func(*request) error) page.Handler {
		return func(v *page.Request) error { return handle(&request{Web: web, Request: v}) }
	}
	routes := []page.Route{
		{Pattern: "GET " + page.PathSignIn, Enter: page.Anyone, Handle: with((*request).showSignIn)},
		{Pattern: "POST " + page.PathSignIn, Enter: page.Anyone, Handle: with((*request).signIn)},
		{Pattern: "GET " + pathTwoStep, Enter: page.Anyone, Handle: with((*request).showTwoStep)},
		{Pattern: "POST " + pathTwoStep, Enter: page.Anyone, Handle: with((*request).twoStep)},
		{Pattern: "POST " + pathTwoStepOptions, Enter: page.Anyone, Handle: with((*request).twoStepOptions)},
		{Pattern: "POST " + pathPasskeySignIn, Enter: page.Anyone, Handle: with((*request).signInByPasskey)},
		{Pattern: "POST " + pathPasskeyOptions, Enter: page.Anyone, Handle: with((*request).passkeyOptions)},
		{Pattern: "GET " + pathConfirm, Enter: again, Handle: with((*request).showConfirm)},
		{Pattern: "POST " + pathConfirm, Enter: again, Handle: with((*request).confirmAgain)},
		{Pattern: "POST " + pathConfirmOptions, Enter: again, Handle: with((*request).confirmOptions)},
		{Pattern: "POST " + pathProvider, Enter: page.Anyone, Handle: with((*request).goToProvider)},
		{Pattern: "GET " + pathProviderCallback, Enter: page.Anyone, Handle: with((*request).comeFromProvider)},
		{Pattern: "GET " + pathProviderLink, Enter: page.Anyone, Handle: with((*request).showProviderLink)},
		{Pattern: "POST " + pathProviderLink, Enter: page.Anyone, Handle: with((*request).linkProvider)},
		{Pattern: "POST " + pathSignOut, Handle: with((*request).signOut)},
		{Pattern: "GET " + page.PathSignUp, Enter: page.Anyone, Handle: with((*request).showSignUp)},
		{Pattern: "POST " + page.PathSignUp, Enter: page.Anyone, Handle: with((*request).signUp)},
		{Pattern: "GET " + page.PathOwner, Enter: page.Anyone, Handle: with((*request).showOwner)},
		{Pattern: "POST " + page.PathOwner, Enter: page.Anyone, Handle: with((*request).createOwner)},
		{Pattern: "GET " + page.PathForgot, Enter: page.Anyone, Handle: with((*request).showForgot)},
		{Pattern: "POST " + page.PathForgot, Enter: page.Anyone, Handle: with((*request).forgot)},
		{Pattern: "GET " + page.PathReset, Enter: page.Anyone, Handle: with((*request).showReset)},
		{Pattern: "POST " + page.PathReset, Enter: page.Anyone, Handle: with((*request).reset)},
		{Pattern: "GET " + page.PathVerify, Enter: page.Anyone, Handle: with((*request).showVerify)},
		{Pattern: "POST " + page.PathVerify, Enter: page.Anyone, Handle: with((*request).verify)},
		{Pattern: "GET " + pathStyleguide, Handle: with((*request).showStyleguide)},
		{Pattern: "GET " + page.PathSettings, Handle: with((*request).showSettings)},
		{Pattern: "GET " + page.PathProfile, Handle: with((*request).showProfile)},
		{Pattern: "POST " + page.PathProfile, Handle: with((*request).saveProfile)},
		{Pattern: "GET " + page.PathMCP, Handle: with((*request).showMCP)},
		{Pattern: "GET " + page.PathAgents, Handle: with((*request).showMCP)},
		{Pattern: "POST " + page.PathAgents + "/narrow", Handle: with((*request).narrowAgent)},
		{Pattern: "POST " + page.PathAgents + "/widen", Handle: with((*request).widenAgent), Fresh: true},
		{Pattern: "POST " + page.PathAgents + "/ask", Handle: with((*request).setAsks)},
		{Pattern: "POST " + page.PathAgents + "/pause", Handle: with(onAgent(oauth.PauseAgent, account.AgentPaused, page.PathAgents, "agent-paused"))},
		{Pattern: "POST " + page.PathAgents + "/resume", Handle: with(onAgent(oauth.ResumeAgent, account.AgentResumed, page.PathAgents, "agent-resumed"))},
		{Pattern: "GET " + page.PathTokens, Handle: with((*request).showTokens)},
		{Pattern: "POST " + page.PathTokens, Handle: with((*request).createToken), Fresh: true},
		{Pattern: "POST " + page.PathTokens + "/revoke", Handle: with((*request).revokeToken)},
		{Pattern: "POST " + page.PathMCP + "/agents/revoke", Handle: with(onAgent(oauth.RevokeAgent, account.AccessRevoked, page.PathMCP, "agent-revoked"))},
		{Pattern: "GET " + page.PathSearch, Handle: with((*request).showSearch)},
		{Pattern: "POST " + page.PathSearch, Handle: with((*request).saveSearch)},
		{Pattern: "GET " + page.PathTime, Handle: with((*request).showTime)},
		{Pattern: "POST " + page.PathTime, Handle: with((*request).saveTime)},
		{Pattern: "GET " + page.PathSecurity, Handle: with((*request).showSecurity)},
		{Pattern: "GET " + pathFactors, Handle: with((*request).showFactors)},
		{Pattern: "POST " + pathFactors, Handle: with((*request).addTOTP), Fresh: true},
		{Pattern: "POST " + pathFactors + "/codes", Handle: with((*request).newRecoveryCodes), Fresh: true},
		{Pattern: "POST " + pathFactors + "/off", Handle: with((*request).removeTOTP), Fresh: true},
		{Pattern: "POST " + pathPasskeys, Handle: with((*request).addPasskey), Fresh: true},
		{Pattern: "POST " + pathPasskeys + "/remove", Handle: with((*request).removePasskey), Fresh: true},
		{Pattern: "POST " + pathNewOptions, Handle: with((*request).newPasskeyOptions)},
		{Pattern: "POST " + page.PathSecurity + "/password", Handle: with((*request).changePassword), Fresh: true, Password: fieldPassword},
		{Pattern: "POST " + page.PathSecurity + "/verify", Handle: with((*request).sendVerification)},
		{Pattern: "POST " + pathEmail, Handle: with((*request).askEmailChange), Fresh: true, Password: fieldEmailPassword},
		{Pattern: "GET " + pathEmailConfirm, Enter: memberWithLink, Handle: with((*request).showEmailChange)},
		{Pattern: "POST " + pathEmailConfirm, Handle: with((*request).changeEmail), Fresh: true},
		{Pattern: "POST " + page.PathSecurity + "/sign-out", Handle: with((*request).signOutEverywhere)},
		{Pattern: "POST " + page.PathSecurity + "/sessions/end", Handle: with((*request).endSession)},
		{Pattern: "POST " + page.PathSecurity + "/sessions/end-others", Handle: with((*request).endOtherSessions)},
		{Pattern: "POST " + page.PathSeen, Handle: with((*request).dismissNotices)},
		{Pattern: "GET " + page.PathNotMe, Enter: page.Anyone, Handle: with((*request).showNotMe)},
		{Pattern: "POST " + page.PathNotMe, Enter: page.Anyone, Handle: with((*request).notMe)},
		{Pattern: "GET " + page.PathObject, Enter: page.Anyone, Handle: with((*request).showObjection)},
		{Pattern: "POST " + page.PathObject, Enter: page.Anyone, Handle: with((*request).object)},
		{Pattern: "POST " + page.PathSecurity + "/provider/unlink", Handle: with((*request).unlinkProvider), Fresh: true, Password: fieldUnlinkPassword},
		{Pattern: "GET " + page.PathAccount, Handle: with((*request).showAccount)},
		{Pattern: "GET " + pathExport, Handle: with((*request).export), Fresh: true},
		{Pattern: "GET " + export.PathFiles + "{job}", Enter: memberOrAgent, Handle: with((*request).exportFile), Fresh: true},
		{Pattern: "POST " + page.PathAccount + "/delete", Handle: with((*request).deleteAccount), Fresh: true, Password: fieldPassword},
	}
	routes = slices.Concat(routes, deviceRoutes(with), notificationRoutes(with))
	for i := range routes {
		routes[i].Enrolling = enrolling(routes[i].Pattern)
	}
	return routes
}

// Mount registers the pages and their assets on a mux.
func (web *Web) Mount(mux *http.ServeMux) {
	all := slices.Concat(web.areas, web.members, web.routes())
	web.site.Mount(mux, all...)
	web.site.Mount(mux, page.FormAddresses(all)...)
	web.site.Mount(mux, page.DemoRoutes(func(ctx context.Context) (tenant.ID, error) { return demo.Member(ctx, web.Store) }, web.areas...)...)
	web.site.MountAssets(mux)
	if web.DAV {
		mux.HandleFunc("GET "+account.PathFeed+"{file}", web.serveFeed)
	}
}

// Events records security events and tells members of them.
func (web *Web) Events() *account.EventRecorder { return web.events }

// Current implements oauth.Sessions.
func (web *Web) Current(r *http.Request) (*account.LoginSession, error) { return web.site.Current(r) }

// SignIn implements oauth.Sessions.
func (web *Web) SignIn(returnTo string) string { return web.site.SignIn(returnTo) }

// Problem implements oauth.Pages.
func (web *Web) Problem(w http.ResponseWriter, r *http.Request, status int, title, text string) {
	web.site.Problem(w, r, status, title, text)
}

// Refused implements oauth.Pages.
func (web *Web) Refused(w http.ResponseWriter, r *http.Request, text, signIn string) {
	_ = web.site.Guest(w, r).RenderProblem(http.StatusBadRequest, "This request has a mistake", text, page.Link{Path: signIn, Title: "Sign in and send the error back"})
}

var _ oauth.Pages = (*Web)(nil)
