// Package web serves the web pages: sign-up, sign-in, consent and
// settings. They are plain HTML from templates with one stylesheet, and work without
// scripts; the imports page has one that shows progress.
//
// Package page is what all pages share: the frame, headers, sessions, forms.
//
// Three cookies identify a browser: the session's; before there is a session, one that
// protects its forms; and one for the minutes between leaving for the identity provider
// and coming back. Each holds only a random secret, of which only the hash is stored.
// Form tokens are derived from the first two, so that nothing has to be stored for a
// page that was shown. A fourth cookie carries a new personal token, sealed, from the
// form to the page that shows it, which deletes the cookie.
//
// Package account decides who may sign in, package oauth what an agent is granted, and
// package signin which external identities are accepted. This package renders the
// pages and keeps the sessions that package oauth asks for, and writes the emails that
// package mail sends.
package web
