package web_test

import (
	"encoding/json"
	"image/png"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// manifestOf returns the manifest that a page links to, or nil.
func manifestOf(t *testing.T, b *webtest.Browser, p *webtest.Page) map[string]any {
	t.Helper()
	for _, link := range p.All("link") {
		if webtest.Attr(link, "rel") != "manifest" {
			continue
		}
		file := b.Get(webtest.Attr(link, "href"))
		if file.Status != http.StatusOK || file.Header.Get("Content-Type") != "application/manifest+json" || !strings.Contains(file.Header.Get("Cache-Control"), "immutable") {
			t.Errorf("manifest: %d %v", file.Status, file.Header)
		}
		var out map[string]any
		if err := json.Unmarshal([]byte(file.Body), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	return nil
}

// The pages of members have a manifest with icons of the sizes that it names. Other pages have
// none: a sign-in page is not for installing.
func TestManifest(t *testing.T) {
	t.Parallel()
	s := demoSite(t, "en")
	b := s.SignedIn(t, "maria")
	for _, path := range []string{"/sign-in", "/demo"} {
		if p := s.Browser(t).Get(path); p.Status != http.StatusOK || manifestOf(t, b, p) != nil {
			t.Errorf("%s: %d, or it has a manifest", path, p.Status)
		}
	}
	m := manifestOf(t, b, b.Get("/"))
	for field, want := range map[string]any{"id": "/", "name": "Kith", "start_url": "/", "scope": "/", "display": "standalone"} {
		if m[field] != want {
			t.Errorf("%s is %v, not %v", field, m[field], want)
		}
	}
	purposes := map[string]int{}
	icons, _ := m["icons"].([]any)
	for _, i := range icons {
		icon, _ := i.(map[string]any)
		source, _ := icon["src"].(string)
		purpose, _ := icon["purpose"].(string)
		file := b.Get(source)
		if file.Status != http.StatusOK || file.Header.Get("Content-Type") != icon["type"] || !strings.Contains(file.Header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s: %d %v", source, file.Status, file.Header)
		}
		if icon["type"] != "image/png" {
			continue
		}
		size, err := png.DecodeConfig(strings.NewReader(file.Body))
		if err != nil || icon["sizes"] != strconv.Itoa(size.Width)+"x"+strconv.Itoa(size.Height) || len(file.Body) > 20_000 {
			t.Errorf("%s: %v, %v, %d bytes", source, size, err, len(file.Body))
		}
		purposes[purpose] = max(purposes[purpose], size.Width)
	}
	if purposes["any"] != 512 || purposes["maskable"] != 512 {
		t.Errorf("the largest icons: %v", purposes)
	}
}

// The colours around the page are those of the stylesheet and of the icon.
func TestInstalledColours(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	p := b.Get("/")
	css, icon, m := b.Get("/assets/kith.css").Body, b.Get("/assets/kith.svg").Body, manifestOf(t, b, p)
	themes := map[string]string{}
	for _, meta := range p.All("meta") {
		if webtest.Attr(meta, "name") == "theme-color" {
			themes[webtest.Attr(meta, "media")] = webtest.Attr(meta, "content")
		}
	}
	light, dark := themes["(prefers-color-scheme: light)"], themes["(prefers-color-scheme: dark)"]
	before, after, _ := strings.Cut(css, "prefers-color-scheme: dark")
	if light == "" || !strings.Contains(before, "--paper: "+light+";") || dark == "" || !strings.Contains(after, "--paper: "+dark+";") {
		t.Errorf("the pages have %v", themes)
	}
	if theme, _ := m["theme_color"].(string); m["background_color"] != light || theme == "" || !strings.Contains(icon, `fill="`+theme+`"`) {
		t.Errorf("the manifest has %v and %v", m["background_color"], m["theme_color"])
	}
}

// keptFiles are the files that the service worker keeps.
func keptFiles(t *testing.T, worker string) []string {
	t.Helper()
	_, rest, found := strings.Cut(worker, "const release = ")
	text, _, _ := strings.Cut(rest, ";")
	var release struct {
		Version string
		Files   []string
	}
	if err := json.Unmarshal([]byte(text), &release); err != nil || !found || release.Version == "" {
		t.Fatalf("the worker has no release: %v\n%s", err, worker)
	}
	return release.Files
}

// The service worker keeps the files that pages load, and a page that has nothing of a member, until a member
// allows more on their device.
func TestServiceWorkerKeepsFiles(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b, anonymous := s.SignedIn(t, "maria"), s.Browser(t)
	worker := anonymous.Get("/assets/worker.js")
	for header, want := range map[string]string{
		"Content-Type": "text/javascript; charset=utf-8", "Cache-Control": "no-cache", "Service-Worker-Allowed": "/",
		"Content-Security-Policy": "default-src 'none'; connect-src 'self'",
	} {
		if got := worker.Header.Get(header); got != want {
			t.Errorf("%s is %q", header, got)
		}
	}
	files := keptFiles(t, worker.Body)
	for _, address := range files {
		p := anonymous.Get(address)
		if p.Status != http.StatusOK || !strings.HasPrefix(address, "/assets/") || !strings.Contains(p.Header.Get("Cache-Control"), "public, max-age=31536000, immutable") || len(p.Cookies) > 0 {
			t.Errorf("%s: %d %v", address, p.Status, p.Header)
		}
		if b.Get(address).Body != p.Body {
			t.Errorf("%s differs for a member", address)
		}
	}
	offline := b.Get("/offline")
	want(t, offline, http.StatusOK, "cannot be reached")
	if other := anonymous.Get("/offline"); offline.Body != other.Body {
		t.Errorf("the page without a network has something of a member: %s", offline.Body)
	}
	for _, path := range []string{"/", "/people", "/people/new", "/network", "/settings/imports", "/settings/devices", "/offline"} {
		p := b.Get(path)
		for _, n := range append(p.All("script"), p.All("link")...) {
			address, rel := webtest.Attr(n, "src")+webtest.Attr(n, "href"), webtest.Attr(n, "rel")
			if rel != "manifest" && rel != "expect" && !slices.Contains(files, address) {
				t.Errorf("%s loads %s, which the worker does not keep", path, address)
			}
		}
	}
}

// A share is sent by the system, without a token. It shows a form and writes nothing; another site
// cannot send one.
func TestShareNeedsNoToken(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	r := b.Request(http.MethodPost, "/people/share", url.Values{"text": {"Ada Stone"}})
	r.Header.Set("Origin", "null")
	r.Header.Set("Sec-Fetch-Site", "none")
	want(t, b.Do(r), http.StatusOK, "Nothing is stored yet.")
	r = b.Request(http.MethodPost, "/people/share", url.Values{"text": {"Ada Stone"}})
	r.Header.Set("Origin", "https://evil.example")
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	want(t, b.Do(r), http.StatusForbidden, "another site")
}
