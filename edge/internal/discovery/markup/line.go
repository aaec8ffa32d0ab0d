package markup

import "strings"

// Span is a stretch of a line that is of one kind.
type Span struct {
	Text string
	// Code spans are shown in the typewriter face, as they are.
	Code bool
	// Href is where a link leads; "" for what is none. A path of this service
	// starts with "/", a place in the same document with "#".
	Href string
}

// Line is what one paragraph, heading, cell or list item says.
type Line []Span

// Plain returns text in which nothing is markup.
func Plain(text string) Line { return Line{{Text: text}} }

// Code returns code.
func Code(text string) Line { return Line{{Text: text, Code: true}} }

// Link returns a link.
func Link(text, href string) Line { return Line{{Text: text, Href: href}} }

// CodeLink returns a link whose text is code.
func CodeLink(text, href string) Line { return Line{{Text: text, Code: true, Href: href}} }

// Join returns one line of several, without anything between them.
func Join(lines ...Line) Line {
	var all Line
	for _, l := range lines {
		all = append(all, l...)
	}
	return all
}

// Separate returns one line of several, with plain text between them.
func Separate(separator string, lines ...Line) Line {
	var all Line
	for i, l := range lines {
		if i > 0 {
			all = append(all, Span{Text: separator})
		}
		all = append(all, l...)
	}
	return all
}

// Prose reads `code` and [text](href) in a sentence. It is for sentences that
// this program has written; what comes from elsewhere is Plain.
func Prose(sentence string) Line {
	var l Line
	for sentence != "" {
		i := strings.IndexAny(sentence, "`[")
		if i < 0 {
			return append(l, Span{Text: sentence})
		}
		span, rest, ok := cutSpan(sentence[i:])
		if !ok {
			return append(l, Span{Text: sentence})
		}
		if i > 0 {
			l = append(l, Span{Text: sentence[:i]})
		}
		l, sentence = append(l, span), rest
	}
	return l
}

// cutSpan reads the code or the link that the text begins with.
func cutSpan(text string) (span Span, rest string, ok bool) {
	if text[0] == '`' {
		code, rest, ok := strings.Cut(text[1:], "`")
		return Span{Text: code, Code: true}, rest, ok
	}
	label, rest, ok := strings.Cut(text[1:], "](")
	if !ok {
		return Span{}, "", false
	}
	href, rest, ok := strings.Cut(rest, ")")
	if inner, isCode := strings.CutPrefix(label, "`"); isCode {
		return Span{Text: strings.TrimSuffix(inner, "`"), Code: true, Href: href}, rest, ok
	}
	return Span{Text: label, Href: href}, rest, ok
}

// Text returns the line's words, without markup.
func (l Line) Text() string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.Text)
	}
	return b.String()
}
