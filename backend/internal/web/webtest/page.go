package webtest

import (
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// Page is a response with its parsed document.
type Page struct {
	Status int
	Header http.Header
	Body   string
	// Cookies are those that the response sets.
	Cookies []*http.Cookie

	t    testing.TB
	root *html.Node
}

func newPage(t testing.TB, res *http.Response, body string) *Page {
	t.Helper()
	root, err := html.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, input := range all(root, "input") {
		if name := Attr(input, "name"); Attr(input, "type") == "password" && !strings.Contains(name, "password") {
			t.Errorf("the field %q is of a password: its name must have the word, so that the page of a form that is out of date does not show it", name)
		}
	}
	return &Page{Status: res.StatusCode, Header: res.Header, Body: body, Cookies: res.Cookies(), t: t, root: root}
}

// All returns the elements with a tag, in order.
func (p *Page) All(tag string) []*html.Node { return all(p.root, tag) }

func all(root *html.Node, tag string) []*html.Node {
	var out []*html.Node
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && n.Data == tag {
			out = append(out, n)
		}
	}
	return out
}

// Attr returns an attribute; empty if there is none.
func Attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// Has reports whether an element has an attribute.
func Has(n *html.Node, name string) bool {
	for _, a := range n.Attr {
		if a.Key == name {
			return true
		}
	}
	return false
}

// TextOf returns an element's text, with single spaces.
func TextOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// Text returns the text of the page's main part.
func (p *Page) Text() string {
	for _, n := range p.All("main") {
		return TextOf(n)
	}
	return ""
}

// ByID returns the element with an id, or nil.
func (p *Page) ByID(id string) *html.Node {
	for n := range p.root.Descendants() {
		if n.Type == html.ElementNode && Attr(n, "id") == id {
			return n
		}
	}
	return nil
}

// Heading returns the text of the only h1.
func (p *Page) Heading() string {
	for _, n := range p.All("h1") {
		return TextOf(n)
	}
	return ""
}

// Form returns the values of the form that goes to action, as a browser would send
// them, without its buttons. The page must have exactly one such form, unless n selects
// one.
func (p *Page) Form(action string) url.Values {
	p.t.Helper()
	forms := p.Forms(action)
	if len(forms) != 1 {
		p.t.Fatalf("%d forms go to %s:\n%d %s", len(forms), action, p.Status, p.Body)
	}
	return forms[0]
}

// Forms returns the values of every form that goes to action.
func (p *Page) Forms(action string) []url.Values {
	var out []url.Values
	for _, form := range p.All("form") {
		if Attr(form, "method") == "post" && leadsTo(form, action) {
			out = append(out, valuesOf(form))
		}
	}
	return out
}

// leadsTo reports whether a form or one of its buttons is sent to action.
func leadsTo(form *html.Node, action string) bool {
	return Attr(form, "action") == action || slices.ContainsFunc(all(form, "button"), func(b *html.Node) bool { return Attr(b, "formaction") == action })
}

func valuesOf(form *html.Node) url.Values {
	values := url.Values{}
	for _, n := range all(form, "input") {
		kind := Attr(n, "type")
		if (kind == "checkbox" || kind == "radio") && !Has(n, "checked") {
			continue
		}
		value := Attr(n, "value")
		if kind == "checkbox" && !Has(n, "value") {
			value = "on"
		}
		values.Add(Attr(n, "name"), value)
	}
	for _, n := range all(form, "textarea") {
		var text string
		if n.FirstChild != nil {
			text = n.FirstChild.Data
		}
		values.Add(Attr(n, "name"), text)
	}
	for _, n := range all(form, "select") {
		for _, o := range all(n, "option") {
			if Has(o, "selected") {
				values.Add(Attr(n, "name"), Attr(o, "value"))
			}
		}
	}
	return values
}

// Fill returns the values of the form that goes to action with some changed; a value of
// nil omits a field.
func (p *Page) Fill(action string, change url.Values) url.Values {
	p.t.Helper()
	form := p.Form(action)
	maps.Copy(form, change)
	for name, values := range change {
		if values == nil {
			delete(form, name)
		}
	}
	return form
}

// OwnScript is the tag of a script of ours.
var OwnScript = regexp.MustCompile(`<script type="module" src="/assets/[a-z]+\.js\?v=[0-9a-f]{12}"></script>`)

// Values returns a form from alternating names and values.
func Values(pairs ...string) url.Values {
	v := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		v.Add(pairs[i], pairs[i+1])
	}
	return v
}
