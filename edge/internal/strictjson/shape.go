package strictjson

import (
	"bytes"
	"errors"
	"strconv"
)

// MaxDepth is how deep the JSON of a body may be nested.
const MaxDepth = 32

// Objections to the shape of JSON that is otherwise well-formed.
var (
	errTooDeep     = errors.New("the JSON is nested more than 32 levels deep")
	errNumberRange = errors.New("a number is outside of the range of a double")
)

// CheckShape refuses JSON that is nested too deep, or that has a number which is
// infinite to one parser and an error to the next. It is made for valid JSON; of
// anything else it says nothing useful, but it stays within the text.
func CheckShape(text []byte) error {
	depth := 0
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '"':
			i = skipString(text, i)
			continue
		case c == '{' || c == '[':
			if depth++; depth > MaxDepth {
				return errTooDeep
			}
		case c == '}' || c == ']':
			depth--
		case c == '-' || ('0' <= c && c <= '9'):
			end := skipNumber(text, i)
			if !finite(text[i:end]) {
				return errNumberRange
			}
			i = end
			continue
		}
		i++
	}
	return nil
}

// skipString returns the index after the string that starts at i.
func skipString(text []byte, i int) int {
	for i++; i < len(text); i++ {
		next := bytes.IndexByte(text[i:], '"')
		if next < 0 {
			return len(text)
		}
		i += next
		if !escaped(text, i) {
			return i + 1
		}
	}
	return len(text)
}

// escaped says whether an odd number of backslashes stands before text[i].
func escaped(text []byte, i int) bool {
	n := 0
	for i > n && text[i-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

func skipNumber(text []byte, i int) int {
	for i++; i < len(text); i++ {
		switch c := text[i]; {
		case '0' <= c && c <= '9', c == '.', c == 'e', c == 'E', c == '+', c == '-':
		default:
			return i
		}
	}
	return i
}

// finite says whether the number fits a double. Short ones without an exponent do.
func finite(number []byte) bool {
	const shortEnough = 300 // digits; the largest double has 309
	if len(number) <= shortEnough && bytes.IndexByte(number, 'e') < 0 && bytes.IndexByte(number, 'E') < 0 {
		return true
	}
	_, err := strconv.ParseFloat(string(number), 64)
	return !errors.Is(err, strconv.ErrRange)
}
