package web

import (
	"net/http"
	"slices"

	"github.com/kith-crm/kith/backend/internal/authserver"
	"github.com/kith-crm/kith/backend/internal/grant"
	"github.com/kith-crm/kith/backend/internal/session"
)

// consentContent is the content of the consent page.
type consentContent struct {
	authserver.ConsentView

	// Action is where the answer goes.
	Action  string
	Choices scopeChoices
	// Destination is where the answer goes.
	Destination grant.Destination
	// Again is where the same is asked again, for somebody else to sign in and come back.
	Again string
}

// Consent implements authserver.Pages. Whoever asks for it has looked the session
// up; the page needs no more of it.
func (web *Web) Consent(w http.ResponseWriter, r *http.Request, view authserver.ConsentView) {
	v := &visit{Web: web, w: w, r: r, login: &session.LoginSession{Username: view.Username}}
	setHeaders(w.Header())
	destination, err := grant.DestinationOf(view.RedirectURI)
	if err != nil { // whoever asks for the page has checked it
		v.broken(err)
		return
	}
	allowRedirect(w.Header(), view.RedirectURI)
	content := consentContent{
		ConsentView: view, Action: authserver.PathConsent, Choices: choicesOf(view.Scopes, func(s string) bool { return slices.Contains(view.Ticked, s) }),
		Destination: destination, Again: localPath(view.Address),
	}
	status, wrong := http.StatusOK, &mistakes{}
	if view.Mistake != "" {
		status, content.Choices.Error = http.StatusUnprocessableEntity, view.Mistake
		wrong.add("scope", view.Mistake)
	}
	v.render(status, "consent", page{Title: "Allow access to your account?", Errors: wrong.list, Content: content})
}
