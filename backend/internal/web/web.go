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
	letters     *letters
	events      *account.EventRecorder
	assets      assets
	// hashing holds a place for each password that may be hashed at a time: each
	// takes 19 MiB and a processor.
	hashing chan struct{}
	// verifyHash is password.Verify; tests count its calls.
	verifyHash func(hash, given string) bool
	// dummyHash is verified where there is no hash, so that it takes as long.
	dummyHash string
}

// New composes the pages.
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
	if web.letters, err = parseLetters(c.BaseURL); err != nil {
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

// route is one path and what serves it.
type route struct {
	pattern string
	enter   entrance
	handle  handler
}

// routes is all that is served, but for the assets.
func routes() []route {
	return append(append(importRoutes(), binRoutes()...), []route{
		{"GET " + pathSignIn, anyone, (*visit).showSignIn},
		{"POST " + pathSignIn, anyone, (*visit).signIn},
		{"POST " + pathProvider, anyone, (*visit).goToProvider},
		{"GET " + pathProviderCallback, anyone, (*visit).comeFromProvider},
		{"GET " + pathProviderLink, anyone, (*visit).showProviderLink},
		{"POST " + pathProviderLink, anyone, (*visit).linkProvider},
		{"POST " + pathSignOut, membersOnly, (*visit).signOut},
		{"GET " + pathSignUp, anyone, (*visit).showSignUp},
		{"POST " + pathSignUp, anyone, (*visit).signUp},
		{"GET " + pathForgot, anyone, (*visit).showForgot},
		{"POST " + pathForgot, anyone, (*visit).forgot},
		{"GET " + pathReset, anyone, (*visit).showReset},
		{"POST " + pathReset, anyone, (*visit).reset},
		{"GET " + pathVerify, anyone, (*visit).showVerify},
		{"POST " + pathVerify, anyone, (*visit).verify},
		{"GET " + pathSettings, membersOnly, (*visit).showSettings},
		{"GET " + pathProfile, membersOnly, (*visit).showProfile},
		{"POST " + pathProfile, membersOnly, (*visit).saveProfile},
		{"GET " + pathMCP, membersOnly, (*visit).showMCP},
		{"POST " + pathMCP + "/tokens", membersOnly, (*visit).createToken},
		{"POST " + pathMCP + "/tokens/revoke", membersOnly, (*visit).revokeToken},
		{"POST " + pathMCP + "/agents/revoke", membersOnly, (*visit).revokeAgent},
		{"GET " + pathActivity, membersOnly, (*visit).showActivity},
		{"GET " + pathActivityUndo, membersOnly, (*visit).showUndo},
		{"POST " + pathActivityUndo, membersOnly, (*visit).undo},
		{"GET " + pathSearch, membersOnly, (*visit).showSearch},
		{"POST " + pathSearch, membersOnly, (*visit).saveSearch},
		{"GET " + pathSecurity, membersOnly, (*visit).showSecurity},
		{"POST " + pathSecurity + "/password", membersOnly, (*visit).changePassword},
		{"POST " + pathSecurity + "/verify", membersOnly, (*visit).sendVerification},
		{"POST " + pathSecurity + "/sign-out", membersOnly, (*visit).signOutEverywhere},
		{"POST " + pathSecurity + "/provider/unlink", membersOnly, (*visit).unlinkProvider},
		{"GET " + pathAccount, membersOnly, (*visit).showAccount},
		{"GET " + pathAccount + "/export", membersOnly, (*visit).export},
		{"POST " + pathAccount + "/delete", membersOnly, (*visit).deleteAccount},
	}...)
}

// Mount adds the pages and their assets to a mux.
func (web *Web) Mount(mux *http.ServeMux) {
	for _, r := range routes() {
		mux.Handle(r.pattern, web.page(r.enter, r.handle))
	}
	web.assets.mount(mux)
}
