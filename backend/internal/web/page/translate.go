package page

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// A template is written in English. Its texts are translated before it is parsed: each run of text between two
// block elements is one text of the catalogue, with its template actions as they are and its inline elements
// as numbers, so that a translator can order them anew:
//
//	<p>Ask <a href="{{.Path}}">the owner</a> of <bdi>{{.Name}}</bdi>.</p>  →  Ask <1>the owner</1> of <2>{{.Name}}</2>.
//
// The texts of the attributes in textAttribute are texts of the catalogue, too.

// textAttribute matches an attribute that people read or hear.
var textAttribute = regexp.MustCompile(`\b(placeholder|aria-label|title|alt|data-saved|data-undo)="((?:[^"{]|\{\{(?:"[^"]*"|[^"}])*\}\}|\{)*)"`)

// inlineTag matches the tags of elements that are part of a text.
var inlineTag = regexp.MustCompile(`^</?(?:a|abbr|b|bdi|br|code|del|em|i|ins|kbd|q|span|strong|sup|time|wbr)\b`)

// lexeme is a piece of a template: an action, a tag or text.
type lexeme struct {
	source string
	kind   lexemeKind
}

type lexemeKind int

const (
	lexText lexemeKind = iota
	lexAction
	lexInline
	lexBlock
)

// lex splits a template. The lexemes together are the template.
func lex(template string) []lexeme {
	var out []lexeme
	for template != "" {
		l := lexeme{kind: lexText}
		switch end := strings.IndexAny(template, "<{"); {
		case strings.HasPrefix(template, "{{"):
			l = lexeme{template[:actionEnd(template)], lexAction}
		case template[0] == '<':
			l = lexeme{template[:tagEnd(template)], lexBlock}
			if inlineTag.MatchString(l.source) {
				l.kind = lexInline
			}
		case end > 0:
			l.source = template[:end]
		case end == 0:
			l.source = template[:1]
		default:
			l.source = template
		}
		out = append(out, l)
		template = template[len(l.source):]
	}
	return out
}

// actionEnd returns the length of the action at the beginning of a template.
func actionEnd(template string) int {
	if end := strings.Index(template, "}}"); end >= 0 {
		return end + len("}}")
	}
	return len(template)
}

// tagEnd returns the length of the tag at the beginning of a template. Its attributes may have actions.
func tagEnd(template string) int {
	quoted := false
	for i := 1; i < len(template); i++ {
		switch {
		case strings.HasPrefix(template[i:], "{{"):
			i += actionEnd(template[i:]) - 1
		case template[i] == '"':
			quoted = !quoted
		case template[i] == '>' && !quoted:
			return i + 1
		}
	}
	return len(template)
}

// passage is a text of a template, from one lexeme to before another, and its key in the catalogue.
type passage struct {
	from, to int
	key      string
	tags     []string // sources of the inline elements' tags, by number: opening and closing ones alternate
}

// passagesOf returns the texts between the block elements of a template.
func passagesOf(lexemes []lexeme) []passage {
	var out []passage
	from := 0
	for i := range len(lexemes) + 1 {
		if i < len(lexemes) && lexemes[i].kind != lexBlock {
			continue
		}
		for _, part := range closedParts(lexemes, from, i) {
			if p, ok := passageOf(lexemes, part[0], part[1]); ok {
				out = append(out, p)
			}
		}
		from = i + 1
	}
	return out
}

// closedParts splits a run at each action and tag whose counterpart is not in it, so that every part is whole.
func closedParts(lexemes []lexeme, from, to int) [][2]int {
	partners := map[int]bool{}
	var actions, tags, between []int
	for i := from; i < to; i++ {
		source := lexemes[i].source
		switch word := flow(lexemes[i]); {
		case word == "open":
			actions = append(actions, i)
		case word == "else" && len(actions) > 0:
			between = append(between, i)
		case word == "end" && len(actions) > 0:
			begin := actions[len(actions)-1]
			actions = actions[:len(actions)-1]
			partners[begin], partners[i] = true, true
			for _, at := range between {
				partners[at] = partners[at] || at > begin
			}
		case lexemes[i].kind == lexInline && strings.HasPrefix(source, "</") && len(tags) > 0:
			partners[tags[len(tags)-1]], partners[i] = true, true
			tags = tags[:len(tags)-1]
		case lexemes[i].kind == lexInline && alone(source):
			partners[i] = true
		case lexemes[i].kind == lexInline && !strings.HasPrefix(source, "</"):
			tags = append(tags, i)
		}
	}
	var out [][2]int
	begin := from
	for i := from; i <= to; i++ {
		if i == to || (flow(lexemes[i]) != "" || lexemes[i].kind == lexInline) && !partners[i] {
			out = append(out, [2]int{begin, i})
			begin = i + 1
		}
	}
	return out
}

// alone reports whether a tag is of an element without an end.
func alone(tag string) bool { return strings.HasPrefix(tag, "<br") || strings.HasPrefix(tag, "<wbr") }

