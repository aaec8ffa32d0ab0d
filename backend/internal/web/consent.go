package web

import (
	"net/http"
	"net/url"

	"github.com/kith-crm/kith/backend/internal/authserver"
	"github.com/kith-crm/kith/backend/internal/session"
)

// consentContent is the content of the consent page.
type consentContent struct {
	authserver.ConsentView

	// Action is where the answer goes.
	Action  string
	Choices scopeChoices
	// Local tells that the answer goes to a program on the member's own machine.
	Local bool
	// Again is this page's own address, for somebody else to sign in and come back.
	Again string
}

// Consent implements authserver.Pages. Whoever asks for it has looked the session
// up; the page needs no more of it.
func (web *Web) Consent(w http.ResponseWriter, r *http.Request, view authserver.ConsentView) {
	v := &visit{Web: web, w: w, r: r, login: &session.LoginSession{Username: view.Username}}
	setHeaders(w.Header())
	allowRedirect(w.Header(), view.RedirectURI)
	v.render(http.StatusOK, "consent", page{Title: "Allow access to your account?", Content: consentContent{
		ConsentView: view, Action: authserver.PathConsent, Choices: choicesOf(view.Scopes, func(string) bool { return true }),
		Local: isLocal(view.RedirectURI), Again: localPath(r.URL.RequestURI()),
	}})
}

func isLocal(uri string) bool {
	u, err := url.Parse(uri)
	return err == nil && u.Scheme == "http" // nothing but a loopback host may be plain http
}
