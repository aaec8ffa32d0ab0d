package review_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/dav"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/kinds"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// proposed lets a phone send a card without having read the present one, which is refused.
func proposed(t *testing.T, s *webtest.Site, b *webtest.Browser, username, card string) {
	t.Helper()
	device, password := account.NewDevice(account.Access{Owner: b.Owner, Epoch: dbtest.Epoch(t, s.Store, b.Owner)}, "Maria's phone", false)
	if err := account.CreatePersonalToken(t.Context(), s.Store, device); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	dav.New(dav.Config{
		BaseURL: "https://kith.example", Store: s.Store, Kinds: kinds.All(), Logger: slog.New(slog.DiscardHandler), Used: func(string, time.Time) {},
		ClientAddress: func(*http.Request) string { return "" },
	}).Mount(mux)
	path := "/dav/" + username + "/books/people/a.vcf"
	for _, match := range []string{"", `"old"`} {
		if match != "" {
			card = strings.Replace(card, "NOTE:Tea", "NOTE:Coffee\nNICKNAME:Amazing Grace", 1)
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPut, path, strings.NewReader(card))
		r.SetBasicAuth(username, password)
		r.Header.Set("If-Match", match)
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		if w.Code != http.StatusCreated && w.Code != http.StatusPreconditionFailed {
			t.Fatal(w.Code, w.Body)
		}
	}
}

// TestDecideOnCards: a card that was refused shows both sides; approving makes the change, and a refused one can be approved after all.
func TestDecideOnCards(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		proposed(t, s, b, "maria", "BEGIN:VCARD\nVERSION:3.0\nUID:a\nFN:Grace Hopper\nN:Hopper;Grace;;;\nNOTE:Tea\nEND:VCARD\n")
		want(t, b.Get("/"), http.StatusOK, "A device changed what was changed here too")
		page := b.Get("/decide")
		want(t, page, http.StatusOK, "Maria's phone wants to change Grace Hopper", "It was changed in Kith too", "Tea", "Coffee", "Amazing Grace")
		wantRedirect(t, b.Submit(page, refuseForm, nil), "/decide?done=card-refused")
		wantRedirect(t, b.Submit(page, refuseForm, nil), "/decide?done=decide-late")
		refused := b.Get("/decide?done=card-refused")
		want(t, refused, http.StatusOK, "Kith keeps what it has", "Nothing to decide", "From a device: change Grace Hopper", "Refused · Maria's phone", "Approve after all")
		wantRedirect(t, b.Submit(refused, approveForm, nil), "/decide?done=approved")
		want(t, b.Get("/decide"), http.StatusOK, "From a device: Changed Grace Hopper", "Approved and done · Maria's phone", "Undo")
		change := webtest.Changes(t, s, b.Owner)[0]
		if c := webtest.FindPerson(t, s, b.Owner, change.Effects[0].ID); c.Bio != "Coffee" || c.Nickname != "Amazing Grace" || change.CredentialID != "" {
			t.Errorf("it is %+v by %+v", c, change)
		}
		wantRedirect(t, b.Submit(page, approveForm, nil), "/decide?done=decide-late")

		other := s.SignedIn(t, "other")
		own := page.Form(approveForm)
		own.Set("form_token", other.Get("/").Form("/sign-out").Get("form_token"))
		if p := other.Post(approveForm, own); p.Status != http.StatusNotFound {
			t.Errorf("another member's: %d", p.Status)
		}
	})
}

// TestCardWithoutChanges: what Kith has by now can only be refused.
func TestCardWithoutChanges(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	proposed(t, s, b, "maria", "BEGIN:VCARD\nVERSION:3.0\nUID:a\nFN:Grace Hopper\nN:Hopper;Grace;;;\nNOTE:Tea\nEND:VCARD\n")
	change := webtest.Changes(t, s, b.Owner)[0]
	webtest.Changed(t, s, b.Owner, people.Patch{ID: change.Effects[0].ID, Bio: new("Coffee"), Nickname: new("Amazing Grace")})
	page := b.Get("/decide")
	want(t, page, http.StatusOK, "There is nothing left to change")
	if len(page.Forms(approveForm)) > 0 {
		t.Error("it can be approved")
	}
	wantRedirect(t, b.Submit(page, refuseForm, nil), "/decide?done=card-refused")
}
