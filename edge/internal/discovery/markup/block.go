package markup

import "strings"

// Kind says what a block is.
type Kind string

// The kinds of blocks.
const (
	KindHeading   Kind = "heading"
	KindParagraph Kind = "paragraph"
	KindQuote     Kind = "quote"
	KindList      Kind = "list"
	KindSteps     Kind = "steps"
	KindFence     Kind = "fence"
	KindTable     Kind = "table"
)

// Block is a part of a document. Which fields count depends on its kind.
type Block struct {
	Kind Kind
	// Level of a heading, from 1.
	Level int
	// ID is the name of a heading within the document, or "".
	ID string
	// Line is what a heading, paragraph or quote says, and a table's caption.
	Line Line
	// Items of a list or of steps.
	Items []Line
	// Language and Code are those of a fence.
	Language, Code string
	// Head and Rows are those of a table. The first cell of a row names it.
	Head []string
	Rows [][]Line
}

// Document is a sequence of blocks.
type Document []Block

// Heading returns a heading that links can name by its id.
func Heading(level int, id string, l Line) Block {
	return Block{Kind: KindHeading, Level: level, ID: id, Line: l}
}

// Paragraph returns a paragraph.
func Paragraph(l Line) Block { return Block{Kind: KindParagraph, Line: l} }

// Quote returns a block quotation.
func Quote(l Line) Block { return Block{Kind: KindQuote, Line: l} }

// List returns a list without an order.
func List(items ...Line) Block { return Block{Kind: KindList, Items: items} }

// Steps returns a list that is numbered.
func Steps(items ...Line) Block { return Block{Kind: KindSteps, Items: items} }

// Fence returns text that is shown as it is.
func Fence(language, code string) Block {
	return Block{Kind: KindFence, Language: language, Code: code}
}

// Table returns a table. The caption says what it holds, for those who do not
// see it; Markdown has no captions.
func Table(caption string, head []string, rows ...[]Line) Block {
	return Block{Kind: KindTable, Line: Plain(caption), Head: head, Rows: rows}
}

// Resolve returns the document with every path in its links replaced by what
// resolve answers. A link for which it answers false becomes plain text. Places
// in the same document and addresses of other sites stay.
func (d Document) Resolve(resolve func(path string) (href string, ok bool)) Document {
	resolved := make(Document, 0, len(d))
	for _, b := range d {
		b.Line = b.Line.resolve(resolve)
		b.Items = resolveAll(b.Items, resolve)
		rows := make([][]Line, 0, len(b.Rows))
		for _, row := range b.Rows {
			rows = append(rows, resolveAll(row, resolve))
		}
		b.Rows = rows
		resolved = append(resolved, b)
	}
	return resolved
}

func resolveAll(lines []Line, resolve func(string) (string, bool)) []Line {
	resolved := make([]Line, 0, len(lines))
	for _, l := range lines {
		resolved = append(resolved, l.resolve(resolve))
	}
	return resolved
}

func (l Line) resolve(resolve func(string) (string, bool)) Line {
	resolved := make(Line, 0, len(l))
	for _, s := range l {
		if strings.HasPrefix(s.Href, "/") {
			href, ok := resolve(s.Href)
			if !ok {
				href = ""
			}
			s.Href = href
		}
		resolved = append(resolved, s)
	}
	return resolved
}
