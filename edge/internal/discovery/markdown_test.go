package discovery

import (
	"slices"
	"strings"
	"testing"

	"github.com/kith-crm/kith/edge/internal/httpapi"
	"github.com/kith-crm/kith/edge/internal/route"
)

func newTestSite(t *testing.T, patterns ...string) *site {
	t.Helper()
	s := &site{Options: Options{Problems: httpapi.NewProblems("https://kith.example")}}
	var routes []route.Route
	for _, pattern := range patterns {
		routes = append(routes, route.Route{Name: pattern, Methods: []string{"GET"}, Pattern: pattern})
	}
	var err error
	if s.matcher, err = route.NewMatcher(routes); err != nil {
		t.Fatal(err)
	}
	if s.pages, err = s.parsePages(); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestEveryProblemIsDocumented checks that each code has a text, and that each text is about a
// code.
func TestEveryProblemIsDocumented(t *testing.T) {
	t.Parallel()
	families, err := newTestSite(t, pathToken, pathAuthorize).Families()
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	for _, f := range families {
		for _, e := range f.Errors {
			if f.ID == "http-api" {
				codes = append(codes, e.Code)
			}
			for _, text := range []string{e.Meaning, e.Action} {
				if len(text) < 20 || !strings.HasSuffix(text, ".") || strings.Count(text, "`")%2 != 0 || strings.Contains(text, "\n") {
					t.Errorf("%s: %q is not one paragraph of sentences", e.Code, text)
				}
			}
			if e.Title == "" || e.Status == "" || !strings.HasPrefix(e.Example, "```") || !strings.HasSuffix(e.Example, "\n```") {
				t.Errorf("%s: %+v", e.Code, e)
			}
		}
	}
	for _, code := range httpapi.Codes() {
		if !slices.Contains(codes, string(code)) {
			t.Errorf("%s is not in errors-http.md", code)
		}
	}
	if len(families) != 3 || len(codes) != len(httpapi.Codes()) {
		t.Errorf("errors-http.md has the codes %q", codes)
	}
}

// TestTextIsEscaped checks that markup in text is escaped.
func TestTextIsEscaped(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"last_contact_after": "last_contact_after", "_emphasis_": `\_emphasis_`, "*a* **b**": `\*a\* \*\*b\*\*`,
		"[a](b)": `\[a\](b)`, "<script>": `\<script>`, "a | b": `a \| b`, "`x`": "\\`x\\`", `back\slash`: `back\\slash`,
		"2026 was": "2026 was", "&amp;": `\&amp;`, "a\nb\r\nc": "a b c", "~~x~~": `\~\~x\~\~`, "C# and F#": "C# and F#",
		"see _meta, add_…": `see \_meta, add_…`,
	} {
		got := escapeText(text)
		if got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
		html, err := renderHTML([]byte("It says " + got))
		plain := strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(string(html))
		if oneLine := strings.NewReplacer("\r\n", " ", "\n", " ").Replace(text); err != nil || plain != "<p>It says "+oneLine+"</p>\n" {
			t.Errorf("%q became %q: %v", text, html, err)
		}
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	s := newTestSite(t, "/here")
	text := "A [link](/here#part) and [`gone`](/gone), [there](https://other.example/).\n\n- [a](/here): one\n- [b](/gone): two\n- See [b](/gone).\n"
	want := "A [link](https://kith.example/here#part) and `gone`, [there](https://other.example/).\n\n- [a](https://kith.example/here): one\n- See b.\n"
	if got := string(s.resolve(text, "https://kith.example")); got != want {
		t.Errorf("got %s", got)
	}
}

func TestRenderHTML(t *testing.T) {
	t.Parallel()
	html, err := renderHTML([]byte("# Title\n\n> Said.\n\n## `the_part` of it\n\nA [link](/here), <b>no tag</b>.\n\n1. first\n\n```sh\necho '<b>'\n```\n\n" +
		"| Name | What |\n| --- | --- |\n| `a\\|b` | c\\|d |\n\n<script>alert(1)</script>\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, wanted := range []string{
		`<h1 id="title">Title</h1>`, "<blockquote>\n<p>Said.</p>\n</blockquote>", `<h2 id="the_part-of-it"><code>the_part</code> of it</h2>`,
		`<p>A <a href="/here">link</a>, `, "<ol>\n<li>first</li>", "echo '&lt;b&gt;'\n</code></pre>",
		`<div class="scroll" tabindex="0" role="region" aria-labelledby="the_part-of-it">`, `<th scope="col">What</th>`,
		"<th scope=\"row\"><code>a|b</code></th><td>c|d</td>",
	} {
		if !strings.Contains(string(html), wanted) {
			t.Errorf("lacks %q", wanted)
		}
	}
	if strings.Contains(string(html), "<b>") || strings.Contains(string(html), "<script") {
		t.Errorf("raw HTML is passed through: %s", html)
	}
}
