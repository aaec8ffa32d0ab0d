package web

import (
	"strings"

	"github.com/kith-crm/kith/backend/internal/oauth"
)

// pathStart is what the edge shows to whoever comes without a path.
const pathStart = "/"

// link is a way on from a page.
type link struct{ Path, Title string }

// problemContent is the content of a page that tells of one thing, most often of
// something that went wrong, and where to go from there.
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

// next is where visitors go on whom a page could not serve: back to the section
// of the settings that they were in, to sign in, or to the start.
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

// sectionOf returns the section of the settings that a path is in.
func sectionOf(path string) (section, bool) {
	for _, s := range sections() {
		if path == s.Path || strings.HasPrefix(path, s.Path+"/") {
			return s, true
		}
	}
	return section{}, false
}
