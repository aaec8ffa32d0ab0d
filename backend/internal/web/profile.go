package web

import (
	"maps"
	"net/http"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/web/page"
	directoryv1 "github.com/kith-crm/kith/proto/gen/kith/directory/v1"
)

// profileContent is the content of the profile page.
type profileContent struct {
	// Page says who can see the page.
	Page     page.Select
	Listed   bool
	Sections []profileSection
	// Preview is what everyone sees; nil if only members or the member can see the page.
	Preview *directoryv1.Profile
	// Unsaved is set if the preview shows the form, not what is stored.
	Unsaved bool
	URL     string
}

func (v *request) showProfile() error {
	p, err := account.GetProfile(v.R.Context(), v.Store, v.Login.MemberID)
	if err != nil {
		return err
	}
	return v.renderProfile(http.StatusOK, p, account.Published(p), &page.Mistakes{}, false)
}

// renderProfile shows the form with the values of a profile, beside a preview.
func (v *request) renderProfile(status int, p *account.Profile, preview *directoryv1.Profile, m *page.Mistakes, unsaved bool) error {
	content := profileForm(p, m)
	content.Preview, content.Unsaved, content.URL = preview, unsaved, v.BaseURL+"/@"+p.Username
	return v.Render(status, "profile", page.Page{
		Title: "Your profile", Section: page.PathProfile, Errors: m.List, Script: page.ScriptProfile, Content: content,
	})
}

// saveProfile stores the form, or previews it.
func (v *request) saveProfile() error {
	p, err := account.GetProfile(v.R.Context(), v.Store, v.Login.MemberID)
	if err != nil {
		return err
	}
	before := *p
	before.FieldVisibility = maps.Clone(p.FieldVisibility)
	readProfile(v.R.PostForm, p)
	typed := *p
	m := &page.Mistakes{}
	if err := m.TakeAll(p.Check()); err != nil {
		return err
	}
	if len(m.List) > 0 {
		return v.renderProfile(http.StatusUnprocessableEntity, &typed, previewOf(p, m), m, true)
	}
	if v.R.PostForm.Get("action") == "preview" {
		return v.renderProfile(http.StatusOK, &typed, account.Published(p), m, true)
	}
	if err := account.UpdateProfile(v.R.Context(), v.Store, p); err != nil {
		return err
	}
	if p.ShowsMore(&before) {
		v.record(account.ProfileShown, v.Login.MemberID, "")
	}
	return v.RedirectDone(page.PathProfile, "saved")
}

// previewOf returns what everyone would see of a checked form without the fields that have
// an error.
func previewOf(p *account.Profile, m *page.Mistakes) *directoryv1.Profile {
	shown := *p
	for _, e := range m.List {
		switch e.Name {
		case account.FieldName:
			shown.Name = shown.Username
		case account.FieldCountry:
			shown.Country = ""
		default:
			shown.FieldVisibility = withVisibility(shown.FieldVisibility, e.Name, account.Private)
		}
	}
	return account.Published(&shown)
}

// withVisibility returns the visibilities with one changed.
func withVisibility(all map[string]account.Visibility, field string, to account.Visibility) map[string]account.Visibility {
	all = maps.Clone(all)
	if all == nil {
		all = map[string]account.Visibility{}
	}
	all[field] = to
	return all
}
