package discovery_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/edge/internal/discovery"
	"github.com/kith-crm/kith/edge/internal/httpapi"
	"github.com/kith-crm/kith/edge/internal/route"
)

// wellKnown requests a path of the routes, and returns the error of a route that cannot be built.
func wellKnown(o discovery.SecurityOptions, path string) (*httptest.ResponseRecorder, error) {
	w := httptest.NewRecorder()
	for _, r := range discovery.WellKnownRoutes(o) {
		if r.Pattern != path {
			continue
		}
		handle := r.Handle
		if handle == nil {
			var err error
			if handle, err = r.Build([]route.Route{r}); err != nil {
				return nil, err
			}
		}
		handle(w, httptest.NewRequest(http.MethodGet, path, nil), "")
	}
	return w, nil
}

// security.txt has the fields that RFC 9116 requires, until it expires; without a contact there is
// none.
func TestSecurityText(t *testing.T) {
	t.Parallel()
	expires := time.Date(2027, 5, 4, 0, 0, 0, 0, time.UTC)
	o := discovery.SecurityOptions{
		BaseURL: "https://kith.example", Contacts: []string{"mailto:security@kith.example", "https://kith.example/security"}, Expires: expires,
		Problems: httpapi.NewProblems("https://kith.example"), Now: func() time.Time { return expires.Add(-time.Second) },
	}
	w, err := wellKnown(o, "/.well-known/security.txt")
	if err != nil {
		t.Fatal(err)
	}
	const want = "Contact: mailto:security@kith.example\nContact: https://kith.example/security\nExpires: 2027-05-04T00:00:00Z\nPreferred-Languages: en\n" +
		"Canonical: https://kith.example/.well-known/security.txt\n"
	if w.Code != http.StatusOK || w.Body.String() != want || w.Header().Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("%d %v\n%s", w.Code, w.Header(), w.Body)
	}
	over, none := o, o
	over.Now = func() time.Time { return expires }
	none.Contacts = nil
	for name, o := range map[string]discovery.SecurityOptions{"over": over, "none": none} {
		if w, err := wellKnown(o, "/.well-known/security.txt"); err != nil || w.Code != http.StatusNotFound || strings.Contains(w.Body.String(), "Contact:") {
			t.Errorf("%s: %v, %v", name, w, err)
		}
	}
	for _, wrong := range []string{"security@kith.example", "http://kith.example", "mailto:", "https://", "mailto:a@b.example\nExpires: never", "javascript:alert(1)", ""} {
		o.Contacts = []string{wrong}
		if _, err := wellKnown(o, "/.well-known/security.txt"); err == nil {
			t.Errorf("%q is a contact", wrong)
		}
	}
}

// Password managers are redirected to the page that changes the password.
func TestChangePassword(t *testing.T) {
	t.Parallel()
	w, err := wellKnown(discovery.SecurityOptions{}, "/.well-known/change-password")
	if err != nil || w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/settings/security" {
		t.Errorf("%v, %v", w, err)
	}
}
