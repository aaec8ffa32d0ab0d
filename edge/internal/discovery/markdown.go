package discovery

import (
	"bytes"
	"embed"
	"html/template"
	"regexp"
	"strings"
	"sync"
	texttemplate "text/template"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"

	"github.com/kith-crm/kith/edge/internal/bearer"
)

// pageFiles are the texts of the documents: Markdown with text/template actions for the
// generated parts. A link to a path of this service starts with "/".
//
//go:embed pages/*.md
var pageFiles embed.FS

func (s *site) parsePages() (*texttemplate.Template, error) {
	return texttemplate.New("").Funcs(texttemplate.FuncMap{
		"text": escapeText, "code": codeSpan, "bounds": boundsOf, "serves": s.serves,
		"batchVersion": func() string { return versionWithBatches },
		"challenge":    func() string { return bearer.NewChallenge("…", []string{"…"}).InvalidToken() },
	}).ParseFS(pageFiles, "pages/*.md")
}

// page executes a file of pageFiles. The links in its result are paths.
func (s *site) page(name string, data any) (string, error) {
	var b strings.Builder
	err := s.pages.ExecuteTemplate(&b, name, data)
	return b.String(), err
}

var (
	listedLink = regexp.MustCompile(`(?m)^- \[[^\]]+\]\((/[^)\s]*)\).*\n`)
	inlineLink = regexp.MustCompile(`\[([^\[\]]+)\]\((/[^)\s]*)\)`)
)

// resolve puts base before the path of each link. Where no route serves the path,
// a list item that starts with the link is left out, and any other link becomes
// its text.
func (s *site) resolve(markdown, base string) []byte {
	markdown = listedLink.ReplaceAllStringFunc(markdown, func(item string) string {
		if !s.serves(listedLink.FindStringSubmatch(item)[1]) {
			return ""
		}
		return item
	})
	return []byte(inlineLink.ReplaceAllStringFunc(markdown, func(link string) string {
		parts := inlineLink.FindStringSubmatch(link)
		if !s.serves(parts[2]) {
			return parts[1]
		}
		return "[" + parts[1] + "](" + base + parts[2] + ")"
	}))
}

// converter returns the converter of all pages.
var converter = sync.OnceValue(func() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithExtensions(extension.Table), goldmark.WithParserOptions(parser.WithAutoHeadingID()),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(tableRenderer{}, 1))), //nolint:misspell // as goldmark spells it
	)
})

// renderHTML returns Markdown as the HTML of a page's content. Raw HTML in it is left out. Headings
// have an id, tables can be scrolled with the keyboard.
func renderHTML(markdown []byte) (template.HTML, error) {
	var b bytes.Buffer
	err := converter().Convert(markdown, &b, parser.WithContext(parser.NewContext(parser.WithIDs(headingIDs{}))))
	return template.HTML(b.String()), err // goldmark escapes text and leaves raw HTML out
}

// headingIDs gives a heading the id that GitHub gives it.
type headingIDs struct{}

func (headingIDs) Generate(heading []byte, _ ast.NodeKind) []byte {
	return bytes.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z':
			return r
		default:
			return -1
		}
	}, bytes.ToLower(heading))
}

func (headingIDs) Put([]byte) {}

// tableRenderer wraps a table in a region that is labelled by the heading above it. The
// first cell of a row is the row's header.
type tableRenderer struct{}

func (tableRenderer) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(tables.KindTable, renderTable)
	r.Register(tables.KindTableCell, renderCell)
}

func renderTable(w util.BufWriter, _ []byte, table ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		_, err := w.WriteString("</table>\n</div>\n")
		return ast.WalkContinue, err
	}
	heading := table.PreviousSibling()
	for heading != nil && heading.Kind() != ast.KindHeading {
		heading = heading.PreviousSibling()
	}
	_, _ = w.WriteString(`<div class="scroll" tabindex="0" role="region" aria-labelledby="`)
	if heading != nil {
		id, _ := heading.AttributeString("id")
		name, _ := id.([]byte)
		_, _ = w.Write(name)
	}
	_, err := w.WriteString("\">\n<table>\n")
	return ast.WalkContinue, err
}

func renderCell(w util.BufWriter, _ []byte, cell ast.Node, entering bool) (ast.WalkStatus, error) {
	tag, scope := "td", ""
	switch {
	case cell.Parent().Kind() == tables.KindTableHeader:
		tag, scope = "th", ` scope="col"`
	case cell.PreviousSibling() == nil:
		tag, scope = "th", ` scope="row"`
	}
	text := "<" + tag + scope + ">"
	if !entering {
		text = "</" + tag + ">"
	}
	_, err := w.WriteString(text)
	return ast.WalkContinue, err
}

// codeSpan returns text as code that may stand in a table.
func codeSpan(text string) string {
	text = strings.ReplaceAll(text, "|", `\|`)
	if strings.Contains(text, "`") {
		return "`` " + text + " ``"
	}
	return "`" + text + "`"
}

var markup = regexp.MustCompile("[\\\\`*\\[\\]<~|&]|\\b_|\\s*[\r\n]+\\s*")

// escapeText returns untrusted text as one line of Markdown with all markup escaped. It must not
// begin a line.
func escapeText(text string) string {
	return markup.ReplaceAllStringFunc(text, func(found string) string {
		if strings.TrimSpace(found) == "" {
			return " "
		}
		return `\` + found
	})
}
