package dav_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/dav"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
)

// davx5 is what DAVx⁵ calls itself.
const davx5 = "DAVx5/4.5-ose (okhttp 5) Android/15"

// stranger sends a request without a credential, as a program does that wants to be a device.
func (s *site) stranger(method, path, body, program string) answer {
	s.Helper()
	r := httptest.NewRequestWithContext(s.Context(), method, path, strings.NewReader(body))
	r.Header.Set("User-Agent", program)
	r.Header.Set("Test-Address", "203.0.113.7")
	if body != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	w := httptest.NewRecorder()
	s.server.ServeHTTP(w, r)
	return answer{w.Code, w.Result().Header, w.Body.String()}
}

// read reads a JSON answer with a status.
func read[T any](s *site, a answer, status int) (out T) {
	s.Helper()
	decoder := json.NewDecoder(strings.NewReader(a.body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&out); err != nil || a.status != status || a.header.Get("Content-Type") != "application/json; charset=utf-8" || a.header.Get("Cache-Control") != "no-store" {
		s.Fatalf("%d %v: %s, %v", a.status, a.header, a.body, err)
	}
	return out
}

// message is the answer to a request that failed.
type message struct{ Message string }

// TestLoginFlow plays what DAVx⁵ does when a person chooses Nextcloud and enters the address of the service, from its source. It ends with the
// address book.
func TestLoginFlow(t *testing.T) {
	t.Parallel()
	each(t, func(s *site) {
		begun := read[struct {
			Poll  struct{ Token, Endpoint string }
			Login string
		}](s, s.stranger(http.MethodPost, "/index.php/login/v2", "", davx5), http.StatusOK)
		login, err := url.Parse(begun.Login)
		if err != nil || begun.Poll.Endpoint != "https://kith.example/index.php/login/v2/poll" || login.Host != "kith.example" || login.Path != "/settings/devices/login" {
			t.Fatalf("%+v, %v", begun, err)
		}
		page := login.Query().Get("request")
		if len(page) < 40 || len(begun.Poll.Token) < 40 || strings.Contains(begun.Login, begun.Poll.Token) {
			t.Errorf("the secrets are weak: %+v", begun)
		}
		waiting, err := account.GetDeviceLogin(t.Context(), s.store, page)
		if err != nil || waiting.Program != davx5 || waiting.Network != "203.0.113.0/24" {
			t.Fatalf("%+v, %v", waiting, err)
		}
		poll := func() answer {
			return s.stranger(http.MethodPost, "/index.php/login/v2/poll", "token="+begun.Poll.Token, davx5)
		}
		read[message](s, poll(), http.StatusNotFound)

		row, _ := account.NewDevice(account.Access{Owner: s.owner, Epoch: dbtest.Epoch(t, s.store, s.owner)}, "Phone", false)
		if err := account.AllowDeviceLogin(t.Context(), s.store, page, row); err != nil {
			t.Fatal(err)
		}
		done := read[struct{ Server, LoginName, AppPassword string }](s, poll(), http.StatusOK)
		if diff := cmp.Diff([]string{"https://kith.example", "vera"}, []string{done.Server, done.LoginName}); diff != "" {
			t.Error(diff)
		}
		read[message](s, poll(), http.StatusNotFound)

		d := device{s, row.ID, done.LoginName, done.AppPassword}
		for _, path := range []string{"/remote.php/dav", "/remote.php/dav/"} {
			for _, method := range []string{"PROPFIND", http.MethodOptions, http.MethodGet} {
				if a := d.want(http.StatusPermanentRedirect, method, path, ""); a.header.Get("Location") != "https://kith.example/dav/" {
					t.Errorf("%s %s leads to %s", method, path, a.header.Get("Location"))
				}
			}
		}
		if a := d.want(http.StatusMultiStatus, "PROPFIND", "/dav/", `<propfind xmlns="DAV:"><prop><current-user-principal/></prop></propfind>`, "Depth", "0"); !strings.Contains(a.body, "/dav/vera/") {
			t.Errorf("the address book is not found: %s", a.body)
		}
		d.want(http.StatusMultiStatus, "PROPFIND", book, "", "Depth", "1")
	})
}

// TestLoginFlowRefuses: what is not a request of the login flow gets nothing.
func TestLoginFlowRefuses(t *testing.T) {
	t.Parallel()
	each(t, func(s *site) {
		for name, body := range map[string]string{
			"no token": "", "an empty token": "token=", "a wrong token": "token=x", "a token that is no text": "token=%00%ff", "a long token": "token=" + strings.Repeat("x", 4000),
		} {
			if a := s.stranger(http.MethodPost, "/index.php/login/v2/poll", body, davx5); a.status != http.StatusNotFound || a.header.Get("WWW-Authenticate") != "" {
				t.Errorf("%s: %d %s", name, a.status, a.body)
			}
		}
		read[message](s, s.stranger(http.MethodPost, "/index.php/login/v2/poll", "token="+strings.Repeat("x", 5000), davx5), http.StatusBadRequest)
		for _, path := range []string{"/index.php/login/v2", "/index.php/login/v2/poll"} {
			if a := s.stranger(http.MethodGet, path, "", davx5); a.status != http.StatusMethodNotAllowed {
				t.Errorf("GET %s: %d", path, a.status)
			}
		}
		for range 20 {
			if a := s.stranger(http.MethodPost, "/index.php/login/v2", "", strings.Repeat("long \x00\xff\u202e", 100)); a.status != http.StatusOK {
				t.Fatal(a)
			}
		}
		many := s.stranger(http.MethodPost, "/index.php/login/v2", "", davx5)
		if read[message](s, many, http.StatusTooManyRequests); many.header.Get("Retry-After") != "1200" {
			t.Errorf("too many get %v", many.header)
		}
		var program string
		if err := s.store.NewRaw("SELECT max(program) FROM device_logins").Scan(t.Context(), &program); err != nil || len(program) > 210 || strings.ContainsAny(program, "\x00\u202e") {
			t.Errorf("the program is %q, %v", program, err)
		}
	})
}

// TestLoginFlowNeedsEncryption: nobody is led to send a password over plain http.
func TestLoginFlowNeedsEncryption(t *testing.T) {
	t.Parallel()
	each(t, func(s *site) {
		mux := http.NewServeMux()
		dav.New(dav.Config{
			BaseURL: "http://kith.example", Store: s.store, Logger: slog.New(slog.DiscardHandler), Used: func(string, time.Time) {},
			ClientAddress: func(*http.Request) string { return "" },
		}).Mount(mux)
		s.server = mux
		read[message](s, s.stranger(http.MethodPost, "/index.php/login/v2", "", davx5), http.StatusForbidden)
	})
}
