package web

import (
	"context"
	"embed"
	"io/fs"
	"net/http"
	"runtime"
	"slices"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/account/passkey"
	"github.com/kith-crm/kith/backend/internal/account/password"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/demo"
	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/tenant"
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
	web.review = review.New(review.Config{Catalog: c.Catalog, Kinds: c.Kinds, Wake: func() { c.Handlers.Imports.Jobs.Wake() }})
	web.areas = slices.Concat(
		today.New(c.Handlers).Routes(), contacts.New(c.Handlers).Routes(), grouping.New(c.Handlers).Routes(),
		network.New(c.Handlers).Routes(), web.review.Routes(), connect.New(c.Handlers, c.SandboxOn).Routes(),
	)
	imports, err := importing.New(c.Handlers)
	if err != nil {
		return nil, err
	}
	web.members = imports.Routes()
	own, err := fs.Sub(templates, "templates")
	if err != nil {
		return nil, err
	}
	folders := []fs.FS{own}
	for _, area := range []func() (fs.FS, error){today.Templates, contacts.Templates, grouping.Templates, network.Templates, review.Templates, connect.Templates, importing.Templates} {
		folder, err := area()
		if err != nil {
			return nil, err
		}
		folders = append(folders, folder)
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
	}, folders...)
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

// route is one path and its handler.
type route struct {
	pattern string
	enter   page.Entrance
	handle  func(*request) error
	// needsProof is set if the member must have proved within account.FreshFor who they are.
	// password is the field of the form that holds their password; empty if it has none.
	needsProof bool
	password   string
}

func row(pattern string, enter page.Entrance, handle func(*request) error) route {
	return route{pattern: pattern, enter: enter, handle: handle}
}

// fresh returns the route for members who recently proved who they are. The pages of package review
// set that in their own routes.
func (r route) fresh(password string) route {
	r.needsProof, r.password = true, password
	return r
}

