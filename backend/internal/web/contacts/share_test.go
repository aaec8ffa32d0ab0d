package contacts_test

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

const sharePath = "/people/share"

const stoneCard = "BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Ada Stone\r\nNICKNAME:Addie\r\nORG:Helios\r\nTITLE:CTO\r\nEMAIL:ada@helios.example\r\nTEL:+14152000000\r\n" +
	"URL:https://ada.example\r\nCATEGORIES:investor\r\nBDAY:1990-12-01\r\nNOTE:Likes rowing\r\nX-UNKNOWN:x\r\nEND:VCARD\r\n"

// share sends a share as a system does: from no page, without a token. The texts are shared if the
// file is nil.
func share(t *testing.T, b *webtest.Browser, texts url.Values, file []byte) *webtest.Page {
	t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for name := range texts {
		if err := w.WriteField(name, texts.Get(name)); err != nil {
			t.Fatal(err)
		}
	}
	if file != nil {
		part, err := w.CreateFormFile("file", "contact.vcf")
		if err == nil {
			_, err = part.Write(file)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	base := b.Request(http.MethodGet, sharePath, nil)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base.URL.String(), &body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Sec-Fetch-Site", "none")
	r.Header.Set("Origin", "null")
	r.Header.Set("Content-Type", w.FormDataContentType())
	return b.Do(r)
}

// A shared vCard, in a file or as a text, fills in the form. Nothing is stored until it is saved.
func TestShareCard(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		for name, p := range map[string]*webtest.Page{
			"a file": share(t, b, nil, []byte(stoneCard)), "a file with a text": share(t, b, url.Values{"text": {"Ada's card"}}, []byte(stoneCard)),
			"a text": share(t, b, url.Values{"text": {stoneCard}}, nil),
		} {
			wantPage(t, p, http.StatusOK, "nothing is stored yet", "Please check:", "Kept in the note: X-UNKNOWN.")
			without(t, p, "One line")
			t.Log(name)
			formOf(t, p, url.Values{
				"name": {"Ada Stone"}, "title": {"CTO"}, "organization": {"Helios"}, "emails": {"ada@helios.example"}, "phones": {"+14152000000"},
				"urls": {"https://ada.example"}, "tags": {"investor"}, "bio": {"Likes rowing\nX-UNKNOWN: x\nAlso called: Addie\nBirthday: 1990-12-01."},
			})
		}
		more := strings.Replace(stoneCard, "END:VCARD", "X-MAIDENNAME:Pebble\r\nTEL;TYPE=CELL:+14152000001\r\nADR;TYPE=HOME:;;1 Sun St;Bath;;;\r\nIMPP:xmpp:ada@chat.example\r\nDEATHDATE:20260102\r\nEND:VCARD", 1)
		formOf(t, share(t, b, nil, []byte(more)), url.Values{"bio": {"Likes rowing\nX-UNKNOWN: x\nLabels: +14152000001 (mobile)\nAddress home: 1 Sun St, Bath\nXMPP: ada@chat.example\nDied: 2026-01-02\nFormer name: Pebble\nAlso called: Addie\nBirthday: 1990-12-01."}})
		without(t, b.Get("/people"), "Ada Stone")
		without(t, b.Get("/activity"), "Ada Stone")

		form := formOf(t, share(t, b, nil, []byte(stoneCard)), nil)
		form.Set("title", "CEO")
		p := done(t, b, b.Post(newPath, form), "The person is added.", "Added: Ada Stone")
		wantPage(t, b.Get(webtest.LinkTo(p, "Ada Stone")), http.StatusOK, "CEO at Helios", "ada@helios.example", "Birthday: 1990-12-01")
		wantPage(t, share(t, b, nil, []byte(stoneCard)), http.StatusOK, "You may know this person already", "Add to Ada Stone")
	})
}

