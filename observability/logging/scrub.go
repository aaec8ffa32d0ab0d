package logging

import (
	"bytes"
	"io"
)

// scrubber cuts Kith tokens out of what is written to next. A token must not be
// split over two writes; slog writes a line at once.
//
// It works on the finished line, so that no path around ReplaceAttr (messages,
// errors, nested structs, map keys) can carry a token. A token's characters are
// the same in both formats: neither escapes them.
type scrubber struct {
	next io.Writer
}

// Write writes the clean line. The count is of p, as io.Writer demands.
func (s *scrubber) Write(p []byte) (int, error) {
	if _, err := s.next.Write(scrub(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// scrub returns line with each token's secret part replaced. It returns line
// itself if there is none, and never changes it.
func scrub(line []byte) []byte {
	var clean []byte
	rest := line
	for {
		start, end := findSecret(rest)
		if start < 0 {
			break
		}
		clean = append(clean, rest[:start]...)
		clean = append(clean, redacted...)
		rest = rest[end:]
	}
	if clean == nil {
		return line
	}
	return append(clean, rest...)
}

// findSecret returns the bounds of what follows the first token prefix, or -1.
func findSecret(text []byte) (start, end int) {
	const stem = "kith_"
	for at := 0; ; {
		i := bytes.Index(text[at:], []byte(stem))
		if i < 0 {
			return -1, -1
		}
		at += i + len(stem)
		kind := kindLength(text[at:])
		if kind == 0 {
			continue
		}
		if length := tokenLength(text[at+kind:]); length > 0 {
			return at + kind, at + kind + length
		}
	}
}

// tokenLength is the number of token characters that text starts with.
func tokenLength(text []byte) int {
	for i, c := range text {
		if !tokenChar(c) {
			return i
		}
	}
	return len(text)
}

// kindLength is the length of the kind of token that text starts with, or 0:
// access, refresh and personal tokens are kith_at_…, kith_rt_… and kith_pat_….
func kindLength(text []byte) int {
	for _, kind := range []string{"at_", "rt_", "pat_"} {
		if bytes.HasPrefix(text, []byte(kind)) {
			return len(kind)
		}
	}
	return 0
}

// tokenChar says whether c can stand in a token: the base64url alphabet of RFC
// 4648, section 5.
func tokenChar(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_':
		return true
	default:
		return false
	}
}
