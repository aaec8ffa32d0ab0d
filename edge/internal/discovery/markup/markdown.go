package markup

import (
	"strconv"
	"strings"
)

// Markdown returns the document as CommonMark with the tables of GitHub.
func (d Document) Markdown() []byte {
	var b strings.Builder
	for i, block := range d {
		if i > 0 {
			b.WriteByte('\n')
		}
		block.writeMarkdown(&b)
	}
	return []byte(b.String())
}

func (b Block) writeMarkdown(out *strings.Builder) {
	switch b.Kind {
	case KindHeading:
		out.WriteString(strings.Repeat("#", b.Level) + " " + b.Line.markdown(false) + "\n")
	case KindQuote:
		out.WriteString("> " + escapeStart(b.Line.markdown(false)) + "\n")
	case KindList:
		for _, item := range b.Items {
			out.WriteString("- " + escapeStart(item.markdown(false)) + "\n")
		}
	case KindSteps:
		for i, item := range b.Items {
			out.WriteString(strconv.Itoa(i+1) + ". " + escapeStart(item.markdown(false)) + "\n")
		}
	case KindFence:
		fence := strings.Repeat("`", max(3, longestRun(b.Code, '`')+1))
		out.WriteString(fence + b.Language + "\n" + strings.TrimSuffix(b.Code, "\n") + "\n" + fence + "\n")
	case KindTable:
		b.writeTable(out)
	default:
		out.WriteString(escapeStart(b.Line.markdown(false)) + "\n")
	}
}

func (b Block) writeTable(out *strings.Builder) {
	for _, name := range b.Head {
		out.WriteString("| " + Plain(name).markdown(true) + " ")
	}
	out.WriteString("|\n" + strings.Repeat("| --- ", len(b.Head)) + "|\n")
	for _, row := range b.Rows {
		for _, cell := range row {
			out.WriteString("| " + cell.markdown(true) + " ")
		}
		out.WriteString("|\n")
	}
}

// markdown returns the line. In a cell of a table, bars are escaped in code too.
func (l Line) markdown(cell bool) string {
	var b strings.Builder
	for _, s := range l {
		text := escapeText(s.Text)
		if s.Code {
			text = codeSpan(s.Text)
		}
		if s.Href != "" {
			text = "[" + text + "](" + escapeHref(s.Href) + ")"
		}
		if cell && s.Code {
			text = strings.ReplaceAll(text, "|", `\|`)
		}
		b.WriteString(text)
	}
	return b.String()
}

// codeSpan returns the text between backticks, more of them than it has in a row.
func codeSpan(text string) string {
	text = oneLine(text)
	n := longestRun(text, '`')
	if n == 0 {
		return "`" + text + "`"
	}
	ticks := strings.Repeat("`", n+1)
	return ticks + " " + text + " " + ticks
}

// escapeText escapes what would be markup within a line. An underscore between
// letters or digits is none.
func escapeText(text string) string {
	text = oneLine(text)
	var b strings.Builder
	for i := range len(text) {
		switch c := text[i]; c {
		case '\\', '`', '*', '[', ']', '<', '~', '|', '&':
			b.WriteByte('\\')
		case '_':
			if i == 0 || i == len(text)-1 || !alphanumeric(text[i-1]) || !alphanumeric(text[i+1]) {
				b.WriteByte('\\')
			}
		case '!': // a link may follow, and must not become an image
			if i == len(text)-1 {
				b.WriteByte('\\')
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// escapeStart escapes what would make a heading, list, quote or rule of a paragraph.
func escapeStart(line string) string {
	if line == "" {
		return line
	}
	switch line[0] {
	case '#', '-', '+', '>', '=':
		return `\` + line
	}
	digits := len(line) - len(strings.TrimLeft(line, "0123456789"))
	if digits > 0 && digits < len(line) && (line[digits] == '.' || line[digits] == ')') {
		return line[:digits] + `\` + line[digits:]
	}
	return line
}

// escapeHref keeps an address from ending before its end.
func escapeHref(href string) string {
	if !strings.ContainsAny(href, " ()<>") {
		return href
	}
	return strings.NewReplacer(" ", "%20", "(", "%28", ")", "%29", "<", "%3C", ">", "%3E").Replace(href)
}

// oneLine returns the text with its line breaks made spaces.
func oneLine(text string) string {
	if !strings.ContainsAny(text, "\r\n") {
		return text
	}
	return strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ").Replace(text)
}

func alphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c >= 0x80
}

func longestRun(text string, of byte) int {
	longest, run := 0, 0
	for i := range len(text) {
		if text[i] != of {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}
