// Package route describes the public paths: a Route has everything that is known of a path, and a
// Table finds the Route of a request.
//
// Each package of the edge returns its routes with their handlers, and
// edge/server/routes.go lists those packages. The steps that a request passes
// before its handler are in edge/server/pipeline.go. Routing, 405 and Allow,
// deprecation headers, the removal after a sunset, the copies under /sandbox and the
// documents all follow from the routes.
//
// Table.Match answers for a request:
//
//	target  only bytes that may stand in one, else 400
//	host    an absolute-form target of another host: 421
//	method  one that no path here has: 501
//	path    [A-Za-z0-9-._~/], and "@" as the first byte after the "/" that it
//	        begins with; no "//", "/." or "/" at the end, nothing decoded:
//	        else 404, never a redirect
//	match   a route's pattern: else 404
package route
