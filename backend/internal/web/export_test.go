package web

import (
	"io"
	"slices"

	"github.com/kith-crm/kith/backend/internal/web/calendars"
	"github.com/kith-crm/kith/backend/internal/web/grouping"
	"github.com/kith-crm/kith/backend/internal/web/importing"
	"github.com/kith-crm/kith/backend/internal/web/page"
	"github.com/kith-crm/kith/backend/internal/web/review"
)

// allRoutes returns all routes except the assets and those of package contacts.
func allRoutes() []page.Route {
	imports, err := importing.Routes(nil)
	if err != nil {
		panic(err)
	}
	return slices.Concat(grouping.Routes(nil), (&review.Pages{}).Routes(), imports, calendars.Routes(nil, nil), (&Web{}).routes())
}

// Routes returns the patterns of all routes except the assets and those of package contacts.
func Routes() []string {
	var patterns []string
	for _, r := range allRoutes() {
		patterns = append(patterns, r.Pattern)
	}
	return patterns
}

// FreshRoutes returns the patterns of the routes that need a fresh proof of who the member is, with the
// password field of each.
func FreshRoutes() map[string]string {
	fresh := map[string]string{}
	for _, r := range allRoutes() {
		if r.Fresh {
			fresh[r.Pattern] = r.Password
		}
	}
	return fresh
}

// OnVerify calls f with every hash that a password is checked against. Call it before
// the site serves requests.
func (web *Web) OnVerify(f func(hash string)) {
	verify := web.verifyHash
	web.verifyHash = func(hash, given string) bool {
		f(hash)
		return verify(hash, given)
	}
}

// WriteProfile writes a configuration profile, as newProfile makes it.
func WriteProfile(out io.Writer, baseURL, username, password, title, purpose string) error {
	p, err := newProfile(baseURL, username, password, title, purpose)
	if err != nil {
		return err
	}
	return p.write(out)
}
