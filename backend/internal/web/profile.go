package web

import (
	"errors"
	"maps"
	"net/http"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/fault"
)

// profileContent is the content of the profile page.
type profileContent struct {
	Fields []profileField
	Name   field
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
	p, err := account.GetProfile(v.r.Context(), v.Store, v.login.MemberID)
	if err != nil {
		return err
	}
	v.renderProfile(http.StatusOK, p, &mistakes{}, false)
	return nil
}

func (v *request) renderProfile(status int, p *account.Profile, m *mistakes, unsaved bool) {
	content := profileForm(p, m)
	content.Unsaved, content.URL = unsaved, v.BaseURL+"/api/human/"+p.Username
	if p.Visibility == account.Public {
		preview := *p
		preview.Reduce(account.Public)
		content.Preview = &preview
	}
	v.render(status, "profile", page{Title: "Your profile", Section: pathProfile, Errors: m.list, Content: content})
}

// saveProfile stores the form, or previews it.
func (v *request) saveProfile() error {
	p, err := account.GetProfile(v.r.Context(), v.Store, v.login.MemberID)
	if err != nil {
		return err
	}
	readProfile(v.r.PostForm, p)
	m := &mistakes{}
	if err := m.takeAll(p.Check()); err != nil {
		return err
	}
	if len(m.list) > 0 {
		v.renderProfile(http.StatusUnprocessableEntity, p, m, true)
		return nil
	}
	if v.r.PostForm.Get("action") == "preview" {
		v.renderProfile(http.StatusOK, p, m, true)
		return nil
	}
	if err := account.UpdateProfile(v.r.Context(), v.Store, p); err != nil {
		return err
	}
	v.redirectDone(pathProfile, "saved")
	return nil
}

// takeAll adds the error of every invalid field, and returns any other error.
func (m *mistakes) takeAll(err error) error {
	var coded *fault.Error
	if err == nil || !errors.As(err, &coded) || coded.Code != fault.Invalid {
		return err
	}
	for _, f := range coded.Fields {
		m.add(f.Name, sentence(f.Message))
	}
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
