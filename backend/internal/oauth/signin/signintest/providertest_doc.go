// Package signintest runs a small OpenID provider for tests: discovery, an
// authorization endpoint at which somebody is signed in already, tokens signed
// with RS256, keys and userinfo. It holds its clients to the rules: secret, PKCE,
// redirect URI, each code once. Tests make it lie.
package signintest
