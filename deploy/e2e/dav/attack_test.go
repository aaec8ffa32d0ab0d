// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/dav -run 'TestDeviceAttacks|TestGuessedPasswords'
// What the server alone can be attacked with is tested in backend/internal/dav.

package dav

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// basicOf returns the header with a user name and a password.
func basicOf(username, password string) string {
	return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(username+":"+password))
}

const grace = "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:a\r\nFN:Grace Hopper\r\nN:Hopper;Grace;;;\r\nEND:VCARD\r\n"

// TestDeviceAttacks: the cookie of a browser opens no address book, the password of a device opens nothing else, and another site
// makes a browser do nothing, even if it knows both.
func TestDeviceAttacks(t *testing.T) {
	harness.EachTopology(t, func(t *testing.T, s *harness.Service) {
		person, browser := s.NewPerson(t), s.NewSession(t)
		browser.SignIn(t, person)
		ada := &harness.Member{Service: s, Username: person["MEMBER_USERNAME"]}
		password := newDevice(t, ada)
		basic, book := basicOf(ada.Username, password), "/dav/"+ada.Username+"/books/people/"
		if got := s.Send(t, http.MethodPut, book+"a.vcf", grace, basic); got.Status != http.StatusCreated {
			t.Fatalf("PUT: %d %s", got.Status, got.Body)
		}
		base, err := url.Parse(s.Base)
		if err != nil {
			t.Fatal(err)
		}
		var cookies []string
		for _, c := range browser.Client.Jar.Cookies(base) {
			cookies = append(cookies, c.Name+"="+c.Value)
		}
		cookie := "Cookie: " + strings.Join(cookies, "; ")
		if got := s.Send(t, http.MethodGet, "/settings/devices", "", cookie); got.Status != http.StatusOK {
			t.Fatalf("the browser is not signed in: %d", got.Status)
		}
		t.Run("cookies", func(t *testing.T) {
			for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete, http.MethodOptions, "PROPFIND", "PROPPATCH", "REPORT"} {
				for _, headers := range [][]string{{cookie}, {cookie, basicOf(ada.Username, person["MEMBER_PASSWORD"])}, {cookie, basicOf(ada.Username, "")}, {cookie, basic, basic}} {
					got := s.Send(t, method, book+"a.vcf", grace, headers...)
					if got.Status != http.StatusUnauthorized || !strings.HasPrefix(got.Header.Get("WWW-Authenticate"), "Basic ") || got.Header.Get("Set-Cookie") != "" {
						t.Errorf("%s with %d headers: %d %v", method, len(headers), got.Status, got.Header)
					}
				}
			}
		})
		t.Run("another site", func(t *testing.T) { fromAnotherSite(t, s, book, cookie, basic) })
		t.Run("elsewhere", func(t *testing.T) { deviceElsewhere(t, s, basic, password) })
		t.Run("large cards", func(t *testing.T) {
			large := strings.Replace(grace, "END:VCARD", "NOTE:"+strings.Repeat("x", 5<<20)+"\r\nEND:VCARD", 1)
			if got := s.Send(t, http.MethodPut, book+"b.vcf", large, basic); got.Status != http.StatusRequestEntityTooLarge {
				t.Errorf("5 MB: %d %s", got.Status, got.Body)
			}
			chunked := "PUT " + book + "b.vcf HTTP/1.1\r\nHost: " + s.Addr + "\r\n" + basic + "\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n500000\r\n" + large
			if got := s.SendRaw(t, chunked); got.Status != http.StatusRequestEntityTooLarge {
				t.Errorf("5 MB in chunks: %d %s", got.Status, got.Body)
			}
		})
		if got := s.Send(t, http.MethodGet, book+"a.vcf", "", basic); !strings.Contains(got.Body, "FN:Grace Hopper\r\n") {
			t.Errorf("the card is %d %s", got.Status, got.Body)
		}
		if found := ada.Agent(t).Find(t, "Hopper"); len(found) != 1 {
			t.Errorf("there are %v", found)
		}
	})
}

