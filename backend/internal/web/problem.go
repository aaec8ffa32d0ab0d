package web

import (
	"strings"

	"github.com/kith-crm/kith/backend/internal/oauth"
)

// pathStart is the page that the edge shows for the path "/".
const pathStart = "/"

// link is a link from a page to where the visitor can go next.
type link struct{ Path, Title string }

// problemContent is the content of a page with one message, usually an error, and a
// link to continue with.
type problemContent struct {
	Text string
	Next link
}

func (v *request) renderProblem(status int, title, text string, next link) {
	if next == (link{}) {
		next = v.next()
	}
	v.render(status, "problem", page{Title: title, Content: problemContent{Text: text, Next: next}})
}

// next returns where visitors can continue after an error: the section of the settings
// that they were in, the sign-in page, or the start page.
func (v *request) next() link {
	path := v.r.URL.Path
	section, inSettings := sectionOf(path)
	switch {
	case v.login != nil && inSettings:
		return link{section.Path, "Back to " + section.Title}
	case v.login != nil:
		return link{pathSettings, "Go to your settings"}
	case path == pathReset && v.Mailer != nil:
		return link{pathForgot, "Ask for a new link"}
	case path == oauth.PathAuthorize:
		return link{pathStart, "Go to the start page"}
	}
	return link{pathSignIn, "Sign in"}
}

// sectionOf returns the section of the settings that a path belongs to.
func sectionOf(path string) (section, bool) {
	for _, s := range sections() {
		if path == s.Path || strings.HasPrefix(path, s.Path+"/") {
			return s, true
		}
	}
	return section{}, false
}
