package webtest

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/tenant"
)

func testLogger() *slog.Logger { return slog.New(slog.DiscardHandler) }

// Browser keeps cookies and follows no redirect by itself.
type Browser struct {
	// Owner is the member who was signed in by BrowserOf.
	Owner tenant.ID
	// UserAgent is the header that it sends; empty for the client's own.
	UserAgent string

	t      testing.TB
	site   *Site
	client *http.Client
}

// Browser returns a browser without cookies.
func (s *Site) Browser(t testing.TB) *Browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{
		Jar: jar, Transport: s.server.Client().Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &Browser{t: t, site: s, client: client}
}

func (b *Browser) url() *url.URL {
	u, err := url.Parse(b.site.URL)
	if err != nil {
		b.t.Fatal(err)
	}
	return u
}

// CookieName returns a cookie's name on this site, which has a prefix over https.
func (b *Browser) CookieName(name string) string {
	if strings.HasPrefix(b.site.URL, "https:") {
		return "__Host-" + name
	}
	return name
}

// Cookie returns a cookie's value; empty if there is none.
func (b *Browser) Cookie(name string) string {
	for _, c := range b.client.Jar.Cookies(b.url()) {
		if c.Name == b.CookieName(name) {
			return c.Value
		}
	}
	return ""
}

// SetCookie sets a cookie.
func (b *Browser) SetCookie(name, value string) {
	b.client.Jar.SetCookies(b.url(), []*http.Cookie{{Name: name, Value: value, Path: "/", Secure: strings.HasPrefix(b.site.URL, "https:")}})
}

// Get loads a page, as if a link on this site had been followed.
func (b *Browser) Get(path string) *Page {
	b.t.Helper()
	return b.Do(b.Request(http.MethodGet, path, nil))
}

// Follow loads the page that a redirect leads to. It must be on this site.
func (b *Browser) Follow(p *Page) *Page {
	b.t.Helper()
	to := p.Header.Get("Location")
	if p.Status != http.StatusSeeOther || to == "" {
		b.t.Fatalf("%d leads nowhere:\n%s", p.Status, p.Body)
	}
	return b.Get(strings.TrimPrefix(to, b.site.URL))
}

// Request returns a request with the headers that a browser sends for a request that
// begins on this site.
func (b *Browser) Request(method, path string, form url.Values) *http.Request {
	b.t.Helper()
	address := path
	if strings.HasPrefix(path, "/") {
		address = b.site.URL + path
	}
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	r, err := http.NewRequestWithContext(b.t.Context(), method, address, body)
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.Header.Set("Accept-Language", b.site.locale)
	if b.UserAgent != "" {
		r.Header.Set("User-Agent", b.UserAgent)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", b.site.URL)
	}
	return r
}

// Do sends a request and reads the response.
func (b *Browser) Do(r *http.Request) *Page {
	b.t.Helper()
	p, err := b.Try(r)
	if err != nil {
		b.t.Fatal(err)
	}
	return p
}

// Try is Do for a response that may break off in the middle; it returns that as an
// error.
func (b *Browser) Try(r *http.Request) (*Page, error) {
	b.t.Helper()
	res, err := b.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	return newPage(b.t, res, string(body)), nil
}

// Post sends the values of a form unchanged.
func (b *Browser) Post(path string, form url.Values) *Page {
	b.t.Helper()
	return b.Do(b.Request(http.MethodPost, path, form))
}

// Submit sends the form of a page that goes to action, with its own values except those
// given; a value of nil omits a field.
func (b *Browser) Submit(p *Page, action string, change url.Values) *Page {
	b.t.Helper()
	return b.Post(action, p.Fill(action, change))
}