// routes returns all routes except the assets.
func routes() []route {
	return []route{
		row("GET "+page.PathSignIn, page.Anyone, (*request).showSignIn),
		row("POST "+page.PathSignIn, page.Anyone, (*request).signIn),
		row("GET "+pathTwoStep, page.Anyone, (*request).showTwoStep),
		row("POST "+pathTwoStep, page.Anyone, (*request).twoStep),
		row("POST "+pathTwoStepOptions, page.Anyone, (*request).twoStepOptions),
		row("POST "+pathPasskeySignIn, page.Anyone, (*request).signInByPasskey),
		row("POST "+pathPasskeyOptions, page.Anyone, (*request).passkeyOptions),
		row("GET "+pathConfirm, again, (*request).showConfirm),
		row("POST "+pathConfirm, again, (*request).confirmAgain),
		row("POST "+pathConfirmOptions, again, (*request).confirmOptions),
		row("POST "+pathProvider, page.Anyone, (*request).goToProvider),
		row("GET "+pathProviderCallback, page.Anyone, (*request).comeFromProvider),
		row("GET "+pathProviderLink, page.Anyone, (*request).showProviderLink),
		row("POST "+pathProviderLink, page.Anyone, (*request).linkProvider),
		row("POST "+pathSignOut, page.MembersOnly, (*request).signOut),
		row("GET "+page.PathSignUp, page.Anyone, (*request).showSignUp),
		row("POST "+page.PathSignUp, page.Anyone, (*request).signUp),
		row("GET "+page.PathOwner, page.Anyone, (*request).showOwner),
		row("POST "+page.PathOwner, page.Anyone, (*request).createOwner),
		row("GET "+page.PathForgot, page.Anyone, (*request).showForgot),
		row("POST "+page.PathForgot, page.Anyone, (*request).forgot),
		row("GET "+page.PathReset, page.Anyone, (*request).showReset),
		row("POST "+page.PathReset, page.Anyone, (*request).reset),
		row("GET "+page.PathVerify, page.Anyone, (*request).showVerify),
		row("POST "+page.PathVerify, page.Anyone, (*request).verify),
		row("GET "+page.PathSettings, page.MembersOnly, (*request).showSettings),
		row("GET "+page.PathProfile, page.MembersOnly, (*request).showProfile),
		row("POST "+page.PathProfile, page.MembersOnly, (*request).saveProfile),
		row("GET "+page.PathMCP, page.MembersOnly, (*request).showMCP),
		row("GET "+page.PathAgents, page.MembersOnly, (*request).showMCP),
		row("POST "+page.PathAgents+"/narrow", page.MembersOnly, (*request).narrowAgent),
		row("POST "+page.PathAgents+"/ask", page.MembersOnly, (*request).setAsks),
		row("POST "+page.PathAgents+"/pause", page.MembersOnly, (*request).pauseAgent),
		row("POST "+page.PathAgents+"/resume", page.MembersOnly, (*request).resumeAgent),
		row("POST "+page.PathMCP+"/tokens", page.MembersOnly, (*request).createToken).fresh(""),
		row("POST "+page.PathMCP+"/tokens/revoke", page.MembersOnly, (*request).revokeToken),
		row("POST "+page.PathMCP+"/agents/revoke", page.MembersOnly, (*request).revokeAgent),
		row("GET "+page.PathSearch, page.MembersOnly, (*request).showSearch),
		row("POST "+page.PathSearch, page.MembersOnly, (*request).saveSearch),
		row("GET "+page.PathTime, page.MembersOnly, (*request).showTime),
		row("POST "+page.PathTime, page.MembersOnly, (*request).saveTime),
		row("GET "+page.PathSecurity, page.MembersOnly, (*request).showSecurity),
		row("GET "+pathFactors, page.MembersOnly, (*request).showFactors),
		row("POST "+pathFactors, page.MembersOnly, (*request).addTOTP).fresh(""),
		row("POST "+pathFactors+"/codes", page.MembersOnly, (*request).newRecoveryCodes).fresh(""),
		row("POST "+pathFactors+"/off", page.MembersOnly, (*request).removeTOTP).fresh(""),
		row("POST "+pathPasskeys, page.MembersOnly, (*request).addPasskey).fresh(""),
		row("POST "+pathPasskeys+"/remove", page.MembersOnly, (*request).removePasskey).fresh(""),
		row("POST "+pathNewOptions, page.MembersOnly, (*request).newPasskeyOptions),
		row("POST "+page.PathSecurity+"/password", page.MembersOnly, (*request).changePassword).fresh(fieldPassword),
		row("POST "+page.PathSecurity+"/verify", page.MembersOnly, (*request).sendVerification),
		row("POST "+pathEmail, page.MembersOnly, (*request).askEmailChange).fresh(fieldEmailPassword),
		row("GET "+pathEmailConfirm, memberWithLink, (*request).showEmailChange),
		row("POST "+pathEmailConfirm, page.MembersOnly, (*request).changeEmail).fresh(""),
		row("POST "+page.PathSecurity+"/sign-out", page.MembersOnly, (*request).signOutEverywhere),
		row("POST "+page.PathSecurity+"/sessions/end", page.MembersOnly, (*request).endSession),
		row("POST "+page.PathSecurity+"/sessions/end-others", page.MembersOnly, (*request).endOtherSessions),
		row("POST "+page.PathSeen, page.MembersOnly, (*request).dismissNotices),
		row("GET "+page.PathNotMe, page.Anyone, (*request).showNotMe),
		row("POST "+page.PathNotMe, page.Anyone, (*request).notMe),
		row("GET "+page.PathObject, page.Anyone, (*request).showObjection),
		row("POST "+page.PathObject, page.Anyone, (*request).object),
		row("POST "+page.PathSecurity+"/provider/unlink", page.MembersOnly, (*request).unlinkProvider).fresh(fieldUnlinkPassword),
		row("GET "+page.PathAccount, page.MembersOnly, (*request).showAccount),
		row("GET "+page.PathAccount+"/export", page.MembersOnly, (*request).export).fresh(""),
		row("GET "+export.PathFiles+"{job}", memberOrAgent, (*request).exportFile).fresh(""),
		row("POST "+page.PathAccount+"/delete", page.MembersOnly, (*request).deleteAccount).fresh(fieldPassword),
	}
}

// Mount registers the pages and their assets on a mux.
func (web *Web) Mount(mux *http.ServeMux) {
	all := slices.Concat(web.areas, web.members)
	for _, r := range routes() {
		all = append(all, page.Route{
			Pattern: r.pattern, Enter: r.enter, Handle: web.handler(r.handle), Enrolling: enrolling(r.pattern), Fresh: r.needsProof, Password: r.password,
		})
	}
	web.site.Mount(mux, all...)
	web.site.Mount(mux, page.FormAddresses(all)...)
	web.site.Mount(mux, page.DemoRoutes(func(ctx context.Context) (tenant.ID, error) { return demo.Member(ctx, web.Store) }, web.areas...)...)
	web.site.MountAssets(mux)
}

func (web *Web) handler(handle func(*request) error) page.Handler {
	return func(v *page.Request) error { return handle(&request{Web: web, Request: v}) }
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
	web.site.Guest(w, r).RenderProblem(http.StatusBadRequest, "This request has a mistake", text, page.Link{Path: signIn, Title: "Sign in and send the error back"})
}

var _ oauth.Pages = (*Web)(nil)
