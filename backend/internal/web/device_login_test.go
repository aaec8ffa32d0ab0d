package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/web"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

const refuseDevice = account.PathDeviceLogin + "/refuse"

// beginLogin lets a program wait, and returns its secret and the address of its page.
func beginLogin(t *testing.T, s *webtest.Site, program, network string) (secret, path string) {
	t.Helper()
	secret, page, err := account.BeginDeviceLogin(t.Context(), s.Store, program, network)
	if err != nil {
		t.Fatal(err)
	}
	return secret, account.PathDeviceLogin + "?request=" + page
}

// devicesOf returns a member's devices.
func devicesOf(t *testing.T, s *webtest.Site, b *webtest.Browser) []account.PersonalToken {
	t.Helper()
	devices, err := account.ListDevices(t.Context(), s.Store, b.Owner)
	if err != nil {
		t.Fatal(err)
	}
	return devices
}

// TestDeviceLogin: a person opens the page that a program sends them to, signs in, and allows the program, which then gets its app password.
func TestDeviceLogin(t *testing.T) {
	t.Parallel()
	here := func(c *web.Config) { c.ClientAddress = func(*http.Request) string { return "203.0.113.77" } }
	webtest.Each(t, webtest.Options{Web: here}, func(t *testing.T, s *webtest.Site) {
		maria := s.SignedIn(t, "maria")
		secret, path := beginLogin(t, s, "DAVx5/4.5-ose <b>(okhttp 5)</b>", "203.0.113.0/24")
		b := s.Browser(t)
		asked := b.Follow(b.Get(path))
		want(t, asked, http.StatusOK, "Sign in")
		shown := b.Follow(b.Submit(asked, "/sign-in", webtest.Values("login", "maria", "password", webtest.Password)))
		want(t, shown, http.StatusOK, "calls itself DAVx5/4.5-ose <b>(okhttp 5)</b>", "maria", "Go on only if you began this yourself on your device just now.", "from the same network as this browser (203.0.113.0/24)")
		if strings.Contains(shown.Body, "<b>(") || strings.Contains(shown.Body, secret) {
			t.Error("the program's name is not escaped, or its secret is on the page")
		}
		if form := shown.Form(account.PathDeviceLogin); form.Get("name") != "DAVx5" {
			t.Errorf("the device has the name %q", form.Get("name"))
		}
		wrong := b.Submit(shown, account.PathDeviceLogin, webtest.Values("name", " ", "read_only", "yes"))
		want(t, wrong, http.StatusUnprocessableEntity, "calls itself DAVx5")
		wantRedirect(t, b.Submit(wrong, account.PathDeviceLogin, webtest.Values("name", "My phone")), "/settings/devices?done=device-allowed")
		want(t, b.Get("/settings/devices?done=device-allowed"), http.StatusOK, "Go back to the program", "My phone", "only reads", "not used yet")
		want(t, b.Get("/settings/security"), http.StatusOK, "Added the device “My phone”")

		username, password, err := account.FinishDeviceLogin(t.Context(), s.Store, secret)
		if err != nil {
			t.Fatal(err)
		}
		who, err := oauth.AuthenticateDevice(t.Context(), s.Store, username, password)
		if err != nil || who.Tenant != maria.Owner || who.Credential.Holds("write") {
			t.Errorf("%+v, %v", who, err)
		}
		want(t, b.Get(path), http.StatusNotFound, "This request has ended", "Start again in the program")
		want(t, b.Submit(shown, account.PathDeviceLogin, nil), http.StatusNotFound, "This request has ended")
		want(t, b.Post(refuseDevice, shown.Form(account.PathDeviceLogin)), http.StatusNotFound, "This request has ended")
		if n := len(devicesOf(t, s, maria)); n != 1 {
			t.Errorf("there are %d devices", n)
		}

		_, far := beginLogin(t, s, "", "198.51.100.0/24")
		want(t, b.Get(far), http.StatusOK, "A program without a name", "from another network than this browser (198.51.100.0/24)")
		_, unknown := beginLogin(t, s, "Mozilla/5.0 (Android)", "")
		if p := b.Get(unknown); strings.Contains(p.Text(), "network") {
			t.Errorf("a network that is not known is shown:\n%s", p.Text())
		}
	})
}

