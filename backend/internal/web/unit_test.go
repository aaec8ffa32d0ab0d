package web

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

func TestWaitsAreRoundedUp(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{time.Millisecond: "1", time.Second: "1", time.Second + 1: "2", 0: "0"} {
		if got := seconds(d); got != want {
			t.Errorf("%s: %s seconds", d, got)
		}
	}
	for d, want := range map[time.Duration]string{time.Second: "one minute", time.Minute: "one minute", 61 * time.Second: "2 minutes", 5 * time.Minute: "5 minutes"} {
		if got := minutes(d); got != want {
			t.Errorf("%s: %s", d, got)
		}
	}
}

// A password waits for a free slot to be hashed, but not for ever, and not after the client has
// disconnected.
func TestHashingWaitsForItsTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := &request{Web: &Web{hashing: make(chan struct{}, 1)}, Request: &page.Request{R: httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/sign-in", nil)}}
		leave, err := v.enterHashing()
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		if _, err := v.enterHashing(); !fault.Is(err, fault.Unavailable) || time.Since(begun) != maxHashWait {
			t.Errorf("after %s: %v", time.Since(begun), err)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		begun = time.Now()
		left := &request{Web: v.Web, Request: &page.Request{R: v.R.WithContext(gone)}}
		if _, err := left.enterHashing(); !fault.Is(err, fault.Unavailable) || time.Since(begun) != 0 {
			t.Errorf("after %s: %v", time.Since(begun), err)
		}
		go leave()
		if leave, err = v.enterHashing(); err != nil {
			t.Fatal(err)
		}
		leave()
	})
}

// A browser stays a known device in the request that hashes the password again.
func TestDeviceOfTheCheaperHash(t *testing.T) {
	t.Parallel()
	w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/sign-in", nil)
	site := &page.Site{Config: page.Config{Now: time.Now}}
	m := &account.Member{ID: "mem_1", PasswordHash: "$cheaper"}
	v := &request{Web: &Web{Config: Config{Now: time.Now}}, Request: &page.Request{Site: site, W: w, R: r}}
	if err := v.rememberDevice(m); err != nil {
		t.Fatal(err)
	}
	for _, cookie := range w.Result().Cookies() {
		r.AddCookie(cookie)
	}
	if v.knownDevice(m) == "" {
		t.Error("the device is not known")
	}
	m.PasswordHash = "$dearer"
	if v.knownDevice(m) != "" {
		t.Error("the device is known after the password changed")
	}
	if v.cheaperHash = "$cheaper"; v.knownDevice(m) == "" {
		t.Error("the device is not known after the password was hashed again")
	}
}
