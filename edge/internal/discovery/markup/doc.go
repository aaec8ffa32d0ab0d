// Package markup holds a document once and writes it twice: as HTML for people
// and as Markdown for agents. What is text in the one is text in the other,
// because escaping happens here and nowhere else.
//
//	Prose, Plain, Code, Link → Line ┐
//	                                ├→ Block → Document ─ Resolve ─┬→ HTML
//	Heading, Paragraph, Table …  ───┘                              └→ Markdown
//
// It knows no page, no layout and no address: whoever writes a document says
// through Resolve where its links lead.
package markup
