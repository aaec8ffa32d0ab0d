package web_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/web"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

func TestSettingsBeginWithTheAccount(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	wantRedirect(t, s.SignedIn(t, "maria").Get("/settings"), "/settings/account")
	wantRedirect(t, s.Browser(t).Get("/settings"), "/sign-in?return_to=%2Fsettings")
}

func TestProfile(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		page := b.Get("/settings/profile")
		change := map[string][]string{
			"name": {"María López"}, "headline": {"Builds houses"}, "bio": {"One\r\nTwo"}, "location": {"Bilbao"}, "country": {"es"},
			"organization": {"Helios"}, "title": {"Founder"}, "skills": {"Wood\r\nStone\r\n\r\nWood"}, "languages": {"Basque"}, "open_to": {"advice"},
			"link_label": {"Site", ""}, "link_url": {"https://maria.example", ""}, "avatar_url": {"https://maria.example/a.png"},
			"visibility": {"public"}, "listed": {"yes"},
			"visibility_headline": {"public"}, "visibility_bio": {"members"}, "visibility_links": {"public"}, "visibility_avatar_url": {"public"}, "visibility_skills": {"public"},
		}
		preview := b.Submit(page, "/settings/profile", merge(change, webtest.Values("action", "preview")))
		want(t, preview, http.StatusOK, "What everyone sees, once it is saved", "Builds houses", "Wood Stone")
		if p, err := account.GetProfile(t.Context(), s.Store, b.Owner); err != nil || p.Name != "maria" {
			t.Errorf("the preview was saved: %+v, %v", p, err)
		}
		wantRedirect(t, b.Submit(page, "/settings/profile", merge(change, webtest.Values("action", "save"))), "/settings/profile?done=saved")
		saved := b.Get("/settings/profile?done=saved")
		want(t, saved, http.StatusOK, "Your profile is saved.", "What everyone sees", "María López", s.URL+"/@maria")
		shown := webtest.TextOf(saved.ByID("preview"))
		for _, hidden := range []string{"One", "Bilbao", "Helios", "Founder", "Basque", "advice"} {
			if strings.Contains(shown, hidden) {
				t.Errorf("everyone sees %q", hidden)
			}
		}
		public, err := account.GetPublicProfiles(t.Context(), s.Store, []string{"maria"})
		if err != nil || len(public) != 1 || public[0].Country != "ES" || !public[0].Listed || public[0].Bio != "One\nTwo" ||
			public[0].FieldVisibility[account.FieldBio] != account.Members || public[0].FieldVisibility[account.FieldTitle] != account.Private {
			t.Errorf("kept: %+v, %v", public, err)
		}
		form := saved.Form("/settings/profile")
		if form.Get("listed") != "yes" || form.Get("visibility") != "public" || form.Get("visibility_bio") != "members" || form.Get("skills") != "Wood\nStone" {
			t.Errorf("the form contains %v", form)
		}
		wantRedirect(t, b.Submit(saved, "/settings/profile", map[string][]string{"listed": nil, "visibility": {"private"}}), "/settings/profile?done=saved")
		if public, err := account.GetPublicProfiles(t.Context(), s.Store, []string{"maria"}); err != nil || len(public) != 0 {
			t.Errorf("the private page is public: %v, %v", public, err)
		}
	})
}

