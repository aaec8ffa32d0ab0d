package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// The time zone is chosen on the account page, which shows the present time there, and
// the activity page follows. The change is listed there and can be undone.
func TestTimeZone(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b, other := s.SignedIn(t, "maria"), s.SignedIn(t, "other")
		page := b.Get("/settings/time")
		in := func(zone string) string { return s.Clock.Now().In(civil.Zone(zone)).Format("2 January 2006, 15:04") }
		want(t, page, http.StatusOK, "In UTC it is now "+in("UTC")+" UTC.")
		if form := page.Form("/settings/time"); form.Get("timezone") != "UTC" || form.Get("locale") != "en" {
			t.Errorf("the form contains %v", form)
		}
		if list := webtest.Attr(page.ByID("timezone"), "list"); list == "" || len(page.All("option")) < 400 || page.ByID(list) == nil {
			t.Errorf("there is no list %q of zones", list)
		}
		if offer := page.ByID("browser-zone"); !strings.Contains(webtest.Attr(offer, "class"), "waiting") || webtest.Attr(offer, "type") != "button" || !strings.Contains(page.Body, "/assets/zone.js?v=") {
			t.Error("the browser's zone is offered without the script, or never")
		}
		if policy := page.Header.Get("Content-Security-Policy"); policy != membersPolicy {
			t.Errorf("the policy is %s", policy)
		}
		japanese := s.Clock.Now().In(civil.Zone("Asia/Tokyo")).Format("2006/01/02, 15:04")
		change := webtest.Values("timezone", " asia/tokyo", "locale", "ja_jp")
		wantRedirect(t, b.Submit(page, "/settings/time", change), "/settings/time?done=time-saved")
		saved := b.Get("/settings/time?done=time-saved")
		want(t, saved, http.StatusOK, "Your time zone and your language are saved.", "In Asia/Tokyo it is now "+japanese+" JST.")
		if form := saved.Form("/settings/time"); form.Get("timezone") != "Asia/Tokyo" || form.Get("locale") != "ja-JP" {
			t.Errorf("the form contains %v", form)
		}
		wantRedirect(t, b.Submit(saved, "/settings/time", nil), "/settings/time?done=time-saved")
		if theirs, err := account.GetSettings(t.Context(), s.Store.Tenant(other.Owner, true)); err != nil || theirs.Timezone != "UTC" {
			t.Errorf("the other's: %+v, %v", theirs, err)
		}

		activity := b.Get("/activity")
		want(t, activity, http.StatusOK, "Set the time zone to Asia/Tokyo and the locale to ja-JP", japanese+" JST")
		changes, err := history.ListChanges(t.Context(), s.Store.Tenant(b.Owner, true), history.Query{Limit: 2})
		if err != nil || len(changes) != 1 {
			t.Fatalf("the same settings are a change: %v, %v", changes, err)
		}
		undo := b.Get(webtest.UndoPath(changes[0].ID))
		want(t, undo, http.StatusOK, "Your settings: will be as before (locale, time zone).")
		b.Submit(undo, "/activity/undo", nil)
		if now, err := account.GetSettings(t.Context(), s.Store.Tenant(b.Owner, true)); err != nil || now != (account.Settings{Timezone: "UTC", Locale: "en"}) {
			t.Errorf("undone: %+v, %v", now, err)
		}
	})
}

func TestTimeZoneMistakesAreExplained(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	p := b.Submit(b.Get("/settings/time"), "/settings/time", webtest.Values("timezone", "Berlin", "locale", "<b>German"))
	want(t, p, http.StatusUnprocessableEntity, "In UTC it is now ",
		"There is no time zone \"Berlin\": give an IANA name, such as Europe/Berlin; nearest: \"Europe/Berlin\"", "\"<b>German\" is no locale:")
	wantAtFields(t, p, "/settings/time", map[string]string{"timezone": "Berlin", "locale": "<b>German"})
	if now, err := account.GetSettings(t.Context(), s.Store.Tenant(b.Owner, true)); err != nil || now.Timezone != "UTC" {
		t.Errorf("kept: %+v, %v", now, err)
	}
	// One wrong field keeps the other from being saved.
	b.Submit(p, "/settings/time", webtest.Values("timezone", "Europe/Berlin"))
	if now, err := account.GetSettings(t.Context(), s.Store.Tenant(b.Owner, true)); err != nil || now.Timezone != "UTC" {
		t.Errorf("kept: %+v, %v", now, err)
	}
	for _, gone := range []string{"timezone", "locale"} {
		if p := b.Submit(b.Get("/settings/time"), "/settings/time", map[string][]string{gone: nil}); p.Status != http.StatusUnprocessableEntity {
			t.Errorf("without %s: %d", gone, p.Status)
		}
	}
}
