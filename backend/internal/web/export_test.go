package web

import (
	"github.com/kith-crm/kith/backend/internal/web/grouping"
	"github.com/kith-crm/kith/backend/internal/web/review"
)

// Routes returns the patterns of all routes except the assets and those of package contacts.
func Routes() []string {
	var patterns []string
	for _, r := range append((&grouping.Pages{}).Routes(), (&review.Pages{}).Routes()...) {
		patterns = append(patterns, r.Pattern)
	}
	for _, r := range routes() {
		patterns = append(patterns, r.pattern)
	}
	return patterns
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