func TestProfileMistakesAreExplained(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	typed := map[string]string{"name": " ", "bio": strings.Repeat("x", 4001), "country": "Spain"}
	change := webtest.Values("visibility", "public", "visibility_title", "all", "title", "Founder", "headline", "Builds houses", "visibility_headline", "public",
		"location", "Bilbao", "visibility_location", "public", "visibility_bio", "public",
		"link_label", "Site", "link_url", "https://a.example", "link_label", "mark-link", "link_url", "http://a.example", "visibility_links", "public", "avatar_url", "http://a.example/mark.png", "visibility_avatar_url", "public")
	for name, value := range typed {
		change.Set(name, value)
	}
	p := b.Submit(b.Get("/settings/profile"), "/settings/profile", change)
	want(t, p, http.StatusUnprocessableEntity, "Enter the name that others see.", "Use 4000 characters at most; these are 4001.", "Choose who sees each field.")
	if p.Heading() == "" || !strings.HasPrefix(webtest.TextOf(p.All("title")[0]), "Error: ") {
		t.Errorf("title: %s", webtest.TextOf(p.All("title")[0]))
	}
	wantAtFields(t, p, "/settings/profile", typed)
	for _, name := range []string{"links", "avatar_url", "visibility"} {
		if p.ByID(name+"-error") == nil {
			t.Errorf("%s has no error", name)
		}
	}
	if got := p.Form("/settings/profile")["link_url"]; !slices.Equal(got, []string{"https://a.example", "http://a.example", "", ""}) {
		t.Errorf("the links became %q", got)
	}
	for _, input := range p.All("input") {
		if name := webtest.Attr(input, "name"); name == "link_url" && webtest.Has(input, "aria-invalid") != (webtest.Attr(input, "value") == "http://a.example") {
			t.Errorf("the link %q is marked as wrong: %t", webtest.Attr(input, "value"), webtest.Has(input, "aria-invalid"))
		}
	}
	// The preview shows the rest.
	preview := p.ByID("preview")
	if !webtest.Has(folded(p)[0], "open") {
		t.Error("the preview of a form is folded")
	}
	for text, shown := range map[string]bool{"maria": true, "Builds houses": true, "Bilbao": true, "xxx": false, "Spain": false, "SPAIN": false, "Founder": false, "mark-link": false} {
		if strings.Contains(webtest.TextOf(preview), text) != shown {
			t.Errorf("the preview shows %q: %t", text, !shown)
		}
	}
	if len(p.All("img")) != 1 { // the icon
		t.Error("the preview loads a picture with a wrong address")
	}
}

// A form that is previewed keeps what was typed, however often it is previewed.
func TestPreviewKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	page := b.Get("/settings/profile")
	if details := folded(page); len(details) != 1 || webtest.Has(details[0], "open") || !strings.Contains(page.Body, "/assets/profile.js?v=") {
		t.Error("the preview of what is stored is not folded, or there is no script")
	}
	change := webtest.Values("action", "preview", "headline", "  Builds   houses ", "country", "es", "link_label", "Site", "link_url", "https://maria.example", "visibility", "public")
	for range 3 {
		page = b.Submit(page, "/settings/profile", change)
		want(t, page, http.StatusOK, "once it is saved")
		form := page.Form("/settings/profile")
		if form.Get("headline") != "  Builds   houses " || form.Get("country") != "es" || len(form["link_url"]) != 3 {
			t.Errorf("the form contains %v", form)
		}
		change = webtest.Values("action", "preview")
	}
}

func TestChangePassword(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		second := s.BrowserOf(t, b.Owner)
		access := grantOf(t, s, b)
		page := b.Get("/settings/security")
		old := b.Cookie("kith_session")
		for name, c := range map[string]struct {
			change map[string][]string
			words  string
		}{
			"a wrong password":   {webtest.Values("password", "wrong"), "This is not your password."},
			"no password":        {webtest.Values("password", ""), "This is not your password."},
			"a short one":        {webtest.Values("new_password", "x", "repeat_password", "x"), "Use 10 to 256 characters."},
			"a common one":       {webtest.Values("new_password", "Summer2024!", "repeat_password", "Summer2024!"), "easy to guess"},
			"the username in it": {webtest.Values("new_password", "oh maria oh", "repeat_password", "oh maria oh"), "Do not use your username"},
			"two that differ":    {webtest.Values("repeat_password", "x"), "The two passwords are not the same."},
		} {
			change := merge(webtest.Values("password", webtest.Password, "new_password", newPassword, "repeat_password", newPassword), c.change)
			if p := b.Submit(page, "/settings/security/password", change); p.Status != http.StatusUnprocessableEntity || !strings.Contains(p.Text(), c.words) {
				t.Errorf("%s: %d %s", name, p.Status, p.Text())
			}
		}
		if !isSignedIn(second) {
			t.Error("a rejected change ended a session")
		}
		change := webtest.Values("password", webtest.Password, "new_password", newPassword, "repeat_password", newPassword)
		wantRedirect(t, b.Submit(page, "/settings/security/password", change), "/settings/security?done=password-changed")
		if !isSignedIn(b) || isSignedIn(second) || b.Cookie("kith_session") == old {
			t.Error("the wrong sessions ended, or this one kept its secret")
		}
		if _, err := oauth.Authenticate(t.Context(), s.Store, access); err != nil {
			t.Errorf("the agent lost its access: %v", err)
		}
		want(t, signIn(second, "maria", webtest.Password, ""), http.StatusForbidden)
		wantRedirect(t, signIn(second, "maria", newPassword, ""), "/")
	})
}

