package publicapi

import "strings"

// listsETag says whether If-None-Match names the entity tag, by the weak
// comparison, or is "*" (RFC 9110, section 13.1.2). What follows a malformed tag
// is not read: at worst the caller is sent what it has.
func listsETag(lines []string, etag string) bool {
	for _, line := range lines {
		line = strings.Trim(line, " \t")
		if line == "*" {
			return true
		}
		for line != "" {
			tag, rest, ok := cutETag(line)
			if !ok {
				break
			}
			if tag == etag {
				return true
			}
			line = rest
		}
	}
	return false
}

// cutETag cuts the first tag off a list: its opaque part with the quotes.
func cutETag(list string) (tag, rest string, ok bool) {
	list = strings.TrimLeft(list, " \t,")
	list = strings.TrimPrefix(list, "W/")
	if !strings.HasPrefix(list, `"`) {
		return "", "", false
	}
	end := strings.IndexByte(list[1:], '"')
	if end < 0 {
		return "", "", false
	}
	return list[:end+2], list[end+2:], true
}
