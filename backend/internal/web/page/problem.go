package page

import (
	"net/http"

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

// RenderProblem writes a page with one message. The zero Link leads to where the path
// belongs.
func (v *Request) RenderProblem(status int, title, text string, next Link) {
	if next == (Link{}) {
		next = v.next()
	}
	v.Render(status, "problem", Page{Title: title, Content: problemContent{Text: text, Next: next}})
}

// next returns where visitors can continue after an error: the section of the settings
// that they were in, the sign-in page, or the start page.
func (v *Request) next() Link {
	path := v.R.URL.Path
	section, inSettings := sectionOf(path)
	area, inArea := areaOf(path)
	switch {
	case v.Login != nil && inSettings:
		return Link{section.Path, "Back to " + section.Title}
	case v.Login != nil && inArea && area.Path != PathSettings:
		return Link{area.Path, "Back to " + area.Title}
	case v.Login != nil:
		return Link{PathSettings, "Go to your settings"}
	case path == PathReset && v.MailOn:
		return Link{PathForgot, "Ask for a new link"}
	case path == oauth.PathAuthorize:
		return Link{PathStart, "Go to the start page"}
	}
	return Link{PathSignIn, "Sign in"}
}

// sectionOf returns the section of the settings that a path belongs to.
func sectionOf(path string) (Section, bool) {
	for _, s := range Sections() {
		if below(path, s.Path) {
			return s, true
		}
	}
	return Section{}, false
}

// areaOf returns the area of the site that a path belongs to.
func areaOf(path string) (Section, bool) {
	for _, a := range areas() {
		if below(path, a.Path) {
			return a, true
		}
	}
	return Section{}, false
}

// Problem writes a page with one message, for a path that another package serves.
func (s *Site) Problem(w http.ResponseWriter, r *http.Request, status int, title, text string) {
	s.Guest(w, r).RenderProblem(status, title, text, Link{})
}

// Guest returns a request for a page that another handler renders. It shows who is signed
// in, if that can be found out.
func (s *Site) Guest(w http.ResponseWriter, r *http.Request) *Request {
	v := &Request{Site: s, W: w, R: r}
	SetHeaders(w.Header())
	if login, err := s.Current(r); err == nil && login != nil {
		v.Login, v.Secret = login, s.SessionSecret(r)
	}
	return v
}
