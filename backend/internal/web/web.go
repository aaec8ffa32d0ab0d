package web

import (
	"fmt"
	"html/template"
	"net/http"
	"runtime"
	"strings"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/account/password"
)

// The paths of the pages.
const (
	pathSignIn           = "/sign-in"
	pathProvider         = "/sign-in/provider"
	pathProviderCallback = "/sign-in/provider/callback"
	pathProviderLink     = "/sign-in/provider/link"
	pathSignUp           = "/sign-up"
	pathSignOut          = "/sign-out"
	pathForgot           = "/forgot"
	pathReset            = "/reset"
	pathVerify           = "/verify"
	pathSettings         = "/settings"
	pathProfile          = "/settings/profile"
	pathMCP              = "/settings/mcp"
	pathActivity         = "/settings/activity"
	pathActivityUndo     = "/settings/activity/undo"
	pathSearch           = "/settings/search"
	pathSecurity         = "/settings/security"
	pathAccount          = "/settings/account"
)

// Web serves the pages. It is safe for concurrent use.
type Web struct {
	Config

	secure      bool
	crossOrigin *http.CrossOriginProtection
	pages       map[string]*template.Template
	emails      *emails
	events      *account.EventRecorder
	assets      assets
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
	web := &Web{
		Config: c, secure: strings.HasPrefix(c.BaseURL, "https://"), crossOrigin: http.NewCrossOriginProtection(), verifyHash: password.Verify,
		events: account.NewEventRecorder(c.Store, c.Logger),
	}
	if err := web.crossOrigin.AddTrustedOrigin(c.BaseURL); err != nil {
		return nil, fmt.Errorf("web: the base URL is no origin: %w", err)
	}
	if web.pages, err = parsePages(); err != nil {
		return nil, err
	}
	if web.emails, err = parseEmails(c.BaseURL); err != nil {
		return nil, err
	}
	if web.assets, err = loadAssets(); err != nil {
		return nil, err
	}
	if web.dummyHash, err = c.PasswordCost.Unmatched(); err != nil {
		return nil, err
	}
	web.hashing = make(chan struct{}, max(2, runtime.GOMAXPROCS(0)))
	return web, nil
}

// route is one path and its handler.
type route struct {
	pattern string
	enter   entrance
	handle  handler
}

// routes returns all routes except the assets.
func routes() []route {
	return append(append(importRoutes(), binRoutes()...), []route{
		{"GET " + pathSignIn, anyone, (*request).showSignIn},
		{"POST " + pathSignIn, anyone, (*request).signIn},
		{"POST " + pathProvider, anyone, (*request).goToProvider},
		{"GET " + pathProviderCallback, anyone, (*request).comeFromProvider},
		{"GET " + pathProviderLink, anyone, (*request).showProviderLink},
		{"POST " + pathProviderLink, anyone, (*request).linkProvider},
		{"POST " + pathSignOut, membersOnly, (*request).signOut},
		{"GET " + pathSignUp, anyone, (*request).showSignUp},
		{"POST " + pathSignUp, anyone, (*request).signUp},
		{"GET " + pathForgot, anyone, (*request).showForgot},
		{"POST " + pathForgot, anyone, (*request).forgot},
		{"GET " + pathReset, anyone, (*request).showReset},
		{"POST " + pathReset, anyone, (*request).reset},
		{"GET " + pathVerify, anyone, (*request).showVerify},
		{"POST " + pathVerify, anyone, (*request).verify},
		{"GET " + pathSettings, membersOnly, (*request).showSettings},
		{"GET " + pathProfile, membersOnly, (*request).showProfile},
		{"POST " + pathProfile, membersOnly, (*request).saveProfile},
		{"GET " + pathMCP, membersOnly, (*request).showMCP},
		{"POST " + pathMCP + "/tokens", membersOnly, (*request).createToken},
		{"POST " + pathMCP + "/tokens/revoke", membersOnly, (*request).revokeToken},
		{"POST " + pathMCP + "/agents/revoke", membersOnly, (*request).revokeAgent},
		{"GET " + pathActivity, membersOnly, (*request).showActivity},
		{"GET " + pathActivityUndo, membersOnly, (*request).showUndo},
		{"POST " + pathActivityUndo, membersOnly, (*request).undo},
		{"GET " + pathSearch, membersOnly, (*request).showSearch},
		{"POST " + pathSearch, membersOnly, (*request).saveSearch},
		{"GET " + pathSecurity, membersOnly, (*request).showSecurity},
		{"POST " + pathSecurity + "/password", membersOnly, (*request).changePassword},
		{"POST " + pathSecurity + "/verify", membersOnly, (*request).sendVerification},
		{"POST " + pathSecurity + "/sign-out", membersOnly, (*request).signOutEverywhere},
		{"POST " + pathSecurity + "/provider/unlink", membersOnly, (*request).unlinkProvider},
		{"GET " + pathAccount, membersOnly, (*request).showAccount},
		{"GET " + pathAccount + "/export", membersOnly, (*request).export},
		{"POST " + pathAccount + "/delete", membersOnly, (*request).deleteAccount},
	}...)
}

// Mount registers the pages and their assets on a mux.
func (web *Web) Mount(mux *http.ServeMux) {
	for _, r := range routes() {
		mux.Handle(r.pattern, web.page(r.enter, r.handle))
	}
	web.assets.mount(mux)
}
