package mcp

// Both functions take JSON that is valid, and whose only irregularity is white
// space between tokens: protobuf's encoder adds some at random, so that nobody
// relies on its bytes.

// appendCompactJSON appends src without white space between its tokens.
func appendCompactJSON(b, src []byte) []byte {
	start, inString := 0, false
	for i := 0; i < len(src); i++ {
		switch c := src[i]; {
		case c == '"':
			inString = !inString
		case c == '\\':
			i++ // what it escapes, never the end of a string
		case c <= ' ' && !inString:
			b = append(b, src[start:i]...)
			start = i + 1
		}
	}
	return append(b, src[start:]...)
}

// appendQuotedJSON appends what appendCompactJSON does, as the inside of a JSON
// string. Only quotes and backslashes need escaping: valid JSON has no raw control
// characters but white space. It reports whether every string in src ends.
func appendQuotedJSON(b, src []byte) ([]byte, bool) {
	start, inString := 0, false
	for i := 0; i < len(src); i++ {
		c := src[i]
		if c > '"' && c != '\\' {
			continue
		}
		switch {
		case c == '"':
			inString = !inString
			b = append(append(b, src[start:i]...), '\\', '"')
			start = i + 1
		case c == '\\' && i+1 < len(src):
			b = append(append(b, src[start:i]...), '\\', '\\')
			i++
			if src[i] == '"' || src[i] == '\\' {
				b = append(b, '\\')
			}
			start = i
		case c <= ' ' && !inString:
			b = append(b, src[start:i]...)
			start = i + 1
		case c < ' ':
			return b, false
		}
	}
	return append(b, src[start:]...), !inString
}
