// Package page renders the pages that the edge serves to people itself: public profiles, the
// directory of members, and errors. The documentation has a layout of its own (package discovery),
// and the pages with a member's connections come from the backend.
//
// The pages need no script and set no cookies. Text from members is escaped by html/template, also in
// the structured data.
package page

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"strings"

	"github.com/kith-crm/kith/edge/internal/route"
)

//go:embed templates
var templateFiles embed.FS

// Type is the media type of pages.
const Type = "text/html; charset=utf-8"

// The names of the pages.
const (
	Profile = "profile"
	Members = "members"
	problem = "problem"
)

// Pages renders pages. It is immutable and safe for concurrent use.
type Pages struct {
	templates  map[string]*template.Template
	stylesheet string
	session    string // the name of the cookie with a login session
}

// New returns the pages of the service at baseURL. stylesheet is the address of the stylesheet.
func New(baseURL, stylesheet string) (*Pages, error) {
	p := &Pages{templates: map[string]*template.Template{}, stylesheet: stylesheet, session: route.SessionCookie(baseURL)}
	for _, name := range []string{Profile, Members, problem} {
		set, err := template.ParseFS(templateFiles, "templates/layout.html", "templates/"+name+".html")
		if err != nil {
			return nil, fmt.Errorf("parse page %s: %w", name, err)
		}
		p.templates[name] = set
	}
	return p, nil
}

// Page is the data of a page: what the layout shows, and the content.
type Page struct {
	// Title is the title without the name of the service, Description one sentence for search
	// engines and for previews of links.
	Title, Description string
	// Canonical is the URL under which search engines list the page; empty if they must not list it.
	Canonical string
	// Kind is the type of the page in the Open Graph protocol, such as profile.
	Kind string
	// Image is the address of a picture, https only; it may be empty.
	Image string
	// Alternates are the same content in other media types.
	Alternates []Alternate
	// Data is the structured data of the page (schema.org), marshalled as JSON; it may be nil.
	Data any
	// Section is the path of the page's entry in the navigation.
	Section string
	// SignedIn is set if the browser has the cookie of a session. It stays unset on pages that
	// caches may store, because those must be the same for everybody.
	SignedIn bool
	// Content is for the page's own template.
	Content any
}

// Alternate is the address of a page's content in another media type.
type Alternate struct{ Type, Address string }

// LinkHeader returns the alternates as the value of a Link header (RFC 8288).
func LinkHeader(alternates ...Alternate) string {
	links := make([]string, 0, len(alternates))
	for _, a := range alternates {
		links = append(links, "<"+a.Address+`>; rel="alternate"; type="`+a.Type+`"`)
	}
	return strings.Join(links, ", ")
}

// Render returns the page with that name.
func (p *Pages) Render(name string, content Page) ([]byte, error) {
	var b bytes.Buffer
	err := p.templates[name].ExecuteTemplate(&b, "layout", struct {
		Page
		Stylesheet string
	}{content, p.stylesheet})
	if err != nil {
		return nil, fmt.Errorf("render page %s: %w", name, err)
	}
	return b.Bytes(), nil
}

// Header returns the headers of every page. The content security policy forbids scripts and frames.
// It allows images from other sites, over https, only on a page with a photo.
func Header(photo bool) http.Header {
	images := "img-src 'self'"
	if photo {
		images += " https:"
	}
	return http.Header{
		"Content-Security-Policy": {
			"default-src 'none'; style-src 'self'; " + images + "; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
		},
		"X-Frame-Options":            {"DENY"},
		"Cross-Origin-Opener-Policy": {"same-origin"},
		"Permissions-Policy":         {"camera=(), geolocation=(), microphone=()"},
	}
}
