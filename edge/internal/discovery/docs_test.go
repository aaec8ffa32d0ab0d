package discovery_test

import (
	"bytes"
	"compress/gzip"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/kith-crm/kith/edge/internal/discovery"
	"github.com/kith-crm/kith/edge/internal/httpapi"
	"github.com/kith-crm/kith/edge/internal/route"
)

// TestEveryToolHasAPage compares the page of each tool with the catalogue, in both forms.
func TestEveryToolHasAPage(t *testing.T) {
	t.Parallel()
	for variant, change := range variants() {
		d := build(t, change)
		list := text(t, d["/docs/tools"], "", "text/markdown")
		for _, rpc := range loadCatalog(t).Tools() {
			tool := rpc.Tool
			if !strings.Contains(list, "[`"+tool.Name+"`]("+base+"/docs/tools/"+tool.Name+")") {
				t.Errorf("%s: the list lacks %s", variant, tool.Name)
			}
			wanted := append([]string{tool.Name, tool.Title, tool.Description, "curl -sS", `"jsonrpc": "2.0"`, "-32001", "-32003"}, rpc.Scopes...)
			for _, text := range [][]byte{tool.BoundedSchema, tool.OutputSchema} {
				arguments, err := discovery.ArgumentsOf(text)
				if err != nil {
					t.Fatal(err)
				}
				for _, a := range arguments {
					wanted = append(append(wanted, a.Name, a.Type, a.Description), a.Bounds...)
				}
			}
			wanted = append(wanted, "Arguments", "Answer", "Example", "Errors")
			words := wordsOf(t, d["/docs/tools/{name}"], tool.Name)
			for _, word := range wanted {
				if !strings.Contains(words, strings.Join(strings.Fields(word), " ")) {
					t.Errorf("%s: the page of %s lacks %q", variant, tool.Name, word)
				}
			}
			if out := tool.Credits > 0; strings.Contains(words, "credits for this month are used up") != out {
				t.Errorf("%s: the page says that the credits can be used up: %t", tool.Name, !out)
			}
			if asks := len(tool.Acts) > 0; strings.Contains(words, "approval_needed") != asks {
				t.Errorf("%s: the page says that the member can be asked first: %t", tool.Name, !asks)
			}
			if !strings.Contains(text(t, d["/docs/tools/{name}"], tool.Name, "text/markdown"), "# `"+tool.Name+"`: ") {
				t.Errorf("%s: %s has no Markdown", variant, tool.Name)
			}
		}
	}
}

// wordsOf returns the text of a page's main part.
func wordsOf(t *testing.T, h route.Handler, argument string) string {
	t.Helper()
	main := named(parsePage(t, text(t, h, argument, "text/html")), "main")
	return strings.Join(strings.Fields(main[0].text), " ")
}

