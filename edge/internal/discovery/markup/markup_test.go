package markup_test

import (
	"bytes"
	"html/template"
	"slices"
	"strings"
	"testing"

	"github.com/kith-crm/kith/edge/internal/discovery/markup"
)

func TestProse(t *testing.T) {
	t.Parallel()
	for sentence, want := range map[string]markup.Line{
		"plain":                     {{Text: "plain"}},
		"a `b` c":                   {{Text: "a "}, {Text: "b", Code: true}, {Text: " c"}},
		"see [this](/v1).":          {{Text: "see "}, {Text: "this", Href: "/v1"}, {Text: "."}},
		"[`/v1`](/v1)":              {{Text: "/v1", Code: true, Href: "/v1"}},
		"one ` alone":               {{Text: "one ` alone"}},
		"a bracket [ alone":         {{Text: "a bracket [ alone"}},
		"data[] and [text](no end":  {{Text: "data[] and [text](no end"}},
		"":                          nil,
		"`a``b`":                    {{Text: "a", Code: true}, {Text: "b", Code: true}},
		"[a](https://b.example/#c)": {{Text: "a", Href: "https://b.example/#c"}},
	} {
		if got := markup.Prose(sentence); !slices.Equal(got, want) {
			t.Errorf("Prose(%q) = %+v, want %+v", sentence, got, want)
		}
	}
}

// TestMarkdownIsText writes text that looks like markup, which must not become any.
func TestMarkdownIsText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"last_contact_after": "last_contact_after", "_emphasis_": `\_emphasis\_`, "*a* **b**": `\*a\* \*\*b\*\*`,
		"[a](b)": `\[a\](b)`, "<script>": `\<script>`, "a | b": `a \| b`, "`x`": "\\`x\\`", `back\slash`: `back\\slash`,
		"# no heading": `\# no heading`, "- no item": `\- no item`, "1. no step": `1\. no step`, "> no quote": `\> no quote`,
		"2026 was": "2026 was", "&amp;": `\&amp;`, "a\nb\r\nc": "a b c", "wow!": `wow\!`, "~~x~~": `\~\~x\~\~`, "C# and F#": "C# and F#",
	} {
		doc := markup.Document{markup.Paragraph(markup.Plain(text))}
		if got := strings.TrimSuffix(string(doc.Markdown()), "\n"); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func sample() markup.Document {
	return markup.Document{
		markup.Heading(1, "", markup.Plain("Title")),
		markup.Quote(markup.Plain("Said.")),
		markup.Heading(2, "part", markup.Code("part")),
		markup.Paragraph(markup.Join(markup.Plain("A "), markup.Link("link", "/here"), markup.Plain(" and "), markup.CodeLink("gone", "/gone"))),
		markup.List(markup.Plain("one"), markup.Link("two", "#part")),
		markup.Steps(markup.Plain("first"), markup.Plain("- second")),
		markup.Fence("sh", "echo '```' <b>\n"),
		markup.Table("Things", []string{"Name", "What"}, []markup.Line{markup.Code("a|b"), markup.Plain("c|d <i>")}),
		markup.Heading(3, "deep", markup.Separate(", ", markup.Plain("x"), markup.Code("y`z"))),
	}.Resolve(func(path string) (string, bool) { return "https://kith.example" + path, path != "/gone" })
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	want := "# Title\n\n> Said.\n\n## `part`\n\nA [link](https://kith.example/here) and `gone`\n\n- one\n- [two](#part)\n\n" +
		"1. first\n2. \\- second\n\n````sh\necho '```' <b>\n````\n\n| Name | What |\n| --- | --- |\n| `a\\|b` | c\\|d \\<i> |\n\n### x, `` y`z ``\n"
	if got := string(sample().Markdown()); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestHTML(t *testing.T) {
	t.Parallel()
	set, err := markup.Define(template.New("test"))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := set.ExecuteTemplate(&b, "document", sample()); err != nil {
		t.Fatal(err)
	}
	for _, wanted := range []string{
		"<h1>Title</h1>", "<blockquote><p>Said.</p></blockquote>", `<h2 id="part"><code>part</code></h2>`,
		`<p>A <a href="https://kith.example/here">link</a> and <code>gone</code></p>`, `<li><a href="#part">two</a></li>`,
		"<ol>\n<li>first</li>", "<pre><code>echo &#39;```&#39; &lt;b&gt;\n</code></pre>",
		`<div class="scroll" tabindex="0" role="region" aria-label="Things">`, `<th scope="col">What</th>`,
		`<th scope="row"><code>a|b</code></th><td>c|d &lt;i&gt;</td>`, `<h3 id="deep">x, <code>y` + "`" + `z</code></h3>`,
	} {
		if !strings.Contains(b.String(), wanted) {
			t.Errorf("lacks %s:\n%s", wanted, &b)
		}
	}
	if strings.Contains(b.String(), "/gone") {
		t.Error("a link that leads nowhere is shown")
	}
}

func TestResolveLeavesTheOriginal(t *testing.T) {
	t.Parallel()
	doc := markup.Document{markup.Paragraph(markup.Link("a", "/a")), markup.List(markup.Link("b", "/b"))}
	doc.Resolve(func(string) (string, bool) { return "", false })
	if doc[0].Line[0].Href != "/a" || doc[1].Items[0][0].Href != "/b" {
		t.Errorf("changed to %+v", doc)
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	if got := markup.Prose("a `b` [c](/d)").Text(); got != "a b c" {
		t.Errorf("got %q", got)
	}
}
