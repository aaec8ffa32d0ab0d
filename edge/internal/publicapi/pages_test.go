package publicapi_test

import (
	"encoding/json"
	"errors"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"

	directoryv1 "github.com/kith-crm/kith/proto/gen/kith/directory/v1"

	"github.com/kith-crm/kith/edge/internal/backendtest"
)

// structured returns the structured data of a page. It fails unless the page has no other script
// and the data is JSON.
func structured(t *testing.T, page string) map[string]any {
	t.Helper()
	found := regexp.MustCompile(`(?s)<script([^>]*)>(.*?)</script>`).FindAllStringSubmatch(page, -1)
	if len(found) != 1 || found[0][1] != ` type="application/ld+json"` || strings.Count(page, "<script") != 1 {
		t.Fatalf("scripts %q", found)
	}
	var data map[string]any
	if err := json.Unmarshal([]byte(found[0][2]), &data); err != nil {
		t.Fatalf("%v: %s", err, found[0][2])
	}
	return data
}

func TestPages(t *testing.T) {
	t.Parallel()
	api := newAPI(t, backendtest.New(), 0, nil)
	for name, w := range map[string]*httptest.ResponseRecorder{
		"full.html":    get(api.ServeProfilePage, "/@amara", "amara"),
		"minimal.html": get(api.ServeProfilePage, "/@bo-b", "bo-b"),
		"members.html": get(api.ServeMembersPage, "/members?q=grids&per_page=5", ""),
		"empty.html":   get(api.ServeMembersPage, "/members?cursor=next", ""),
	} {
		golden(t, name, w.Body.Bytes())
		h := w.Header()
		if w.Code != 200 || h.Get("Content-Type") != "text/html; charset=utf-8" || h.Get("Cache-Control") != "public, max-age=60" ||
			h.Get("Vary") != "Accept-Encoding" || len(h.Get("ETag")) != 34 || h.Get("X-Frame-Options") != "DENY" {
			t.Errorf("%s: %d %v", name, w.Code, h)
		}
		policy := h.Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none'; style-src 'self'; img-src 'self'") || strings.Contains(policy, "script") ||
			strings.Contains(policy, " https:") != (name == "full.html") {
			t.Errorf("%s: %s", name, policy)
		}
	}
}

