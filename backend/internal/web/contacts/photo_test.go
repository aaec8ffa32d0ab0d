package contacts_test

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/photos"
	"github.com/kith-crm/kith/backend/internal/photos/phototest"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// upload sends the form with a photo.
func upload(t *testing.T, b *webtest.Browser, token, path, name string, file []byte) *webtest.Page {
	t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	if err := w.WriteField("form_token", token); err != nil {
		t.Fatal(err)
	}
	part, err := w.CreateFormFile("photo", name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := part.Write(file); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	base := b.Request(http.MethodGet, path, nil)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base.URL.String(), &body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = base.Header
	r.Header.Set("Content-Type", w.FormDataContentType())
	return b.Do(r)
}

// address returns the address of the first photo on a page.
func address(t *testing.T, p *webtest.Page) string {
	t.Helper()
	_, rest, found := strings.Cut(p.Body, `class="avatar`)
	_, rest, found2 := strings.Cut(rest, `src="`)
	path, _, _ := strings.Cut(rest, `"`)
	if !found || !found2 || !strings.Contains(path, "/photo?v=") {
		t.Fatalf("no photo on the page:\n%s", p.Body)
	}
	return strings.ReplaceAll(path, "&amp;", "&")
}

// A photo is uploaded, shown on the pages, served so that browsers keep it, removed, and brought back.
func TestPhoto(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		id := add(t, s, b.Owner, ada(), "")
		path := "/people/" + id
		tokenOf := b.Get(path).Fill(path+"/note", nil).Get("form_token")
		p := done(t, b, upload(t, b, tokenOf, path+"/photo-upload", "ada.jpg", phototest.WithEXIF(phototest.JPEG(t, 300, 200), 6, "GPS 48.8584")), "The photo is saved.")
		wantPage(t, b.Get("/people/"+id+"/photo?size=144"), http.StatusOK)
		for _, page := range []*webtest.Page{p, b.Get("/people"), b.Get(path)} {
			photo := b.Get(address(t, page))
			if photo.Status != http.StatusOK || photo.Header.Get("Content-Type") != "image/jpeg" || photo.Header.Get("X-Content-Type-Options") != "nosniff" ||
				photo.Header.Get("Cache-Control") != "private, max-age=31536000, immutable" || strings.Contains(photo.Body, "48.8584") ||
				!strings.HasPrefix(photo.Header.Get("Content-Security-Policy"), "default-src 'none'; sandbox") {
				t.Errorf("%d %v", photo.Status, photo.Header)
			}
			r := b.Request(http.MethodGet, address(t, page), nil)
			r.Header.Set("If-None-Match", photo.Header.Get("ETag"))
			if again := b.Do(r); again.Status != http.StatusNotModified {
				t.Errorf("known: %d", again.Status)
			}
		}
		if other := b.Get(path + "/photo?size=144&v=other"); other.Header.Get("Cache-Control") != "private, no-cache" {
			t.Errorf("another version: %v", other.Header)
		}
		for _, size := range []string{"", "x", "50", "-1", "99999999999999999999"} {
			wantPage(t, b.Get(path+"/photo?size="+size), http.StatusNotFound)
		}
		p = done(t, b, b.Submit(b.Get(path+"?edit=photo"), path+"/photo-remove", nil), "The photo is removed.")
		wantPage(t, b.Get(path+"/photo?size=144"), http.StatusNotFound)
		b.Submit(p, "/activity/undo", nil)
		wantPage(t, b.Get(path+"/photo?size=144"), http.StatusOK)
		wantPage(t, b.Get("/activity"), http.StatusOK, "Set the photo of Ada Stone")
	})
}

// Wrong files are refused at the field; nothing is written for strangers, other members and forms of
// other sites.
func TestPhotoRefused(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		id := add(t, s, b.Owner, ada(), "")
		path := "/people/" + id
		tokenOf := b.Get(path).Fill(path+"/note", nil).Get("form_token")
		good := phototest.JPEG(t, 300, 200)
		for name, file := range map[string]string{
			"html.jpg": "<!DOCTYPE html><script>alert(1)</script>", "a.svg": `<svg xmlns="http://www.w3.org/2000/svg"/>`, "empty.png": "", "cut.jpg": string(good[:900]),
		} {
			p := upload(t, b, tokenOf, path+"/photo-upload", name, []byte(file))
			wantPage(t, p, http.StatusBadRequest, "Please fix the following")
			if !strings.Contains(p.Body, `id="photo-error"`) {
				t.Errorf("%s: no error at the field", name)
			}
		}
		wantPage(t, upload(t, b, tokenOf, path+"/photo-upload", "a.jpg", make([]byte, photos.MaxBytes+1)), http.StatusRequestEntityTooLarge, "That picture is too large")
		wantPage(t, upload(t, b, tokenOf, path+"/photo-upload", "a.jpg", make([]byte, photos.MaxBytes+1<<20)), http.StatusRequestEntityTooLarge, "That picture is too large")
		wantPage(t, upload(t, b, "wrong", path+"/photo-upload", "a.jpg", good), http.StatusForbidden)
		wantPage(t, b.Post(path+"/photo-remove", url.Values{"form_token": {"wrong"}}), http.StatusForbidden)
		eve := s.SignedIn(t, "eve")
		other := add(t, s, eve.Owner, ada(), "")
		token := eve.Get("/people/"+other).Fill("/people/"+other+"/note", nil).Get("form_token")
		wantPage(t, upload(t, eve, token, path+"/photo-upload", "a.jpg", good), http.StatusNotFound)
		wantPage(t, eve.Post(path+"/photo-remove", url.Values{"form_token": {token}}), http.StatusNotFound)
		done(t, b, upload(t, b, tokenOf, path+"/photo-upload", "a.jpg", good), "The photo is saved.")
		wantPage(t, eve.Get(path+"/photo?size=144"), http.StatusNotFound)
		if p := s.Browser(t).Get(path + "/photo?size=144"); p.Status != http.StatusSeeOther {
			t.Errorf("a stranger: %d", p.Status)
		}
	})
}
