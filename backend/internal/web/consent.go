package web

import (
	"net/http"
	"strconv"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// consentContent is the content of the consent page.
type consentContent struct {
	oauth.ConsentView

	// Action is the address that the form is sent to.
	Action string
	Allow  allowForm
	// Durations are for how long the access may last.
	Durations []page.Option
	// Today is set if the client was first seen on this day.
	Today bool
	// Destination is where the authorization response is sent.
	Destination oauth.Destination
	// Publisher is the host of the client's metadata document; nil for a registered
	// client. Elsewhere is set if the response goes to another website than that.
	Publisher *oauth.Destination
	Elsewhere bool
	// Again is the address of the same authorization request, to return to after
	// signing in as another member.
	Again string
}

// Consent implements oauth.Pages. The caller has already looked up the session; the
// page needs only its username.
func (web *Web) Consent(w http.ResponseWriter, r *http.Request, view oauth.ConsentView) {
	v := &request{Web: web, Request: &page.Request{Site: web.site, W: w, R: r, Login: &account.LoginSession{Username: view.Username}}}
	v.SetLocale(view.Locale)
	page.SetHeaders(w.Header())
	destination, err := oauth.DestinationOf(view.RedirectURI)
	if err != nil { // the caller has checked it
		_ = v.Broken(err)
		return
	}
	publisher, err := publisherOf(view.DocumentURL)
	if err != nil {
		_ = v.Broken(err)
		return
	}
	page.AllowRedirect(w.Header(), view.RedirectURI)
	content := consentContent{
		Publisher: publisher, Elsewhere: publisher != nil && !destination.Loopback && destination.Domain != publisher.Domain,
		ConsentView: view, Action: oauth.PathConsent,
		Allow: allowFormOf(v.Format(), view.Scopes, view.Ticked, view.Presets, view.Preset), Durations: durations(view.Days),
		Today:       view.FirstSeen.After(web.Now().Add(-24 * time.Hour)),
		Destination: destination, Again: page.LocalPath(view.Address),
	}
	status, wrong := http.StatusOK, &page.Mistakes{}
	if view.Mistake != "" {
		status, content.Allow.Field, content.Allow.Error = http.StatusUnprocessableEntity, view.Field, view.Mistake
		wrong.Add(view.Field, view.Mistake)
	}
	_ = v.Render(status, "consent", page.Page{Title: "Allow access to your account?", Errors: wrong.List, Script: page.ScriptConsent, Content: content})
}

// durations returns for how long access may be allowed; the chosen one is selected.
func durations(chosen int) []page.Option {
	out := []page.Option{}
	for _, days := range oauth.Durations() {
		c := page.Option{Value: strconv.Itoa(days), Label: strconv.Itoa(days) + " days", Selected: days == chosen}
		if days == 0 {
			c.Label = "Until I revoke it"
		}
		out = append(out, c)
	}
	return out
}

// publisherOf returns the host of a client ID metadata document, in a form that people
// can check; nil if there is no document.
func publisherOf(documentURL string) (*oauth.Destination, error) {
	if documentURL == "" {
		return nil, nil
	}
	host, err := oauth.DestinationOf(documentURL)
	return &host, err
}
