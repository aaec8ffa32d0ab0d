// Package webtest runs the people's pages and the authorization server as one
// site on a real store, and walks it as a browser does: a cookie jar, forms
// filled in as they stand on the page, the headers that browsers send.
package webtest
