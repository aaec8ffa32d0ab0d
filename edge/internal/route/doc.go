// Package route owns THE table of public paths and the router that reads it.
//
// One row holds all that is known of a path: how it is matched, who may call it,
// whether it is deprecated, what replaces it, and which words document it.
// Routing, 405 and Allow, deprecation headers, the removal after a sunset and
// the description of the sandbox come from the rows and from nowhere else.
//
// A request goes through these steps; the first that objects answers:
//
//	target    only bytes that may stand in one, else 400          (target.go)
//	host      an absolute-form target of another host: 421        (target.go)
//	method    one that no path here has: 501                      (router.go)
//	path      [A-Za-z0-9-._~/], no "//", "/." or "/" at the end,
//	          nothing decoded: else 404, never a redirect         (grammar.go)
//	match     the table: else 404                                 (matcher.go)
//	limit     within the row's rate policy, else 429; the answers
//	          below a limited path tell of its policy, too        (areas.go)
//	lifecycle deprecation headers; 410 after the sunset           (lifecycle.go)
//	query     well-formed and without credentials, else 400       (query.go)
//	method    one of the row's: else 405; OPTIONS is 204          (router.go)
//
// It does not own the handlers, and it does not authenticate.
package route