// flow returns what an action does to the flow of a template: "define", "open", "else" or "end"; "" for others.
func flow(l lexeme) string {
	if l.kind != lexAction {
		return ""
	}
	word, _, _ := strings.Cut(strings.Trim(l.source, "{} -"), " ")
	switch word {
	case "if", "with", "range":
		return "open"
	case "else", "end", "define":
		return word
	}
	return ""
}

// passageOf returns the text of a part without what surrounds it, and false if it has no letters.
func passageOf(lexemes []lexeme, from, to int) (passage, bool) {
	for trimmed := true; trimmed && from < to; {
		first, last := lexemes[from], lexemes[to-1]
		switch {
		case silent(first):
			from++
		case silent(last):
			to--
		case first.kind == lexInline && !alone(first.source) && partnerOf(lexemes, from, to) == to-1:
			from, to = from+1, to-1
		default:
			trimmed = false
		}
	}
	p := passage{from: from, to: to}
	var key strings.Builder
	var open []int
	letters := false
	for _, l := range lexemes[from:to] {
		switch {
		case l.kind == lexText:
			letters = letters || strings.ContainsFunc(l.source, unicode.IsLetter)
			key.WriteString(l.source)
		case l.kind == lexAction:
			key.WriteString(l.source)
		case strings.HasPrefix(l.source, "</"):
			n := open[len(open)-1]
			open = open[:len(open)-1]
			p.tags[2*n+1] = l.source
			fmt.Fprintf(&key, "</%d>", n+1)
		default:
			n := len(p.tags) / 2
			p.tags = append(p.tags, l.source, "")
			if !alone(l.source) {
				open = append(open, n)
			}
			fmt.Fprintf(&key, "<%d>", n+1)
		}
	}
	p.key = strings.Join(strings.Fields(key.String()), " ")
	return p, letters
}

// silent reports whether a lexeme at the edge of a text is not part of it: white space, or an action that shows
// nothing of its own.
func silent(l lexeme) bool {
	if l.kind == lexText {
		return strings.TrimSpace(l.source) == ""
	}
	return l.kind == lexAction && (strings.HasPrefix(l.source, "{{template ") || strings.HasPrefix(l.source, "{{/*") || strings.Contains(l.source, ":="))
}

// partnerOf returns where the element ends that the lexeme begins.
func partnerOf(lexemes []lexeme, from, to int) int {
	depth := 0
	for i := from; i < to; i++ {
		switch l := lexemes[i]; {
		case l.kind != lexInline || alone(l.source):
		case strings.HasPrefix(l.source, "</"):
			if depth--; depth == 0 {
				return i
			}
		default:
			depth++
		}
	}
	return -1
}

// numberedTag matches a tag of a key.
var numberedTag = regexp.MustCompile(`<(/?)(\d+)>`)

// translateTemplate returns a template with its texts translated; those that the catalogue lacks stay English.
func translateTemplate(template string, translated func(string) string) string {
	lexemes := lex(template)
	for _, p := range slices.Backward(passagesOf(lexemes)) {
		text := translated(p.key)
		if text == p.key {
			continue
		}
		whole := lexemes[p.from:p.to]
		first, last := whole[0].source, whole[len(whole)-1].source
		lead, tail := "", ""
		if whole[0].kind == lexText {
			lead = first[:len(first)-len(strings.TrimLeftFunc(first, unicode.IsSpace))]
		}
		if whole[len(whole)-1].kind == lexText {
			tail = last[len(strings.TrimRightFunc(last, unicode.IsSpace)):]
		}
		text = numberedTag.ReplaceAllStringFunc(text, func(tag string) string {
			m := numberedTag.FindStringSubmatch(tag)
			var n int
			if _, err := fmt.Sscan(m[2], &n); err != nil || n < 1 || 2*n > len(p.tags) {
				return ""
			}
			return p.tags[2*(n-1)+len(m[1])]
		})
		lexemes = slices.Replace(lexemes, p.from, p.to, lexeme{lead + text + tail, lexText})
	}
	var out strings.Builder
	for _, l := range lexemes {
		if l.kind == lexBlock || l.kind == lexInline {
			l.source = translateAttributes(l.source, translated)
		}
		out.WriteString(l.source)
	}
	return out.String()
}

// translateAttributes translates the attributes of a tag that people read.
func translateAttributes(tag string, translated func(string) string) string {
	return textAttribute.ReplaceAllStringFunc(tag, func(attribute string) string {
		m := textAttribute.FindStringSubmatch(attribute)
		return m[1] + `="` + translated(m[2]) + `"`
	})
}

// textsOf returns the texts of a template that a catalogue has to translate.
func textsOf(template string) []string {
	var out []string
	lexemes := lex(template)
	for _, p := range passagesOf(lexemes) {
		out = append(out, p.key)
	}
	for _, l := range lexemes {
		if l.kind != lexBlock && l.kind != lexInline {
			continue
		}
		for _, m := range textAttribute.FindAllStringSubmatch(l.source, -1) {
			if strings.ContainsFunc(regexp.MustCompile(`\{\{[^}]*\}\}`).ReplaceAllString(m[2], ""), unicode.IsLetter) {
				out = append(out, m[2])
			}
		}
	}
	return out
}