// A shared text is put into the line of quick capture. Title, text and URL of a share often repeat each
// other; what is repeated is put in once.
func TestShareText(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	p := share(t, b, url.Values{"title": {"Ada Stone"}, "text": {"Ada Stone, CTO at Helios"}, "url": {"https://ada.example"}}, nil)
	wantPage(t, p, http.StatusOK, "Nothing is stored yet.", "One line")
	formOf(t, p, url.Values{"name": {"Ada Stone"}, "title": {"CTO"}, "organization": {"Helios"}, "urls": {"https://ada.example"}})
	wantPage(t, b.Post(sharePath, url.Values{"text": {"Ada Stone"}}), http.StatusOK, "Nothing is stored yet.")
	wantPage(t, share(t, b, nil, nil), http.StatusOK, "One line")
	wantPage(t, share(t, b, url.Values{"text": {strings.Repeat("a ", 50_000)}}, nil), http.StatusOK)
	without(t, b.Get("/people"), "Ada Stone")
}

// What cannot be shared is refused with a sentence that says what to do, and a text that came with
// it is kept.
func TestShareWrong(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	for name, c := range map[string]struct {
		file, says string
	}{
		"an empty file":   {"", "not a contact"},
		"a picture":       {"\x89PNG\r\n\x1a\n\x00\x00", "not a contact"},
		"a table":         {"Name,E-mail\nAda,ada@helios.example\n", "import the file under Settings, Imports"},
		"several people":  {stoneCard + strings.ReplaceAll(stoneCard, "Ada", "Ben"), "this file holds 2 people"},
		"an empty card":   {"BEGIN:VCARD\r\nVERSION:3.0\r\nEND:VCARD\r\n", ""},
		"a card of a bot": {"BEGIN:VCARD\r\nVERSION:3.0\r\nFN:\u200b\r\nEND:VCARD\r\n", ""},
	} {
		p := share(t, b, url.Values{"text": {"Kept words"}}, []byte(c.file))
		if p.Status != http.StatusBadRequest || p.ByID("line-error") == nil || !strings.Contains(strings.ToLower(p.Text()), strings.ToLower(c.says)) {
			t.Errorf("%s: %d\n%s", name, p.Status, p.Text())
		}
		if got := webtest.Attr(p.ByID("line"), "value"); got != "Kept words" {
			t.Errorf("%s: the text became %q", name, got)
		}
	}
	wantPage(t, share(t, b, nil, make([]byte, 3<<20)), http.StatusRequestEntityTooLarge, "2 MB")
	without(t, b.Get("/people"), "Ada")
}

// A visitor must sign in before sharing a contact. What they shared is not kept, so the page asks them
// to share it again. What others wrote is escaped.
func TestShareAttacks(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	anonymous := s.Browser(t)
	p := share(t, anonymous, url.Values{"text": {"Ada Stone"}}, []byte(stoneCard))
	if to := p.Header.Get("Location"); p.Status != http.StatusSeeOther || to != "/sign-in?done=share-again&return_to=%2Fpeople%2Fnew" {
		t.Errorf("%d to %q", p.Status, to)
	}
	wantPage(t, anonymous.Get(p.Header.Get("Location")), http.StatusOK, "Sign in")
	if p = anonymous.Get(p.Header.Get("Location")); !strings.Contains(p.Body, "share it once more") {
		t.Errorf("the page does not say to share again:\n%s", p.Text())
	}

	const evil = `"><script>alert(1)</script>`
	b := s.SignedIn(t, "maria")
	for _, p := range []*webtest.Page{
		share(t, b, url.Values{"text": {evil}}, nil),
		share(t, b, nil, []byte("BEGIN:VCARD\r\nVERSION:3.0\r\nFN:"+evil+"\r\nX-"+evil+":x\r\nEND:VCARD\r\n")),
	} {
		if p.Status != http.StatusOK || strings.Contains(p.Body, "<script>alert") {
			t.Errorf("status %d, or text runs:\n%s", p.Status, p.Body)
		}
	}
}
