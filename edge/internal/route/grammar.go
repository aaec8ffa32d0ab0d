package route

import "strings"

// verdict is what the grammar says of a path.
type verdict uint8

const (
	plain     verdict = iota // may be looked up in the table
	unknown                  // a path, but none that this service has: 404
	malformed                // no path at all: 400
)

// judgePath decides about the path of a request target, exactly as it was sent.
// Nothing is decoded or cleaned: a path that would need it names nothing here.
func judgePath(path string) verdict {
	if path == "" || path[0] != '/' {
		return malformed
	}
	result := plain
	for i := 0; i < len(path); i++ {
		c := path[i]
		switch {
		case plainByte(c):
			continue
		case c == '/':
			if i+1 < len(path) && (path[i+1] == '/' || path[i+1] == '.') && !wellKnown(path, i) {
				result = unknown
			}
		case c == '%':
			n := escapedRune(path[i:])
			if n == 0 {
				return malformed
			}
			result = unknown
			i += n - 1
		case pathByte(c):
			result = unknown
		default:
			return malformed
		}
	}
	if len(path) > 1 && path[len(path)-1] == '/' {
		return unknown
	}
	return result
}

// wellKnown says whether RFC 8615's prefix begins at i, where the path or the
// sandbox's begins: the one place where a segment may start with a dot.
func wellKnown(path string, i int) bool {
	const prefix = "/.well-known/"
	below, found := strings.CutPrefix(path[i:], prefix)
	return found && below != "" && (i == 0 || path[:i] == SandboxPrefix)
}

// plainByte says whether c is an unreserved character (RFC 3986, section 2.3).
func plainByte(c byte) bool {
	return parameterByte(c) || c == '.'
}

// parameterByte says whether c can be part of a path parameter's value.
func parameterByte(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', c == '~':
		return true
	default:
		return false
	}
}

// pathByte says whether c may stand in a path besides the plain bytes: the
// sub-delims, ":" and "@" of RFC 3986, section 3.3.
func pathByte(c byte) bool {
	switch c {
	case '!', '$', '&', '\'', '(', ')', '*', '+', ',', ';', '=', ':', '@':
		return true
	default:
		return false
	}
}
