package web

import (
	"context"
	"embed"
	"io/fs"
	"net/http"
	"runtime"
	"slices"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/account/password"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/demo"
	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/web/connect"
	"github.com/kith-crm/kith/backend/internal/web/contacts"
	"github.com/kith-crm/kith/backend/internal/web/grouping"
	"github.com/kith-crm/kith/backend/internal/web/network"
	"github.com/kith-crm/kith/backend/internal/web/page"
	"github.com/kith-crm/kith/backend/internal/web/review"
	"github.com/kith-crm/kith/backend/internal/web/today"
)

// The paths of the pages that only this folder leads to.
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
	// areas are the routes of the areas of the site that have a folder of their own.
	areas  []page.Route
	review *review.Pages
	emails *emails
	events *account.EventRecorder
	// hashing holds a slot for each password that may be hashed at the same time: each
	// needs 19 MiB and a processor.
	hashing chan struct{}
	// verifyHash is password.Verify; tests count its calls.
	verifyHash func(hash, given string) bool
	// dummyHash is verified when there is no hash, so that it takes equally long.
	dummyHash string
}

// New builds the pages.
func New(c Config) (*Web, error) {
	c, err := c.resolved()
	if err != nil {
		return nil, err
	}
	web := &Web{Config: c, verifyHash: password.Verify, events: account.NewEventRecorder(c.Store, c.Logger)}
	web.review = review.New(review.Config{Catalog: c.Catalog, Kinds: c.Kinds, Record: web.recordDeletion})
	web.areas = slices.Concat(
		today.New(c.Handlers).Routes(), contacts.New(c.Handlers).Routes(), grouping.New(c.Handlers).Routes(),
		network.New(c.Handlers).Routes(), web.review.Routes(), connect.New(c.Handlers, c.SandboxOn).Routes(),
	)
	own, err := fs.Sub(templates, "templates")
	if err != nil {
		return nil, err
	}
	folders := []fs.FS{own}
	for _, area := range []func() (fs.FS, error){today.Templates, contacts.Templates, grouping.Templates, network.Templates, review.Templates, connect.Templates} {
		folder, err := area()
		if err != nil {
			return nil, err
		}
		folders = append(folders, folder)
	}
	web.site, err = page.New(page.Config{
		BaseURL: c.BaseURL, Store: c.Store, MailOn: c.Mailer != nil, SignUpOpen: c.SignUpOpen, SessionLifetime: c.SessionLifetime,
		Now: c.Now, Logger: c.Logger,
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
}

// data returns the data of the member.
func (v *request) data() *db.Tenant { return v.Data(v.Login.MemberID) }

// route is one path and its handler.
type route struct {
	pattern string
	enter   page.Entrance
	handle  func(*request) error
}

// routes returns all routes except the assets.
func routes() []route {
	return append(importRoutes(), []route{
		{"GET " + page.PathSignIn, page.Anyone, (*request).showSignIn},
		{"POST " + page.PathSignIn, page.Anyone, (*request).signIn},
		{"POST " + pathProvider, page.Anyone, (*request).goToProvider},
		{"GET " + pathProviderCallback, page.Anyone, (*request).comeFromProvider},
		{"GET " + pathProviderLink, page.Anyone, (*request).showProviderLink},
		{"POST " + pathProviderLink, page.Anyone, (*request).linkProvider},
		{"POST " + pathSignOut, page.MembersOnly, (*request).signOut},
		{"GET " + page.PathSignUp, page.Anyone, (*request).showSignUp},
		{"POST " + page.PathSignUp, page.Anyone, (*request).signUp},
		{"GET " + page.PathOwner, page.Anyone, (*request).showOwner},
		{"POST " + page.PathOwner, page.Anyone, (*request).createOwner},
		{"GET " + page.PathForgot, page.Anyone, (*request).showForgot},
		{"POST " + page.PathForgot, page.Anyone, (*request).forgot},
		{"GET " + page.PathReset, page.Anyone, (*request).showReset},
		{"POST " + page.PathReset, page.Anyone, (*request).reset},
		{"GET " + page.PathVerify, page.Anyone, (*request).showVerify},
		{"POST " + page.PathVerify, page.Anyone, (*request).verify},
		{"GET " + page.PathSettings, page.MembersOnly, (*request).showSettings},
		{"GET " + page.PathProfile, page.MembersOnly, (*request).showProfile},
		{"POST " + page.PathProfile, page.MembersOnly, (*request).saveProfile},
		{"GET " + page.PathMCP, page.MembersOnly, (*request).showMCP},
		{"GET " + page.PathAgents, page.MembersOnly, (*request).showMCP},
		{"POST " + page.PathAgents + "/narrow", page.MembersOnly, (*request).narrowAgent},
		{"POST " + page.PathAgents + "/pause", page.MembersOnly, (*request).pauseAgent},
		{"POST " + page.PathAgents + "/resume", page.MembersOnly, (*request).resumeAgent},
		{"POST " + page.PathMCP + "/tokens", page.MembersOnly, (*request).createToken},
		{"POST " + page.PathMCP + "/tokens/revoke", page.MembersOnly, (*request).revokeToken},
		{"POST " + page.PathMCP + "/agents/revoke", page.MembersOnly, (*request).revokeAgent},
		{"GET " + page.PathSearch, page.MembersOnly, (*request).showSearch},
		{"POST " + page.PathSearch, page.MembersOnly, (*request).saveSearch},
		{"GET " + page.PathTime, page.MembersOnly, (*request).showTime},
		{"POST " + page.PathTime, page.MembersOnly, (*request).saveTime},
		{"GET " + page.PathSecurity, page.MembersOnly, (*request).showSecurity},
		{"POST " + page.PathSecurity + "/password", page.MembersOnly, (*request).changePassword},
		{"POST " + page.PathSecurity + "/verify", page.MembersOnly, (*request).sendVerification},
		{"POST " + pathEmail, page.MembersOnly, (*request).askEmailChange},
		{"GET " + pathEmailConfirm, memberWithLink, (*request).showEmailChange},
		{"POST " + pathEmailConfirm, page.MembersOnly, (*request).changeEmail},
		{"POST " + page.PathSecurity + "/sign-out", page.MembersOnly, (*request).signOutEverywhere},
		{"POST " + page.PathSecurity + "/provider/unlink", page.MembersOnly, (*request).unlinkProvider},
		{"GET " + page.PathAccount, page.MembersOnly, (*request).showAccount},
		{"GET " + page.PathAccount + "/export", page.MembersOnly, (*request).export},
		{"GET " + export.PathFiles + "{job}", memberOrAgent, (*request).exportFile},
		{"POST " + page.PathAccount + "/delete", page.MembersOnly, (*request).deleteAccount},
	}...)
}

// Mount registers the pages and their assets on a mux.
func (web *Web) Mount(mux *http.ServeMux) {
	for _, r := range routes() {
		mounted := page.Route{Pattern: r.pattern, Enter: r.enter, Handle: web.handler(r.handle)}
		if r.pattern == "POST "+page.PathImports {
			mounted.Upload = web.handler((*request).readUpload)
		}
		web.site.Mount(mux, mounted)
	}
	web.site.Mount(mux, web.areas...)
	web.site.Mount(mux, page.DemoRoutes(func(ctx context.Context) (tenant.ID, error) { return demo.Member(ctx, web.Store) }, web.areas...)...)
	web.site.MountAssets(mux)
}

func (web *Web) handler(handle func(*request) error) page.Handler {
	return func(v *page.Request) error { return handle(&request{Web: web, Request: v}) }
}

// Current implements oauth.Sessions.
func (web *Web) Current(r *http.Request) (*account.LoginSession, error) { return web.site.Current(r) }

// SignIn implements oauth.Sessions.
func (web *Web) SignIn(returnTo string) string { return web.site.SignIn(returnTo) }

// Problem implements oauth.Pages.
func (web *Web) Problem(w http.ResponseWriter, r *http.Request, status int, title, text string) {
	web.site.Problem(w, r, status, title, text)
}

var _ oauth.Pages = (*Web)(nil)