// fromAnotherSite sends what a form or a script of another site can send.
func fromAnotherSite(t *testing.T, s *harness.Service, book, cookie, basic string) {
	t.Helper()
	const origin, site = "Origin: https://evil.example", "Sec-Fetch-Site: cross-site"
	for _, media := range []string{harness.FormType, "multipart/form-data; boundary=x", "text/plain"} {
		for _, path := range []string{"/dav/", book, book + "a.vcf", "/.well-known/carddav"} {
			got := s.Send(t, http.MethodPost, path, grace, cookie, basic, origin, site, "Content-Type: "+media, "X-HTTP-Method-Override: PUT")
			if got.Status != http.StatusMethodNotAllowed || got.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("POST %s as %s: %d %v", path, media, got.Status, got.Header)
			}
		}
	}
	for _, method := range []string{http.MethodPut, http.MethodDelete, "PROPFIND"} {
		got := s.Send(t, http.MethodOptions, book+"a.vcf", "", origin, site, "Access-Control-Request-Method: "+method, "Access-Control-Request-Headers: authorization")
		for _, name := range []string{"Access-Control-Allow-Origin", "Access-Control-Allow-Methods", "Access-Control-Allow-Headers", "Access-Control-Allow-Credentials"} {
			if got.Header.Get(name) != "" {
				t.Errorf("the preflight of %s: %d, %s is %q", method, got.Status, name, got.Header.Get(name))
			}
		}
	}
	got := s.Send(t, http.MethodGet, book+"a.vcf", "", cookie, basic, origin, site)
	if got.Header.Get("Access-Control-Allow-Origin") != "" || got.Header.Get("X-Content-Type-Options") != "nosniff" || got.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("another site may read the card: %v", got.Header)
	}
}

// deviceElsewhere uses the password of a device where it does not belong.
func deviceElsewhere(t *testing.T, s *harness.Service, basic, password string) {
	t.Helper()
	for _, path := range []string{"/today", "/people", "/activity", "/decide", "/settings/devices", "/settings/profile", "/settings/security", "/settings/account/export"} {
		got, stranger := s.Send(t, http.MethodGet, path, "", basic), s.Send(t, http.MethodGet, path, "")
		if got.Status != stranger.Status || got.Header.Get("Location") != stranger.Header.Get("Location") || got.Status == http.StatusOK {
			t.Errorf("%s: %d to %q, and for a stranger %d to %q", path, got.Status, got.Header.Get("Location"), stranger.Status, stranger.Header.Get("Location"))
		}
	}
	ping := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	for _, header := range []string{basic, "Authorization: Bearer " + password} {
		for _, path := range []string{harness.PathCurrent, harness.PathDeprecated} {
			if got := s.Send(t, http.MethodPost, path, ping, header, harness.JSONType, "Accept: application/json, text/event-stream"); got.Status != http.StatusUnauthorized {
				t.Errorf("%s: %d %s", path, got.Status, got.Body)
			}
		}
		if got := s.Send(t, http.MethodPost, "/api/jobs", `{"kind":"embed_objects"}`, header, harness.JSONType); got.Status != http.StatusUnauthorized {
			t.Errorf("/api/jobs: %d %s", got.Status, got.Body)
		}
		if got := s.Send(t, http.MethodPost, "/oauth/token", "grant_type=client_credentials", header, "Content-Type: "+harness.FormType); got.Status < 400 || strings.Contains(got.Body, "access_token") {
			t.Errorf("/oauth/token: %d %s", got.Status, got.Body)
		}
	}
	if got := s.Send(t, http.MethodGet, "/calendar/"+password+".ics", "", basic); got.Status != http.StatusNotFound {
		t.Errorf("as the address of a calendar: %d", got.Status)
	}
}

// TestGuessedPasswords: the requests of an address are limited, so that it cannot guess on. A right password does not get it past the
// limit, and does not end it.
func TestGuessedPasswords(t *testing.T) {
	t.Parallel()
	s := harness.NewService(t, harness.EdgeTopology())
	s.Settings["KITH_RATE_DAV"] = "20/3600"
	s.Start()
	ada := s.NewMember(t)
	right := basicOf(ada.Username, newDevice(t, ada))
	for i := range 20 {
		username, want := ada.Username, http.StatusUnauthorized
		if i%2 == 1 {
			username = "nobody"
		}
		header := basicOf(username, "aaaa-bbbb-cccc-dddd-eeee-"+harness.NewWord()[:4])
		if i == 10 {
			header, want = right, http.StatusMultiStatus
		}
		got := s.Send(t, "PROPFIND", "/dav/", "", header)
		if got.Status != want {
			t.Fatalf("guess %d: %d %s", i, got.Status, got.Body)
		}
	}
	for _, path := range []string{"/dav/", "/dav/" + ada.Username + "/", "/.well-known/carddav"} {
		for _, header := range []string{right, basicOf(ada.Username, "aaaa-bbbb-cccc-dddd-eeee-ffff")} {
			got := s.Send(t, "PROPFIND", path, "", header)
			if got.Status != http.StatusTooManyRequests || got.Header.Get("Retry-After") == "" || got.Header.Get("WWW-Authenticate") != "" {
				t.Errorf("%s over the limit: %d %v", path, got.Status, got.Header)
			}
		}
	}
}
