package web

import (
	"net/http"
	"net/url"
	"regexp"
)

// contentPolicy is what a page may load and do: our stylesheet, avatars from
// anywhere, forms to ourselves. Script, frames and inline code have no place.
const contentPolicy = "default-src 'none'; style-src 'self'; img-src 'self' https:; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"

// setHeaders writes what every page has.
//
// The referrer policy is same-origin, not no-referrer: under no-referrer
// browsers send "Origin: null" with a form, even to the site that it came from
// (Fetch, "append a request Origin header"), and one that sends no
// Sec-Fetch-Site besides, over plain http or of an older make, could then not be
// told from another site. To other sites the two are the same: nothing is sent.
func setHeaders(h http.Header) {
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
}

// allowScript lets a page run a script of ours, which may ask us for the page again.
func allowScript(h http.Header) {
	h.Set("Content-Security-Policy", contentPolicy+"; script-src 'self'; connect-src 'self'")
}

// setAlone cuts a page off from the window that opened it. The pages on the way
// to consent are left out: web clients open them in a window of their own and
// wait for it to come back, and a window that was cut off once stays so.
func setAlone(h http.Header) { h.Set("Cross-Origin-Opener-Policy", "same-origin") }

var (
	schemePattern = regexp.MustCompile(`^[a-z][a-z0-9+.-]*$`)
	hostPattern   = regexp.MustCompile(`^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*(:[0-9]{1,5})?$`)
)

// allowRedirect lets the form of a page end at a client, or at the identity
// provider: Chromium holds form-action against every redirect that follows a form.
// A client's callback often sends the browser on, to another host of the client's,
// when it has the code, and a provider to where its sessions or its upstream are;
// under a policy that named its own origin only, the browser would stay
// where it is although access was granted. So https may follow, and beside it the
// redirect URI's origin, when that is a loopback address or an app's own scheme.
func allowRedirect(h http.Header, uri string) {
	h.Set("Content-Security-Policy", contentPolicy+" https:"+policySource(uri))
}

// policySource returns a redirect URI's origin as a source of the policy, unless
// it is https. An origin that the policy's grammar cannot say, such as an IPv6
// address, becomes its scheme alone. Nothing else of the URI gets into the header.
func policySource(uri string) string {
	u, err := url.Parse(uri)
	switch {
	case err != nil || u.Scheme == "https" || !schemePattern.MatchString(u.Scheme):
		return ""
	case u.Scheme == "http" && hostPattern.MatchString(u.Host):
		return " http://" + u.Host
	}
	return " " + u.Scheme + ":"
}