// An open browser is not enough to guess the password.
func TestOwnPasswordIsLimited(t *testing.T) {
	t.Parallel()
	for action, page := range map[string]string{"/settings/security/password": "/settings/security", "/settings/account/delete": "/settings/account"} {
		t.Run(action, func(t *testing.T) {
			t.Parallel()
			s := webtest.New(t, webtest.Options{Web: func(c *web.Config) { c.Login = &account.RatePolicy{Quota: 2, Window: time.Minute} }})
			b := s.SignedIn(t, "maria")
			p := b.Get(page)
			for range 2 {
				want(t, b.Submit(p, action, webtest.Values("password", "wrong")), http.StatusUnprocessableEntity)
			}
			right := webtest.Values("username", "maria", "password", webtest.Password, "new_password", newPassword, "repeat_password", newPassword)
			want(t, b.Submit(p, action, right), http.StatusTooManyRequests)
			if !isSignedIn(b) {
				t.Error("the action was performed")
			}
		})
	}
}

// Each field is shown only to its audience, and the preview shows what everyone sees.
func TestPreviewFollowsTheVisibilityOfEachField(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	marks := map[string]string{
		"headline": "mark-headline", "bio": "mark-bio", "location": "mark-location", "organization": "mark-organization", "title": "mark-title",
		"skills": "mark-skill", "languages": "mark-language", "open_to": "mark-open", "links": "mark-link", "avatar_url": "https://a.example/mark.png",
	}
	if len(marks) != len(account.Fields()) {
		t.Fatalf("the fields are %v", account.Fields())
	}
	page := b.Get("/settings/profile")
	for _, field := range account.Fields() {
		for _, v := range []account.Visibility{account.Members, account.Public} { // while all others are private
			change := webtest.Values("action", "preview", "name", "mark-name", "visibility", "public", "link_label", marks["links"], "link_url", "https://a.example")
			for name, mark := range marks {
				change.Set(name, mark)
				change.Set("visibility_"+name, "private")
			}
			change.Del("links")
			change.Set("visibility_"+field, string(v))
			_, preview, found := strings.Cut(b.Submit(page, "/settings/profile", change).Body, "What everyone sees, once it is saved")
			preview, _, _ = strings.Cut(preview, "<form")
			if !found || !strings.Contains(preview, "mark-name") {
				t.Fatalf("no preview of %s", field)
			}
			for name, mark := range marks {
				if shown := strings.Contains(preview, mark); shown != (name == field && v == account.Public) {
					t.Errorf("%s has visibility %q: %s is shown: %t", field, v, name, shown)
				}
			}
		}
	}
	change := webtest.Values("action", "preview", "headline", "mark-headline", "visibility_headline", "public", "visibility", "members")
	if p := b.Submit(page, "/settings/profile", change); !strings.Contains(p.Text(), "Nothing: the page is not for everyone.") {
		t.Errorf("a page for members has a preview: %s", p.Text())
	}
}
