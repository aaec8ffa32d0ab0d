// Package shutdown drains an HTTP server, so that no request is lost when it stops.
//
// HTTP clients keep connections open. If a server closes an idle connection at the
// moment at which the client sends a request, the client cannot tell whether the
// request was processed. A Drainer therefore closes the listener first, and sends
// "Connection: close" (HTTP/2: GOAWAY) with the next response on each open connection.
package shutdown
