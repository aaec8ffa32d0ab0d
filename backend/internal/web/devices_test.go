package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// makeDevice adds a device and returns the page that shows its app password.
func makeDevice(b *webtest.Browser, name string) *webtest.Page {
	return b.Follow(b.Submit(b.Get("/settings/devices"), "/settings/devices", webtest.Values("name", name)))
}

// TestDevices: a member adds a device, sees its app password once, and removes it.
func TestDevices(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		empty := b.Get("/settings/devices")
		want(t, empty, http.StatusOK, "You have none")
		want(t, b.Submit(empty, "/settings/devices", webtest.Values("name", " ")), http.StatusUnprocessableEntity)
		made := makeDevice(b, "My phone")
		want(t, made, http.StatusOK, "The device “My phone” is added", "maria", "Undo everything since…")
		password := webtest.TextOf(made.ByID("app-password"))
		who, err := oauth.AuthenticateDevice(t.Context(), s.Store, "maria", password)
		if err != nil || !who.Credential.Holds("write") || who.Tenant != b.Owner {
			t.Fatalf("the password is that of %+v, %v", who, err)
		}
		if listed := b.Get("/settings/devices"); strings.Contains(listed.Body, password) || !strings.Contains(listed.Text(), "not used yet") {
			t.Error("the password is shown again, or the use is not")
		}
		want(t, b.Get("/settings/security"), http.StatusOK, "Added the device “My phone”")
		if undo := b.Get(webtest.LinkTo(made, "Undo everything since… My phone")); undo.Status != http.StatusOK || !strings.Contains(undo.Text(), "Undo everything since when?") {
			t.Errorf("the link to undo shows %d: %s", undo.Status, undo.Heading())
		}

		form := made.Form("/settings/devices/remove")
		other := s.SignedIn(t, "other")
		theirs := webtest.Values("form_token", tokenOf(other.Get("/settings/devices")), "id", form.Get("id"))
		want(t, other.Post("/settings/devices/remove", theirs), http.StatusNotFound)
		wantRedirect(t, b.Submit(made, "/settings/devices/remove", nil), "/settings/devices?done=device-removed")
		if _, err := oauth.AuthenticateDevice(t.Context(), s.Store, "maria", password); err == nil {
			t.Error("the password of a removed device works")
		}
		want(t, b.Get("/settings/devices?done=device-removed"), http.StatusOK, "The device is removed", "You have none")

		reader := b.Follow(b.Submit(b.Get("/settings/devices"), "/settings/devices", webtest.Values("name", "Reader", "read_only", "yes")))
		want(t, reader, http.StatusOK, "only reads")
		devices, err := account.ListDevices(t.Context(), s.Store, b.Owner)
		if err != nil || len(devices) != 1 || !devices[0].ReadOnly() {
			t.Errorf("the devices are %+v, %v", devices, err)
		}
	})
}
