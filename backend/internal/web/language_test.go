package web_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/net/html"

	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// foreign are elements whose texts are not in the language of the page: what people and programs wrote.
var foreign = []string{"bdi", "code", "pre", "script", "style", "template", "textarea"}

// textsOf returns the texts of a page that the program wrote.
func textsOf(n *html.Node, add func(string)) {
	if n.Type == html.ElementNode {
		if slices.Contains(foreign, n.Data) || slices.Contains([]string{"note", "text", "bio"}, webtest.Attr(n, "class")) {
			return
		}
		for _, a := range []string{"placeholder", "aria-label", "title", "alt"} {
			if !strings.Contains(n.Data, "img") {
				add(webtest.Attr(n, a))
			}
		}
	}
	if n.Type == html.TextNode {
		add(strings.Join(strings.Fields(n.Data), " "))
	}
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		textsOf(child, add)
	}
}

// alike are texts that are the same in German, or data of the tests outside of bdi.
var alike = []string{
	"Kith", "(optional)", "Code", "Filter", "Links", "Link", "Name", "Organisation", "Passkeys", "Person", "Text", "Label", "https://", "Agent Smith", "x", "https://a.example",
	"April", "August", "September", "November", "Sandbox", "Demo", "Status", "Import", "Format", "Domain", "Website", "Region", "Agent", "Token",
}

// written returns the part of a text that may be of a member or alike: without the name of the site, a year or a number
// after it.
func written(text string) string {
	text = strings.TrimSuffix(text, " · Kith")
	if month, year, ok := strings.Cut(text, " "); ok && len(year) == len("2006") && slices.Contains(alike, month) {
		return month
	}
	if before, _, ok := strings.Cut(text, ": "); ok {
		return before
	}
	return text
}

// recordedInEnglish matches the beginning of the sentence of a change, which is recorded in English.
var recordedInEnglish = regexp.MustCompile(`^(Added|Archived|Brought back|Changed|Defined|Deleted|Linked|Logged|Made the|Merged|Removed|Renamed|Set the|Undid:|Unlinked)\b`)

// TestEveryPageInGerman: no page that a German member or visitor sees has an English text.
func TestEveryPageInGerman(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, english, german map[string]*webtest.Page) {
		t.Helper()
		left := map[string][]string{}
		said := map[string]bool{} // what members wrote
		for _, page := range german {
			for _, n := range page.All("bdi") {
				text := webtest.TextOf(n)
				said[text] = true
				if recordedInEnglish.MatchString(text) {
					t.Errorf("the sentence of a change is in English: %q", text)
				}
			}
		}
		for name, page := range german {
			before := map[string]bool{}
			if english[name] != nil {
				textsOf(english[name].All("html")[0], func(text string) { before[text] = true })
			}
			textsOf(page.All("html")[0], func(text string) {
				if before[text] && !said[written(text)] && !slices.Contains(alike, written(text)) && strings.ContainsFunc(text, unicode.IsLower) && !slices.Contains(left[text], name) {
					left[text] = append(left[text], name)
				}
			})
			if lang := webtest.Attr(page.All("html")[0], "lang"); lang != "de" {
				t.Errorf("%s: the language is %q", name, lang)
			}
		}
		for _, text := range slices.Sorted(maps.Keys(left)) {
			t.Errorf("English: %q, on %s", text, left[text][:min(2, len(left[text]))])
		}
	}
	t.Run("pages", func(t *testing.T) {
		t.Parallel()
		check(t, everyPage(t, "en"), everyPage(t, "de"))
	})
	t.Run("demo", func(t *testing.T) {
		t.Parallel()
		in := func(locale string) map[string]*webtest.Page {
			pages := crawl(t, demoSite(t, locale).Browser(t))
			// The steps of the clients name what their own English menus say; charts show names in SVG, without bdi.
			maps.DeleteFunc(pages, func(at string, p *webtest.Page) bool {
				return len(p.All("html")) == 0 || strings.HasPrefix(at, "/demo/connect") || strings.HasPrefix(at, "/demo/network?")
			})
			return pages
		}
		check(t, in("en"), in("de"))
	})
}