func TestStructuredData(t *testing.T) {
	t.Parallel()
	api := newAPI(t, backendtest.New(), 0, nil)
	got := structured(t, get(api.ServeProfilePage, "/@amara", "amara").Body.String())
	want := map[string]any{
		"@context": "https://schema.org", "@type": "Person", "@id": base + "/@amara", "url": base + "/@amara",
		"name": "Amara Okafor", "alternateName": "amara", "description": "Grids & <batteries>", "image": "https://amara.example/a.png",
		"jobTitle": "Engineer", "worksFor": map[string]any{"@type": "Organization", "name": "Kilo"},
		"address":    map[string]any{"@type": "PostalAddress", "addressLocality": "Lagos", "addressCountry": "NG"},
		"knowsAbout": []any{"grids", "storage", "finance", "policy", "Go", "welding"}, "knowsLanguage": []any{"English", "Igbo"},
		"sameAs": []any{"https://amara.example/"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	// A member who publishes nothing but the username.
	got = structured(t, get(api.ServeProfilePage, "/@bo-b", "bo-b").Body.String())
	want = map[string]any{"@context": "https://schema.org", "@type": "Person", "@id": base + "/@bo-b", "url": base + "/@bo-b", "name": "bo-b", "alternateName": "bo-b"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The text of every field is escaped on the pages, and unchanged in the structured data.
func TestFieldsAreText(t *testing.T) {
	t.Parallel()
	for _, attack := range []string{
		`"><script>alert(1)</script>`, `</script><script>alert(1)</script>`, `<img src=x onerror=alert(1)>`, `'onmouseover='alert(1)`,
		`</title><svg onload=alert(1)>`, `<!--<script>`, "\u2028alert(1)//", `{{.}}`, `\u003cscript>`, `url=javascript:alert(1)`,
	} {
		for field, set := range map[string]func(p *directoryv1.Profile){
			"name":         func(p *directoryv1.Profile) { p.Name = &attack },
			"headline":     func(p *directoryv1.Profile) { p.Headline = &attack },
			"bio":          func(p *directoryv1.Profile) { p.Bio = &attack },
			"place":        func(p *directoryv1.Profile) { p.Location = &directoryv1.Location{Text: attack, Country: attack} },
			"organization": func(p *directoryv1.Profile) { p.Organization = &attack },
			"title":        func(p *directoryv1.Profile) { p.Title = &attack },
			"skills":       func(p *directoryv1.Profile) { p.Skills = []string{attack} },
			"languages":    func(p *directoryv1.Profile) { p.Languages = []string{attack} },
			"open to":      func(p *directoryv1.Profile) { p.OpenTo = []string{attack} },
			"label": func(p *directoryv1.Profile) {
				p.Links = []*directoryv1.Link{{Label: attack, Url: "https://a.example/"}}
			},
			"link": func(p *directoryv1.Profile) {
				p.Links = []*directoryv1.Link{{Label: "x", Url: "https://a.example/" + attack}}
			},
			"script": func(p *directoryv1.Profile) { p.Links = []*directoryv1.Link{{Label: "x", Url: "javascript:" + attack}} },
			"avatar": func(p *directoryv1.Profile) { p.AvatarUrl = new("https://a.example/" + attack) },
		} {
			backend := backendtest.New()
			profile := &directoryv1.Profile{Username: "mallory"}
			set(profile)
			backend.Profiles = []*directoryv1.Profile{profile}
			api := newAPI(t, backend, 0, nil)
			shown := get(api.ServeProfilePage, "/@mallory", "mallory").Body.String()
			data := structured(t, shown)
			if key := map[string]string{"name": "name", "headline": "description", "bio": "description", "title": "jobTitle"}[field]; key != "" && data[key] != attack {
				t.Errorf("%s: %q in the data, not %q", field, data[key], attack)
			}
			listed := get(api.ServeMembersPage, "/members", "").Body.String()
			for _, body := range []string{shown, listed} {
				if body == "" || unexpectedTag(body) != "" {
					t.Errorf("%s: %q makes %q in %s", field, attack, unexpectedTag(body), body)
				}
			}
			if field == "name" && (!strings.Contains(html.UnescapeString(shown), attack) || !strings.Contains(html.UnescapeString(listed), attack)) {
				t.Errorf("%q is not shown", attack)
			}
		}
	}
}

// unexpectedTag returns the first tag or attribute that can only come from injected markup; "" for none.
func unexpectedTag(body string) string {
	for _, tag := range regexp.MustCompile(`<[!a-zA-Z/][^>]*>`).FindAllString(body, -1) {
		attributes := regexp.MustCompile(`"[^"]*"`).ReplaceAllString(tag, `""`)
		if strings.Contains(tag, "alert") && strings.ContainsAny(attributes, "()'") || regexp.MustCompile(`(?i)\son\w+=`).MatchString(attributes) ||
			strings.Contains(strings.ToLower(tag), `="javascript:`) || strings.HasPrefix(tag, "<!--") {
			return tag
		}
	}
	if n := strings.Count(strings.ToLower(body), "<script"); n > 1 {
		return "<script"
	}
	return ""
}

// The answer is the same for members who do not exist, cannot exist or are not public. Its status
// is that of the JSON.
func TestUnknownProfilePages(t *testing.T) {
	t.Parallel()
	api := newAPI(t, backendtest.New(), time.Second, nil)
	want := get(api.ServeProfilePage, "/@nobody", "nobody")
	for _, username := range []string{"a_b", "x", "-amara", strings.Repeat("a", 31), "Nobody", "someone-else"} {
		got := get(api.ServeProfilePage, "/@"+username, username)
		if diff := cmp.Diff(want.Body.String(), got.Body.String()) + cmp.Diff(want.Header(), got.Header()); got.Code != 404 || diff != "" {
			t.Errorf("%s: %d %s", username, got.Code, diff)
		}
		if other := get(api.ServeJSON, "/", username); other.Code != got.Code {
			t.Errorf("%s: the JSON answers %d", username, other.Code)
		}
	}
}

// The pages are the same for everyone, and set no cookie.
func TestPagesIgnoreCookies(t *testing.T) {
	t.Parallel()
	api := newAPI(t, backendtest.New(), 0, nil)
	for target, h := range map[string]handler{"/@amara": api.ServeProfilePage, "/members": api.ServeMembersPage} {
		plain, member := get(h, target, "amara"), get(h, target, "amara", "Cookie", "kith_session=secret; __Host-kith_session=secret", "Authorization", "Bearer "+backendtest.TokenAll)
		if diff := cmp.Diff(plain.Body.String(), member.Body.String()) + cmp.Diff(plain.Header(), member.Header()); diff != "" {
			t.Errorf("%s: %s", target, diff)
		}
		if len(plain.Header()["Set-Cookie"]) > 0 {
			t.Errorf("%s: %v", target, plain.Header())
		}
		tag := plain.Header().Get("ETag")
		if again := get(h, target, "amara", "If-None-Match", tag); again.Code != 304 || again.Body.Len() > 0 || again.Header().Get("ETag") != tag {
			t.Errorf("%s: %d %v", target, again.Code, again.Header())
		}
		if refused := get(h, target, "amara", "Accept", "text/html;q=0"); refused.Code != 406 {
			t.Errorf("%s: %d", target, refused.Code)
		}
	}
}

// The forms of a profile link to each other.
func TestAlternates(t *testing.T) {
	t.Parallel()
	api := newAPI(t, backendtest.New(), 0, nil)
	for _, test := range []struct {
		handle            handler
		target, want, tag string
	}{
		{
			api.ServeProfilePage, "/@AMARA",
			`<https://kith.example/api/human/amara>; rel="alternate"; type="application/json", <https://kith.example/api/human/amara.md>; rel="alternate"; type="text/markdown"`,
			`<link rel="canonical" href="https://kith.example/@amara">`,
		},
		{api.ServeJSON, "/", `<https://kith.example/@amara>; rel="alternate"; type="text/html"`, ""},
		{api.ServeMarkdown, "/", `<https://kith.example/@amara>; rel="alternate"; type="text/html"`, ""},
		{
			api.ServeMembersPage, "/members?x=%3E&q=a%3Eb%22", `<https://kith.example/api/network/members?q=a%3Eb%22>; rel="alternate"; type="application/json"`,
			`<link rel="canonical" href="https://kith.example/members?q=a%3Eb%22">`,
		},
		{api.ServeMembers, `/?per_page=2&q=a>b"`, `<https://kith.example/members?per_page=2&q=a%3Eb%22>; rel="alternate"; type="text/html"`, ""},
		{api.ServeMembers, "/", `<https://kith.example/members>; rel="alternate"; type="text/html"`, ""},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		path, query, _ := strings.Cut(test.target, "?")
		r.URL = &url.URL{Path: path, RawQuery: query}
		w := httptest.NewRecorder()
		test.handle(w, r, "AMARA")
		if got := w.Header().Get("Link"); got != test.want || !strings.Contains(w.Body.String(), test.tag) {
			t.Errorf("%s: Link %s\n%s", test.target, got, w.Body)
		}
	}
}

func TestMembersPage(t *testing.T) {
	t.Parallel()
	api := newAPI(t, backendtest.New(), 0, nil)
	long := strings.Repeat("é", 201)
	for _, test := range []struct {
		query     string
		status    int
		want, not []string
	}{
		{"", 200, []string{`href="/@amara"`, ">Amara Okafor<", ">bo-b<", `href="/members?cursor=next"`, "Kilo", "Lagos"}, []string{"First page", "welding", "alert\""}},
		{"q=grids+%3Cb%3E&per_page=5", 200, []string{`value="grids &lt;b&gt;"`, `href="/members?cursor=next&amp;per_page=5&amp;q=grids&#43;%3Cb%3E"`}, []string{"First page"}},
		{"cursor=next", 200, []string{"No members are listed yet.", `href="/members">First page`}, []string{"Next page"}},
		{"q=x&cursor=next", 200, []string{"No listed member matches your search.", `href="/members?q=x">First page`, `href="/members">Show all members`}, []string{"Next page"}},
		{"q=" + url.QueryEscape(long), 400, []string{"Your search must be at most 200 characters.", `value="` + long, `aria-invalid="true"`}, []string{"Amara"}},
		{"q=%3Cb%3E&cursor=tampered", 400, []string{"This address of the directory is not valid.", `value="&lt;b&gt;"`, `href="/members"`}, []string{"tampered", "Amara"}},
		{"per_page=101", 400, []string{"This address of the directory is not valid."}, []string{"Amara"}},
	} {
		w := get(api.ServeMembersPage, "/members?"+test.query, "")
		for _, want := range test.want {
			if !strings.Contains(w.Body.String(), want) {
				t.Errorf("%s: no %q in %s", test.query, want, w.Body)
			}
		}
		for _, not := range test.not {
			if strings.Contains(w.Body.String(), not) {
				t.Errorf("%s: %q is in %s", test.query, not, w.Body)
			}
		}
		if w.Code != test.status || (w.Header().Get("Cache-Control") == "no-store") != (test.status != 200) || w.Header().Get("Content-Security-Policy") == "" {
			t.Errorf("%s: %d %v", test.query, w.Code, w.Header())
		}
	}
}

func TestOutageOfPages(t *testing.T) {
	t.Parallel()
	backend := backendtest.New()
	api := newAPI(t, backend, 0, nil)
	for status, fault := range map[int]error{503: errors.New("connection refused"), 500: connect.NewError(connect.CodeInternal, errors.New("database password is hunter2"))} {
		backend.Fail(fault)
		for target, h := range map[string]handler{"/@amara": api.ServeProfilePage, "/members": api.ServeMembersPage} {
			w := get(h, target, "amara")
			if w.Code != status || (w.Header().Get("Retry-After") == "1") != (status == 503) || w.Header().Get("ETag") != "" || w.Header().Get("Cache-Control") != "no-store" ||
				w.Header().Get("Content-Type") != "text/html; charset=utf-8" || strings.Contains(w.Body.String(), "hunter2") || !strings.Contains(w.Body.String(), `<a href="/">`) {
				t.Errorf("%s: %d %v %s", target, w.Code, w.Header(), w.Body)
			}
		}
	}
}