// TestDeviceLoginRefused: a person refuses a program, which gets nothing.
func TestDeviceLoginRefused(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		secret, path := beginLogin(t, s, "DAVx5", "")
		stale(s)
		wantRedirect(t, b.Post(refuseDevice, b.Get(path).Form(account.PathDeviceLogin)), "/settings/devices?done=device-refused")
		want(t, b.Get("/settings/devices?done=device-refused"), http.StatusOK, "The device is refused")
		want(t, b.Get(path), http.StatusNotFound, "This request has ended")
		if _, _, err := account.FinishDeviceLogin(t.Context(), s.Store, secret); !fault.Is(err, fault.NotFound) {
			t.Errorf("it gets a password: %v", err)
		}
		want(t, b.Get("/settings/devices"), http.StatusOK, "You have none")
	})
}

// TestDeviceLoginAttacks: nothing but a signed-in person, who has just proved who they are, on the page itself, allows a program.
func TestDeviceLoginAttacks(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		secret, path := beginLogin(t, s, "DAVx5", "")
		p := b.Get(path)
		request := p.Form(account.PathDeviceLogin).Get("request")
		for name, values := range map[string][]string{
			"no form token":           {"request", request, "name", "x"},
			"a wrong form token":      {"request", request, "name", "x", "form_token", "x"},
			"another's form token":    {"request", request, "name", "x", "form_token", tokenOf(s.SignedIn(t, "other").Get("/settings/devices"))},
			"the program's secret":    {"request", secret, "name", "x", "form_token", tokenOf(p)},
			"no request":              {"name", "x", "form_token", tokenOf(p)},
			"a request that is wrong": {"request", "\x00'--", "name", "x", "form_token", tokenOf(p)},
		} {
			for _, action := range []string{account.PathDeviceLogin, refuseDevice} {
				if answer := b.Post(action, webtest.Values(values...)); answer.Status != http.StatusForbidden && answer.Status != http.StatusNotFound {
					t.Errorf("%s to %s: %d", name, action, answer.Status)
				}
			}
		}
		for _, query := range []string{"", "?request=", "?request=" + secret, "?request=%00", "?request=" + strings.Repeat("x", 2000)} {
			want(t, b.Get(account.PathDeviceLogin+query), http.StatusNotFound, "This request has ended")
		}
		wantRedirect(t, s.Browser(t).Get(account.PathDeviceLogin+"?request=x"), "/sign-in?return_to=%2Fsettings%2Fdevices%2Flogin%3Frequest%3Dx")
		stale(s)
		proof := b.Submit(p, account.PathDeviceLogin, webtest.Values("name", "Mine"))
		wantConfirm(t, "without a proof", proof)
		if n := len(devicesOf(t, s, b)); n != 0 {
			t.Fatalf("%d devices are there", n)
		}
		wantRedirect(t, b.Submit(proof, account.PathDeviceLogin, webtest.Values("confirm_password", webtest.Password)), "/settings/devices?done=device-allowed")
		if devices := devicesOf(t, s, b); len(devices) != 1 || devices[0].Name != "Mine" {
			t.Errorf("the devices are %+v", devices)
		}
	})
}

// TestDeviceLoginWithoutRoom: a member with as many tokens as they may have is told so, and the program waits.
func TestDeviceLoginWithoutRoom(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	for range account.MaxTokens {
		device, _ := account.NewDevice(account.Access{Owner: b.Owner}, "x", true)
		if err := account.CreatePersonalToken(t.Context(), s.Store, device); err != nil {
			t.Fatal(err)
		}
	}
	_, path := beginLogin(t, s, "DAVx5", "")
	want(t, b.Submit(b.Get(path), account.PathDeviceLogin, nil), http.StatusUnprocessableEntity, "You have 50 tokens, devices and calendar feeds")
	want(t, b.Get(path), http.StatusOK)
}

// TestDeviceLoginWhenOff: a server without address books has no such page.
func TestDeviceLoginWhenOff(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{Web: func(c *web.Config) { c.DAV = false }})
	b := s.SignedIn(t, "maria")
	_, path := beginLogin(t, s, "DAVx5", "")
	want(t, b.Get(path), http.StatusNotFound)
	want(t, b.Post(account.PathDeviceLogin, webtest.Values("form_token", tokenOf(b.Get("/settings/devices")), "name", "x", "request", strings.TrimPrefix(path, account.PathDeviceLogin+"?request="))), http.StatusNotFound)
}
