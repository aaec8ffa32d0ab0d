// Package manners is what every answer of the edge has in common, whoever
// writes it: a request id, CORS and security headers, an answer even after a
// panic, one observation, one span and one line in the log.
//
// It is the outermost handler. CORS is marked before anything can refuse the
// request, so that a web page can read a 401 or a 404 too. The log line holds
// the route's name and never the path, the query or a header, because any of
// them can carry what should not be kept.
package manners
