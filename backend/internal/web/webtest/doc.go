// Package webtest runs the web pages and the authorization server as one site on a real
// store, and uses it as a browser does: with a cookie jar, forms filled in as on the
// page, and the headers that browsers send.
package webtest
