package route

import "unicode/utf8"

// escapedRune returns the length of the percent-encoded character that s starts
// with, or 0 if the escape is broken, is no UTF-8 (overlong forms included) or
// hides a control character.
func escapedRune(s string) int {
	first, ok := escapedByte(s)
	if !ok {
		return 0
	}
	if first < utf8.RuneSelf {
		if first < ' ' || first == 0x7f {
			return 0
		}
		return 3
	}
	var raw [utf8.UTFMax]byte
	raw[0] = first
	for n := 1; n < len(raw); n++ {
		next, ok := escapedByte(s[3*n:])
		if !ok {
			return 0
		}
		raw[n] = next
		if r, size := utf8.DecodeRune(raw[:n+1]); r != utf8.RuneError || size > 1 {
			return 3 * size
		}
	}
	return 0
}

// escapedByte decodes the %XX that s starts with.
func escapedByte(s string) (byte, bool) {
	if len(s) < 3 || s[0] != '%' {
		return 0, false
	}
	high, low := hexDigit(s[1]), hexDigit(s[2])
	if high < 0 || low < 0 {
		return 0, false
	}
	return byte(high<<4 | low), true
}

func hexDigit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	default:
		return -1
	}
}
