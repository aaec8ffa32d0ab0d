package web

import (
	"maps"
	"net/http"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// profileContent is the content of the profile page.
type profileContent struct {
	Fields []profileField
	Name   page.Field
	Links  linkRows
	// Page says who can see the page.
	Page   choices
	Listed bool
	// Preview is what everyone sees; nil if only the member can see the page.
	Preview *account.Profile
	// Unsaved is set if the preview shows the form, not what is stored.
	Unsaved bool
	URL     string
}

func (v *request) showProfile() error {
	p, err := account.GetProfile(v.R.Context(), v.Store, v.Login.MemberID)
	if err != nil {
		return err
	}
	v.renderProfile(http.StatusOK, p, &page.Mistakes{}, false)
	return nil
}

func (v *request) renderProfile(status int, p *account.Profile, m *page.Mistakes, unsaved bool) {
	content := profileForm(p, m)
	content.Unsaved, content.URL = unsaved, v.BaseURL+"/api/human/"+p.Username
	if p.Visibility == account.Public {
		preview := *p
		preview.Reduce(account.Public)
		content.Preview = &preview
	}
	v.Render(status, "profile", page.Page{Title: "Your profile", Section: page.PathProfile, Errors: m.List, Content: content})
}

// saveProfile stores the form, or previews it.
func (v *request) saveProfile() error {
	p, err := account.GetProfile(v.R.Context(), v.Store, v.Login.MemberID)
	if err != nil {
		return err
	}
	readProfile(v.R.PostForm, p)
	m := &page.Mistakes{}
	if err := m.TakeAll(p.Check()); err != nil {
		return err
	}
	if len(m.List) > 0 {
		v.renderProfile(http.StatusUnprocessableEntity, p, m, true)
		return nil
	}
	if v.R.PostForm.Get("action") == "preview" {
		v.renderProfile(http.StatusOK, p, m, true)
		return nil
	}
	if err := account.UpdateProfile(v.R.Context(), v.Store, p); err != nil {
		return err
	}
	v.RedirectDone(page.PathProfile, "saved")
	return nil
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
