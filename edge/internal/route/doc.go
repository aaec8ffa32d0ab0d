// Package route describes the public paths: a Route has all data of a path, and a Table finds the
// Route of a request.
//
// Each package of the edge returns its routes with their handlers, and
// edge/server/routes.go lists those packages. The steps that a request passes
// before its handler are in edge/server/pipeline.go. Routing, 405 and Allow,
// deprecation headers, the removal after a sunset, the copies under /sandbox and the
// documents all follow from the routes.
//
// Table.Match checks a request in this order:
//
//	target  only bytes that a request target may have, else 400
//	host    an absolute-form target of another host: 421
//	method  a method that no path supports: 501
//	path    [A-Za-z0-9-._~/], and "@" directly after the first "/"; no "//",
//	        "/." or "/" at the end; nothing is decoded: else 404, never a
//	        redirect
//	match   a route's pattern: else 404
package route
