package schema

import (
	"fmt"
	"regexp/syntax"
	"strings"
)

// matching returns a short string that matches the regular expression.
func matching(pattern string) (string, error) {
	expression, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "", fmt.Errorf("parse pattern: %w", err)
	}
	var b strings.Builder
	writeMatch(&b, expression)
	return b.String(), nil
}

// writeMatch writes the shortest text that an expression matches. It ignores
// assertions; the caller checks the whole text.
func writeMatch(b *strings.Builder, e *syntax.Regexp) {
	switch e.Op {
	case syntax.OpLiteral:
		b.WriteString(string(e.Rune))
	case syntax.OpCharClass:
		b.WriteRune(member(e.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('x')
	case syntax.OpConcat, syntax.OpCapture:
		for _, part := range e.Sub {
			writeMatch(b, part)
		}
	case syntax.OpAlternate, syntax.OpPlus:
		writeMatch(b, e.Sub[0])
	case syntax.OpRepeat:
		for range e.Min {
			writeMatch(b, e.Sub[0])
		}
	}
}

// member returns a character of a class, which is given as pairs of bounds. It prefers
// letters and digits.
func member(bounds []rune) rune {
	for _, wanted := range "x1X0" {
		for i := 0; i+1 < len(bounds); i += 2 {
			if bounds[i] <= wanted && wanted <= bounds[i+1] {
				return wanted
			}
		}
	}
	if len(bounds) == 0 {
		return 'x'
	}
	return bounds[0]
}
