package page

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/kith-crm/kith/backend/internal/oauth"
)

// Link is a link from a page to where the visitor can go next.
type Link struct{ Path, Title string }

// problemContent is the content of a page with one message, usually an error, and a
// link to continue with.
type problemContent struct {
	Text string
	Next Link
}

// RenderProblem writes a page with one message. With the zero Link, the page links to the area of
// the site that its path is in.
func (v *Request) RenderProblem(status int, title, text string, next Link) error {
	if next == (Link{}) {
		next = v.next()
	}
	p := Page{Title: title, Content: problemContent{Text: text, Next: next}}
	if v.Login != nil || v.inDemo() {
		p.Area = areaOf(v.pathInArea())
	}
	return v.Render(status, "problem", p)
}

// next returns where visitors can continue after an error: the area of the site that they were in,
// the sign-in page, or the start page.
func (v *Request) next() Link {
	path := v.pathInArea()
	place, ok := PlaceOf(path)
	member := v.Login != nil || v.inDemo()
	switch {
	case member && ok && path != PathStart:
		return Link{v.To(place.Path), v.Text("Back to %s", v.Text(place.Title))}
	case member:
		return Link{v.To(PathStart), "Go to Today"}
	case path == PathReset && v.MailOn:
		return Link{PathForgot, "Ask for a new link"}
	case path == oauth.PathAuthorize:
		return Link{PathStart, "Go to the start page"}
	}
	return Link{PathSignIn, "Sign in"}
}

// pathInArea returns the path of the request without Base.
func (v *Request) pathInArea() string {
	return cmp.Or(strings.TrimPrefix(v.R.URL.Path, v.Base), PathStart)
}

// Problem writes a page with one message, for a path that another package serves.
func (s *Site) Problem(w http.ResponseWriter, r *http.Request, status int, title, text string) {
	_ = s.Guest(w, r).RenderProblem(status, title, text, Link{})
}

// Guest returns a request for a page that another handler renders. It shows who is signed
// in, if that can be found out.
func (s *Site) Guest(w http.ResponseWriter, r *http.Request) *Request {
	v := &Request{Site: s, W: w, R: r}
	SetHeaders(w.Header())
	if login, err := s.Current(r); err == nil && login != nil {
		v.Login, v.Secret = login, s.SessionSecret(r)
	}
	v.locale = v.localeOf(v.Login)
	return v
}
