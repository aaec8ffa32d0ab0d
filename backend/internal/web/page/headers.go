package page

import (
	"net/http"
	"net/url"
	"regexp"
)

// contentPolicy limits what a page may load and do: our stylesheet, avatars from any
// host, forms to this site. Scripts, frames and inline code are not allowed.
const contentPolicy = "default-src 'none'; style-src 'self'; img-src 'self' https:; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"

// SetHeaders sets the headers of every page.
//
// The referrer policy is same-origin, not no-referrer: under no-referrer browsers send
// "Origin: null" with a form, even to the site that it came from (Fetch, "append a
// request Origin header"). If the browser also sends no Sec-Fetch-Site, because of
// plain http or its age, its form could not be told from one of another site. For other
// sites the two policies are the same: nothing is sent.
func SetHeaders(h http.Header) {
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
}

// allowScripts lets a page run our scripts, besides what its policy allows. They may request
// pages of this site. A page from which browsers install the app also has our service worker
// and the manifest.
func allowScripts(h http.Header, installable bool) {
	policy := h.Get("Content-Security-Policy") + "; script-src 'self'; connect-src 'self'"
	if installable {
		policy += "; worker-src 'self'; manifest-src 'self'"
	} else {
		policy += "; worker-src 'none'"
	}
	h.Set("Content-Security-Policy", policy)
}

// SetAlone separates a page from the window that opened it. It is not used on the pages
// that lead to consent: web clients open them in a window of their own and wait for it
// to come back, and a window that was separated once stays separated.
func SetAlone(h http.Header) { h.Set("Cross-Origin-Opener-Policy", "same-origin") }

var (
	schemePattern = regexp.MustCompile(`^[a-z][a-z0-9+.-]*$`)
	hostPattern   = regexp.MustCompile(`^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*(:[0-9]{1,5})?$`)
)

// AllowRedirect lets the form of a page end at a client, or at the identity provider:
// Chromium applies form-action to every redirect that follows a form. A client's
// callback often redirects the browser to another host of the client once it has the
// code, and a provider to the host of its sessions or its upstream provider. If the
// policy named only the first origin, the browser would not follow although access was
// granted. So https is allowed, and also the redirect URI's origin if that is a
// loopback address or an app's own scheme.
func AllowRedirect(h http.Header, uri string) {
	h.Set("Content-Security-Policy", contentPolicy+" https:"+policySource(uri))
}

// policySource returns a redirect URI's origin as a source of the policy, unless it is
// https. An origin that the policy's grammar cannot express, such as an IPv6 address,
// becomes its scheme alone. Nothing else of the URI gets into the header.
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
