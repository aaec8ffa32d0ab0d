// Package signintest runs a small OpenID provider for tests: discovery, an
// authorization endpoint at which a person is already signed in, tokens signed with
// RS256, keys and userinfo. It enforces the rules for clients: secret, PKCE, redirect
// URI, each code once. Tests can make it send invalid responses.
package signintest
