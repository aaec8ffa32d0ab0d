package discovery_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/kith-crm/kith/edge/internal/discovery"
	"github.com/kith-crm/kith/edge/internal/route"
)

var (
	markdownLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	wholeAddress = regexp.MustCompile(regexp.QuoteMeta(base) + `[^"'\x60\s|)\\<>]*`)
	// outside lists the external links: documentation of clients, and links that open a client.
	outside = regexp.MustCompile(`^(https://(code\.claude\.com|support\.claude\.com|chatgpt\.com|developers\.openai\.com|cursor\.com|` +
		`code\.visualstudio\.com|block\.github\.io)/|cursor://anysphere\.cursor-deeplink/|vscode:mcp/install\?|goose://extension\?)`)
	headingAnchor = regexp.MustCompile("(?m)^#{1,6} `?([^`\n]+?)`?$")
)

// linksOf returns the links of a page, unresolved.
func linksOf(t *testing.T, page string) []string {
	t.Helper()
	var links []string
	for _, e := range parsePage(t, page) {
		for _, attribute := range []string{"href", "src", "action"} {
			if link := e.attributes[attribute]; link != "" {
				links = append(links, link)
			}
		}
	}
	return links
}

// checkLinks fails unless every link leads to a route or is one of outside.
func checkLinks(t *testing.T, matcher *route.Matcher, document string, links []string) {
	t.Helper()
	for _, link := range links {
		path, own := strings.CutPrefix(link, base)
		switch {
		case strings.HasPrefix(link, "#"), outside.MatchString(link):
			continue // anchors are checked where they are known
		case strings.HasPrefix(link, "/"):
			path = link
		case !own:
			t.Errorf("%s leads to %q", document, link)
			continue
		}
		path, _, _ = strings.Cut(path, "#")
		path, _, _ = strings.Cut(path, "?")
		if path == "" {
			continue // the service itself, as the issuer is written
		}
		if _, _, ok := matcher.Find(path); !ok && !strings.Contains(path, "{") {
			t.Errorf("%s leads to %q, which nothing serves", document, link)
		}
	}
}

// TestLinksHaveRoutes checks every link of every document, on every kind of server: a
// route must serve it.
func TestLinksHaveRoutes(t *testing.T) {
	t.Parallel()
	for variant, change := range variants() {
		o := options(t)
		if change != nil {
			change(&o)
		}
		matcher, err := route.NewMatcher(o.Routes)
		if err != nil {
			t.Fatal(err)
		}
		d, err := discovery.New(o)
		if err != nil {
			t.Fatal(err)
		}
		for name, p := range pagesOf(t, d) {
			links := linksOf(t, text(t, p.handler, p.argument, "text/html"))
			checkLinks(t, matcher, variant+"/"+name, links)
			if len(links) < 5 {
				t.Errorf("%s has only the links %q", name, links)
			}
			checkMarkdownLinks(t, matcher, variant+"/"+name, text(t, p.handler, p.argument, "text/markdown"))
		}
		checkMarkdownLinks(t, matcher, variant+"/llms.txt", get(d["/llms.txt"], "").Body.String())
		for name, handler := range map[string]route.Handler{"/v1": d["/v1"], "api-catalog": d["/.well-known/api-catalog"], "server card": d["/mcp/v1/server-card"], "AI catalogue": d["/.well-known/ai-catalog.json"]} {
			body := get(handler, "").Body.String()
			checkLinks(t, matcher, variant+name, wholeAddress.FindAllString(body, -1))
		}
	}
}

func checkMarkdownLinks(t *testing.T, matcher *route.Matcher, document, body string) {
	t.Helper()
	anchors := map[string]bool{}
	for _, m := range headingAnchor.FindAllStringSubmatch(body, -1) {
		anchors[strings.ReplaceAll(strings.ToLower(m[1]), " ", "-")] = true
	}
	var links []string
	for _, m := range markdownLink.FindAllStringSubmatch(body, -1) {
		links = append(links, m[1])
		if anchor, ok := strings.CutPrefix(m[1], "#"); ok && !anchors[anchor] {
			t.Errorf("%s links to the heading %q, which does not exist", document, anchor)
		}
		if strings.HasPrefix(m[1], "/") {
			t.Errorf("%s has the link %q, which is not absolute", document, m[1])
		}
	}
	checkLinks(t, matcher, document, links)
	checkLinks(t, matcher, document, wholeAddress.FindAllString(body, -1))
}

// Links to a heading of another page lead to a heading that exists.
func TestLinksToHeadings(t *testing.T) {
	t.Parallel()
	ids := map[string]bool{}
	var wanted []string
	for _, p := range pagesOf(t, build(t, nil)) {
		body := text(t, p.handler, p.argument, "text/html")
		for _, e := range parsePage(t, body) {
			ids[p.path+"#"+e.attributes["id"]] = true
		}
		for _, link := range linksOf(t, body) {
			if strings.HasPrefix(link, "/") && strings.Contains(link, "#") {
				wanted = append(wanted, link)
			}
		}
	}
	for _, link := range wanted {
		if !ids[link] {
			t.Errorf("%s leads to no heading", link)
		}
	}
	if len(wanted) == 0 {
		t.Error("no page links to a heading of another page")
	}
}

// Documents do not mention features that the server does not have.
func TestDocumentsMentionOnlyServedFeatures(t *testing.T) {
	t.Parallel()
	d := build(t, bare)
	for path, handler := range d {
		if strings.HasPrefix(path, "/assets/") || path == "/openapi.json" || path == route.PathSandboxCard { // which a bare server doesn't have
			continue
		}
		body := get(handler, argumentOf(path)).Body.String()
		for _, absent := range []string{"/oauth/", "/sandbox", "/openapi.json", "/settings", "/sign-in", "/api/batch"} {
			if strings.Contains(body, absent) {
				t.Errorf("%s mentions %s", path, absent)
			}
		}
	}
}