// The page of each tool says how to undo a call.
func TestUndoIsDocumented(t *testing.T) {
	t.Parallel()
	d := build(t, nil)
	got := map[string][]string{}
	for _, rpc := range loadCatalog(t).Tools() {
		_, said, _ := strings.Cut(text(t, d["/docs/tools/{name}"], rpc.Tool.Name, "text/markdown"), "\n- Undo: ")
		said, _, _ = strings.Cut(said, "\n")
		said = strings.ReplaceAll(said, "[`undo_change`]("+base+"/docs/tools/undo_change)", "undo_change")
		if reads := said == "nothing to undo, it only reads"; reads == rpc.Writes {
			t.Errorf("%s: %s", rpc.Tool.Name, said)
		}
		got[said] = append(got[said], rpc.Tool.Name)
	}
	want := map[string][]string{
		"no": {"embed_objects", "cancel_job"}, "yes, by undo_change with the `import_id` of the job's result": {"import_file"},
	}
	maps.DeleteFunc(got, func(said string, _ []string) bool {
		return strings.Contains(said, "only reads") || strings.Contains(said, "change_id")
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestDocsCrawl follows all links below /docs, starting at the overview. Each link must lead to a
// page, and each page must be linked.
func TestDocsCrawl(t *testing.T) {
	t.Parallel()
	for variant, change := range variants() {
		t.Run(variant, func(t *testing.T) {
			t.Parallel()
			d := build(t, change)
			o := options(t)
			if change != nil {
				change(&o)
			}
			matcher, err := route.NewMatcher(o.Routes)
			if err != nil {
				t.Fatal(err)
			}
			handlers := d
			reached := map[string]bool{}
			for queue := []string{"/docs"}; len(queue) > 0; queue = queue[1:] {
				path := queue[0]
				if reached[path] {
					continue
				}
				reached[path] = true
				r, argument, _ := matcher.Find(path)
				for _, link := range linksOf(t, text(t, handlers[r.Pattern], argument, "text/html")) {
					link, _, _ = strings.Cut(link, "#")
					if link == "/docs" || strings.HasPrefix(link, "/docs/") {
						queue = append(queue, link)
					}
				}
			}
			for name, p := range pagesOf(t, d) {
				if strings.HasPrefix(p.path, "/docs") && !reached[p.path] {
					t.Errorf("no link leads to %s", name)
				}
			}
		})
	}
}

// The sidebar marks the open page and expands the list that contains it.
func TestSidebarMarksThePage(t *testing.T) {
	t.Parallel()
	for name, p := range pagesOf(t, build(t, nil)) {
		all := parsePage(t, text(t, p.handler, p.argument, "text/html"))
		if name == "landing" {
			continue
		}
		var marked []string
		for _, e := range elementsWith(all, "aria-current", "page") {
			marked = append(marked, e.attributes["href"])
		}
		want := []string{p.path}
		if strings.HasSuffix(name, "search") {
			want = nil
		}
		if name == "agent docs" { // the same page
			want = []string{"/docs/mcp"}
		}
		if diff := cmp.Diff(want, marked); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		folded := 0
		for _, e := range named(all, "details") {
			if _, open := e.attributes["open"]; !open {
				folded++
			}
		}
		open := 0
		if strings.HasPrefix(p.path, "/docs/tools/") || strings.HasPrefix(p.path, "/docs/errors/") {
			open = 1
		}
		if len(named(all, "details"))-folded != open {
			t.Errorf("%s: %d lists are expanded, want %d", name, len(named(all, "details"))-folded, open)
		}
	}
}

// A page with all its files has at most 60 KB, of which scripts are at most 15 KB.
func TestPagesAreLight(t *testing.T) {
	t.Parallel()
	d := build(t, nil)
	size := func(body string) int {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = w.Write([]byte(body))
		_ = w.Close()
		return b.Len()
	}
	files := 0
	for path, handler := range assets(d) {
		body := get(handler, "").Body.String()
		if strings.HasSuffix(path, ".js") && len(body) > 15_000 {
			t.Errorf("%s has %d bytes", path, len(body))
		}
		if !strings.HasSuffix(path, ".png") {
			files += size(body)
		}
	}
	for name, p := range pagesOf(t, d) {
		if got := size(text(t, p.handler, p.argument, "text/html")) + files; got > 60_000 {
			t.Errorf("%s takes %d bytes", name, got)
		}
	}
}

// found returns the addresses of the results for a query, in their order.
func found(t *testing.T, d discovery.Documents, query string) []string {
	t.Helper()
	var paths []string
	for _, m := range markdownLink.FindAllStringSubmatch(text(t, searching(d, query), "", "text/markdown"), -1) {
		paths = append(paths, strings.TrimPrefix(m[1], base))
	}
	return paths
}

func TestSearchFindsEveryPage(t *testing.T) {
	t.Parallel()
	d := build(t, nil)
	first := func(query, path string, most int) {
		t.Helper()
		if got := found(t, d, query); !slices.Contains(got[:min(len(got), most)], path) {
			t.Errorf("%q finds %q, not %s", query, got, path)
		}
	}
	for _, rpc := range loadCatalog(t).Tools() {
		path := "/docs/tools/" + rpc.Tool.Name
		first(rpc.Tool.Name, path, 1)
		first(strings.ReplaceAll(rpc.Tool.Name, "_", " "), path, 1)
		first(rpc.Tool.Title, path, 5)
		// Search for the longest words of the description together.
		words := strings.FieldsFunc(rpc.Tool.Description, func(r rune) bool { return r < 'A' || r > 'z' || r == '_' })
		slices.SortStableFunc(words, func(a, b string) int { return len(b) - len(a) })
		first(strings.Join(words[:3], " "), path, 10)
	}
	for _, code := range httpapi.Codes() {
		first(string(code), "/docs/errors/"+string(code), 1)
		first(code.Title(), "/docs/errors/"+string(code), 3)
	}
	first("-32001", "/docs/errors/-32001", 1)
	for _, name := range guides() {
		first(name, "/docs/"+name, 10)
	}
}

func TestSearchRanks(t *testing.T) {
	t.Parallel()
	d := build(t, nil)
	for query, want := range map[string]string{
		"undo": "/docs/tools/undo_change", "UNDO change!": "/docs/tools/undo_change", "how do I undo a change": "/docs/tools/undo_change",
		"404": "/docs/errors/not_found", "429": "/docs/errors/rate_limited", "merge duplicates": "/docs/tools/merge_connections",
		"cursor": "/docs/connect#cursor", "scopes": "/docs/scopes", "X-MCP-Readonly": "/docs/protocol#fewer-tools", "invalid grant": "/docs/errors/invalid_grant",
		"reminders due": "/docs/tools/list_due", "delete person xyzzy": "/docs/tools/delete_connection",
	} {
		if got := found(t, d, query); len(got) == 0 || got[0] != want {
			t.Errorf("%q finds %q first, want %s", query, got[:min(len(got), 4)], want)
		}
	}
	if got := found(t, d, "serch_conections"); len(got) == 0 || got[0] != "/docs/tools/search_connections" {
		t.Errorf("a misspelt name suggests %q", got)
	}
	if body := text(t, searching(d, "error"), "", "text/markdown"); !strings.Contains(body, "The best 20 of ") {
		t.Errorf("it says %s", body[:100])
	}
	if body := text(t, searching(d, "embed_objects vectors compare"), "", "text/markdown"); !strings.Contains(body, "1 result for") {
		t.Errorf("it says %s", body[:100])
	}
	for _, empty := range []string{"", "  "} {
		if body := text(t, searching(d, empty), "", "text/markdown"); !strings.HasPrefix(body, "# Documentation") {
			t.Errorf("%q: %s", empty, body[:40])
		}
	}
}

// The query is escaped wherever the page shows it.
func TestSearchEscapes(t *testing.T) {
	t.Parallel()
	d := build(t, nil)
	for _, query := range []string{
		`<img src=x onerror="alert(1)">`, `"><script>alert(1)</script>`, "[<https://evil.example>](/no)", "[a](/docs) [b](https://evil.example)",
		"`code` **bold** _em_", "\n# heading", "a\x00b\xff", "&lt;b&gt;", strings.Repeat("é", 300), "- [a](/nothing)", `\[\](/x)`,
	} {
		w := get(searching(d, query), "", "Accept", "text/html")
		if w.Code != http.StatusOK {
			t.Fatalf("%q: %d", query, w.Code)
		}
		all := parsePage(t, w.Body.String())
		main := named(all, "main")[0]
		if len(named(all, "script")) != 1 || len(named(all, "img")) != 0 || len(named(all, "h1")) != 1 {
			t.Errorf("%q becomes markup", query)
		}
		for _, e := range named(all, "a") {
			if href := e.attributes["href"]; strings.Contains(href, "evil") || strings.HasPrefix(href, "/no") {
				t.Errorf("%q becomes a link to %s", query, href)
			}
		}
		if plain := strings.TrimSpace(query); utf8.ValidString(plain) && !strings.ContainsAny(plain, "\x00\n") && len(plain) < 200 {
			if got := elementsWith(all, "name", "q")[0].attributes["value"]; got != plain {
				t.Errorf("the field has the value %q, want %q", got, plain)
			}
			if !strings.Contains(main.text, "“"+plain+"”") {
				t.Errorf("%q is shown as %q", plain, main.text)
			}
		}
	}
}

var firstHref = regexp.MustCompile(`href="([^"]*)"`)

func TestUnknownDocsPage(t *testing.T) {
	t.Parallel()
	d := build(t, nil)
	for name, test := range map[string]struct {
		handler route.Handler
		kind    string
		nearest string
	}{
		"add_notes":          {d["/docs/tools/{name}"], "tool", "/docs/tools/add_note"},
		"rate_limit":         {d["/docs/errors/{code}"], "error", "/docs/errors/rate_limited"},
		"search_connections": {d["/docs/{guide}"], "page", "/docs/tools/search_connections"},
		"conect":             {d["/docs/{guide}"], "page", "/docs/connect"},
	} {
		page := get(test.handler, name, "Accept", "text/html")
		body := page.Body.String()
		checkPage(t, body)
		if page.Code != http.StatusNotFound || page.Header().Get("Content-Type") != "text/html; charset=utf-8" || page.Header().Get("Cache-Control") != "no-store" ||
			page.Header().Get("ETag") != "" || page.Header().Get("Content-Security-Policy") == "" || !strings.Contains(body, "There is no "+test.kind) {
			t.Errorf("%s: %d %v", name, page.Code, page.Header())
		}
		if _, main, _ := strings.Cut(body, "<main"); firstHref.FindStringSubmatch(main)[1] != test.nearest {
			t.Errorf("%s: it suggests %s", name, main)
		}
		problem := get(test.handler, name, "Accept", "text/markdown")
		last := test.nearest[strings.LastIndex(test.nearest, "/")+1:]
		if problem.Code != http.StatusNotFound || problem.Header().Get("Content-Type") != "application/problem+json" ||
			!strings.Contains(problem.Body.String(), `There is no `+test.kind+` \"`+name+`\"; the nearest are `+last) {
			t.Errorf("%s: %d %s", name, problem.Code, problem.Body)
		}
		for _, w := range []*httptest.ResponseRecorder{page, problem} {
			if w.Header().Get("Vary") != "Accept, Accept-Encoding" {
				t.Errorf("%s: %v", name, w.Header())
			}
		}
	}
	head := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodHead, "/", nil)
	r.Header.Set("Accept", "text/html")
	d["/docs/tools/{name}"](head, r, strings.Repeat("x", 5000))
	if head.Code != http.StatusNotFound || head.Body.Len() > 0 {
		t.Errorf("HEAD: %d %v", head.Code, head.Header())
	}
}

func TestResultsAreCacheable(t *testing.T) {
	t.Parallel()
	d := build(t, nil)
	first, again, other := get(searching(d, "undo"), ""), get(searching(d, "undo"), ""), get(searching(d, "merge"), "")
	etag := first.Header().Get("ETag")
	if etag == "" || etag != again.Header().Get("ETag") || etag == other.Header().Get("ETag") || first.Header().Get("Cache-Control") != "public, max-age=300" {
		t.Errorf("%v, %v", first.Header(), other.Header())
	}
	if w := get(searching(d, "undo"), "", "If-None-Match", etag); w.Code != http.StatusNotModified {
		t.Errorf("%d", w.Code)
	}
	if w := get(searching(d, "undo"), "", "Accept", "*/*;q=0"); w.Code != http.StatusNotAcceptable {
		t.Errorf("%d", w.Code)
	}
}
