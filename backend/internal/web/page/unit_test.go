package page

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPolicySource(t *testing.T) {
	t.Parallel()
	for uri, want := range map[string]string{
		"https://a.example/cb":                            "",
		"http://127.0.0.1:33418/cb":                       " http://127.0.0.1:33418",
		"http://localhost/cb":                             " http://localhost",
		"http://[::1]:33418/cb":                           " http:",
		"cursor://callback":                               " cursor:",
		"com.example.app:/cb":                             " com.example.app:",
		"http://localhost; script-src *":                  "",
		"http://localhost,script-src/cb":                  " http:",
		"http://a;script-src 'unsafe-inline';x/":          "",
		"http://a;script-src/cb":                          " http:",
		"http://localhost:99999999/cb":                    " http:",
		"://x":                                            "",
		"":                                                "",
		"http://user@localhost/cb":                        " http://localhost",
		"https://a.example;script-src/cb":                 "",
		"x" + strings.Repeat("y", 30) + "://a;b/'unsafe'": " x" + strings.Repeat("y", 30) + ":",
	} {
		if got := policySource(uri); got != want {
			t.Errorf("%q: got %q", uri, got)
		}
		h := http.Header{}
		AllowRedirect(h, uri)
		policy := h.Get("Content-Security-Policy")
		if strings.Count(policy, ";") != strings.Count(contentPolicy, ";") || strings.ContainsAny(policy, ",\r\n") {
			t.Errorf("%q gets another directive in: %s", uri, policy)
		}
	}
}

// A browser that is sent to any return path stays on this site.
func FuzzLocalPath(f *testing.F) {
	for _, seed := range []string{"/settings/mcp", "//evil.example", "/\\evil", "/settings/%2f", "/oauth/authorize?a=b#c", "/settings/../x", "https:evil", "/settings?\xff", "/", "/?done=saved", "/people/new", "/today/done"} {
		f.Add(seed)
	}
	base, err := url.Parse("https://kith.example")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		got := LocalPath(raw)
		if got == "" {
			return
		}
		u, err := base.Parse(got)
		if err != nil || u.Host != base.Host || u.Scheme != base.Scheme || u.User != nil || path.Clean(u.Path) != u.Path {
			t.Fatalf("%q leads to %v", got, u)
		}
		if strings.HasPrefix(got, "//") || strings.ContainsAny(got, "\\\r\n\t") || !utf8.ValidString(got) || !onSite(got) {
			t.Fatalf("%q became %q", raw, got)
		}
		if again := LocalPath(got); again != got {
			t.Fatalf("%q became %q, and that %q", raw, got, again)
		}
	})
}

// onSite reports whether an address is one that LocalPath allows.
func onSite(address string) bool {
	place, _, _ := strings.Cut(address, "?")
	for _, prefix := range []string{"/settings", "/people", "/network", "/groups", "/activity", "/oauth/authorize"} {
		if strings.HasPrefix(place, prefix) {
			return true
		}
	}
	return place == "/"
}

func TestSentence(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"use 3": "Use 3.", "éa": "Éa.", "Done.": "Done.", `"x" is`: `"x" is.`} {
		if got := Sentence(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}

// What the member named themselves, such as a field called Work, is not translated.
func TestLabel(t *testing.T) {
	t.Parallel()
	german := FormatOf("de-DE")
	for of, want := range map[Labelled]string{
		Field{Label: "Work"}: "Arbeit", Field{Label: "Work", Own: true}: "Work", Option{Label: "Work"}: "Arbeit", Option{Label: "Work", Own: true}: "Work",
	} {
		if got := german.label(of); got != want {
			t.Errorf("%+v is %q, want %q", of, got, want)
		}
	}
}

// A script has its texts in the language of the page, under one path and with versions of their own; no script asks for a text
// at run time.
func TestScriptsInEveryLanguage(t *testing.T) {
	t.Parallel()
	all, err := loadAssets()
	if err != nil {
		t.Fatal(err)
	}
	languages, err := catalogues()
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	all.mount(mux)
	for name, script := range all.scripts {
		for _, w := range append(languages, nil) {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, script.in(w).address(), nil)
			got := httptest.NewRecorder()
			mux.ServeHTTP(got, r)
			if !strings.Contains(got.Header().Get("Cache-Control"), "immutable") || got.Body.String() != string(script.in(w).data) || scriptText.Match(got.Body.Bytes()) {
				t.Errorf("%s: %d %v", name, got.Code, got.Header())
			}
			if !slices.Contains(all.versions(), script.in(w).address()) {
				t.Errorf("the service worker does not keep %s", script.in(w).address())
			}
		}
	}
	shell := all.scripts[scriptShell]
	if german := shell.in(wordsOf("de-AT")); !bytes.Contains(german.data, []byte(`"Person, Seite oder Aktion finden"`)) || !bytes.Contains(shell.data, []byte(`"Find a person, a page or an action"`)) {
		t.Error("the shell is not in both languages")
	}
}
