package page

import (
	"bytes"
	"html/template"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/util"
)

// notes converts the Markdown of notes. HTML in a note is text, line breaks stay, a heading is a line in bold,
// and a picture is its address, since pages load nothing from elsewhere.
var notes = goldmark.New(
	goldmark.WithParser(parser.NewParser(
		parser.WithBlockParsers(
			util.Prioritized(parser.NewThematicBreakParser(), 200), util.Prioritized(parser.NewListParser(), 300), util.Prioritized(parser.NewListItemParser(), 400), //nolint:mnd,misspell // the order of goldmark's own parsers, as it spells it
			util.Prioritized(parser.NewCodeBlockParser(), 500), util.Prioritized(parser.NewATXHeadingParser(), 600), util.Prioritized(parser.NewFencedCodeBlockParser(), 700), //nolint:mnd,misspell // as above
			util.Prioritized(parser.NewBlockquoteParser(), 800), util.Prioritized(parser.NewParagraphParser(), 1000), //nolint:mnd,misspell // as above
		),
		parser.WithInlineParsers(
			util.Prioritized(parser.NewCodeSpanParser(), 100), util.Prioritized(parser.NewLinkParser(), 200), //nolint:mnd,misspell // as above
			util.Prioritized(parser.NewAutoLinkParser(), 300), util.Prioritized(parser.NewEmphasisParser(), 500), //nolint:mnd,misspell // as above
		),
	)),
	goldmark.WithRendererOptions(html.WithHardWraps(), renderer.WithNodeRenderers(util.Prioritized(noteRenderer{}, 1))), //nolint:misspell // as goldmark spells it
)

// Markdown returns the HTML of a note.
func Markdown(note string) template.HTML {
	var b bytes.Buffer
	if err := notes.Convert([]byte(note), &b); err != nil { // a buffer never fails
		return template.HTML(template.HTMLEscapeString(note)) //nolint:gosec // it is escaped
	}
	return template.HTML(b.String()) //nolint:gosec // goldmark escapes text, and leaves dangerous addresses out
}

// noteRenderer renders what a note has otherwise than a document.
type noteRenderer struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (noteRenderer) RegisterFuncs(to renderer.NodeRendererFuncRegisterer) {
	to.Register(ast.KindHeading, func(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			_, _ = w.WriteString("<p><strong>")
		} else {
			_, _ = w.WriteString("</strong></p>\n")
		}
		return ast.WalkContinue, nil
	})
	to.Register(ast.KindImage, func(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if image, ok := n.(*ast.Image); ok && !entering {
			_, _ = w.WriteString(" " + template.HTMLEscapeString(string(image.Destination)))
		}
		return ast.WalkContinue, nil
	})
}
