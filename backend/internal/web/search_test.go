package web_test

import (
	"net/http"
	"testing"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/web"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// withEmbeddings returns a site whose operator set a remote embedding provider.
func withEmbeddings() webtest.Options {
	return webtest.Options{Web: func(c *web.Config) { c.EmbeddingsHost, c.EmbeddingsModel = "vectors.example", "small-1" }}
}

func allowedHost(t *testing.T, s *webtest.Site, b *webtest.Browser) string {
	t.Helper()
	m, err := account.GetMemberByID(t.Context(), s.Store, b.Owner)
	if err != nil {
		t.Fatal(err)
	}
	return m.EmbeddingsHost
}

func TestSendingTextsIsOffUntilAllowed(t *testing.T) {
	t.Parallel()
	webtest.Each(t, withEmbeddings(), func(t *testing.T, s *webtest.Site) {
		b, other := s.SignedIn(t, "maria"), s.SignedIn(t, "other")
		page := b.Get("/settings/search")
		checkPage(t, page)
		want(t, page, http.StatusOK, "vectors.example", "small-1", "Nothing of yours is sent", "five latest notes", "never sent", "Allow sending")
		if got := allowedHost(t, s, b); got != "" {
			t.Errorf("%q is allowed", got)
		}
		b.Submit(page, "/settings/search", nil)
		want(t, b.Get("/settings/search?done=sending-allowed"), http.StatusOK, "may be sent now", "Texts are sent to vectors.example", "Stop sending")
		if got := allowedHost(t, s, b); got != "vectors.example" {
			t.Errorf("%q is allowed", got)
		}
		if got := allowedHost(t, s, other); got != "" {
			t.Errorf("%q is allowed by another member", got)
		}
		b.Submit(b.Get("/settings/search"), "/settings/search", nil)
		want(t, b.Get("/settings/search?done=sending-stopped"), http.StatusOK, "Nothing is sent any more", "Allow sending")
		if got := allowedHost(t, s, b); got != "" {
			t.Errorf("%q is still allowed", got)
		}
	})
}

// The permission applies only to the provider that the page named.
func TestAnotherProviderIsAskedForAnew(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, withEmbeddings())
	b := s.SignedIn(t, "maria")
	page := b.Get("/settings/search")
	for _, host := range []string{"", "elsewhere.example"} {
		want(t, b.Submit(page, "/settings/search", webtest.Values("host", host, "allow", "yes")), http.StatusUnprocessableEntity, "another one by now")
	}
	if got := allowedHost(t, s, b); got != "" {
		t.Errorf("%q is allowed", got)
	}
	if err := account.SetEmbeddingsHost(t.Context(), s.Store, b.Owner, "elsewhere.example"); err != nil {
		t.Fatal(err)
	}
	want(t, b.Get("/settings/search"), http.StatusOK, "Nothing of yours is sent to vectors.example")
}

func TestBuiltInProviderHasNothingToAllow(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	page := b.Get("/settings/search")
	want(t, page, http.StatusOK, "nothing is sent anywhere")
	if b.Get("/settings/search").ByID("meaning-title") == nil || len(page.Forms("/settings/search")) > 0 {
		t.Error("the page has something to allow")
	}
}
