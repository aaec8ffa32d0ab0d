// Package web serves the pages that people meet: sign-up, sign-in, consent and
// settings. They are plain HTML from templates with one stylesheet, and work without
// scripts; the imports page has one that shows progress.
//
// A request of a browser goes through these steps; the first that objects
// answers with a page:
//
//	headers   what every page has: policy, no framing, not kept     (headers.go)
//	origin    a POST of another site: 403                            (request.go)
//	body      forms only, bounded                                    (request.go)
//	session   the cookie's login session, from the store             (session.go)
//	token     each POST carries the token of its browser's cookie    (cookie.go)
//	handler   one file for each page
//
// Three cookies bind a browser: the session's; before there is a session, one that
// binds its forms; and, for the minutes that somebody spends at their identity
// provider, one that binds their coming back. Each holds a random secret and
// nothing else, of which no more than the hash is stored. Form tokens are derived
// from the first two, so that nothing has to be kept for a page that was shown. A
// fourth takes a personal token that was just made from the form to the page that
// shows it, sealed, and is gone with that page.
//
// Package account decides who may sign in, package oauth what an agent is granted, and
// package signin what an external identity provider may attest. This package renders the
// pages and keeps the sessions that package oauth asks for, and writes the emails that
// package mail sends.
package web
