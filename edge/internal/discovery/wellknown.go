package discovery

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/kith-crm/kith/edge/internal/httpapi"
	"github.com/kith-crm/kith/edge/internal/route"
)

const (
	pathChangePassword = "/.well-known/change-password"
	// pathPassword is the page with the form that changes the password.
	pathPassword = "/settings/security"
)

// SecurityOptions configure security.txt (RFC 9116). All but Now are required to serve it.
type SecurityOptions struct {
	// BaseURL is the public address, without a slash at the end.
	BaseURL string
	// Contacts are mailto:, https: or tel: URIs. Without any, the file is not served.
	Contacts []string
	// Expires is the time from which the contacts may be out of date and the file is not
	// served any more.
	Expires time.Time
	// Problems writes 404.
	Problems *httpapi.Problems
	// Now is the clock; time.Now if nil.
	Now func() time.Time
}

// WellKnownRoutes returns the routes of well-known addresses (RFC 8615) that are not specific to
// Kith: security.txt and the change of a password.
func WellKnownRoutes(o SecurityOptions) []route.Route {
	return []route.Route{
		{
			Name: "security-txt", Methods: []string{http.MethodGet}, Pattern: route.PathSecurity, State: route.Current, Protocol: route.HTTP, Anonymous: true,
			Summary: "Where to report vulnerabilities (RFC 9116), if the operator has set it.",
			Build:   func([]route.Route) (route.Handler, error) { return o.handler() },
		},
		{
			Name: "change-password", Methods: []string{http.MethodGet}, Pattern: pathChangePassword, State: route.Current, Protocol: route.Page, Anonymous: true,
			Summary: "Redirects to the page that changes the password, for password managers.",
			Handle: func(w http.ResponseWriter, r *http.Request, _ string) {
				w.Header().Set("Cache-Control", "no-store")
				http.Redirect(w, r, pathPassword, http.StatusSeeOther)
			},
		},
	}
}

// handler serves the file until it expires.
func (o SecurityOptions) handler() (route.Handler, error) {
	var text strings.Builder
	for _, contact := range o.Contacts {
		if err := checkContact(contact); err != nil {
			return nil, err
		}
		text.WriteString("Contact: " + contact + "\n")
	}
	fmt.Fprintf(&text, "Expires: %s\nPreferred-Languages: en\nCanonical: %s\n", o.Expires.UTC().Format(time.RFC3339), o.BaseURL+route.PathSecurity)
	file := httpapi.NewDocument("text/plain; charset=utf-8", []byte(text.String()), nil)
	now := o.Now
	if now == nil {
		now = time.Now
	}
	return func(w http.ResponseWriter, r *http.Request, argument string) {
		if len(o.Contacts) == 0 || !now().Before(o.Expires) {
			o.Problems.Write(w, r, httpapi.NotFound, "The operator of this server has not set a contact for vulnerabilities.")
			return
		}
		file.Serve(w, r, argument)
	}, nil
}

// checkContact fails unless a contact is one line with a URI that RFC 9116, section 2.5.3, allows.
func checkContact(contact string) error {
	u, err := url.Parse(contact)
	if err == nil && !strings.ContainsAny(contact, " \t\r\n") {
		switch u.Scheme {
		case "mailto", "tel":
			if u.Opaque != "" {
				return nil
			}
		case "https":
			if u.Host != "" {
				return nil
			}
		}
	}
	return errors.New("a security contact must be like mailto:security@example.com or https://example.com/security")
}
