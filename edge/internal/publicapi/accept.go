package publicapi

import (
	"strconv"
	"strings"
)

// refuses says whether the Accept header excludes the media type explicitly: the
// most specific range that covers it has the weight 0. Not naming the type is no
// refusal; the caller asked for this address, and its extension says the type.
func refuses(lines []string, mediaType string) bool {
	mediaType, _, _ = strings.Cut(mediaType, ";")
	best, refused := -1, false
	for _, line := range lines {
		if !strings.Contains(line, "=0") && !strings.Contains(line, "= 0") {
			continue // no weight of 0 in it
		}
		for element := range strings.SplitSeq(line, ",") {
			name, parameters, _ := strings.Cut(element, ";")
			if s := specificity(strings.ToLower(strings.TrimSpace(name)), mediaType); s > best {
				best, refused = s, weightless(parameters)
			}
		}
	}
	return refused
}

// specificity ranks a media range that covers the type; -1 if it does not.
func specificity(mediaRange, mediaType string) int {
	mainType, _, _ := strings.Cut(mediaType, "/")
	switch mediaRange {
	case mediaType:
		return 2
	case mainType + "/*":
		return 1
	case "*/*":
		return 0
	default:
		return -1
	}
}

// weightless says whether the parameters of a range have q=0.
func weightless(parameters string) bool {
	for parameter := range strings.SplitSeq(parameters, ";") {
		name, value, _ := strings.Cut(parameter, "=")
		if strings.EqualFold(strings.TrimSpace(name), "q") {
			q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			return err == nil && q == 0
		}
	}
	return false
}
