package httpapi

import (
	"net/http"
	"strconv"
	"strings"
)

// Negotiate returns the handler that answers with the document whose media type
// Accept prefers: the first one without a preference, 406 if all are excluded. Each
// document should have been made with a Vary on Accept.
func Negotiate(problems *Problems, offers ...*Document) func(w http.ResponseWriter, r *http.Request, argument string) {
	var types []string
	for _, d := range offers {
		types = append(types, d.mediaType())
	}
	return func(w http.ResponseWriter, r *http.Request, argument string) {
		d := pick(r.Header["Accept"], offers)
		if d == nil {
			w.Header().Set("Vary", "Accept")
			problems.Write(w, r, NotAcceptable, "This address has "+strings.Join(types, " and ")+" only.")
			return
		}
		d.Serve(w, r, argument)
	}
}

// mediaType returns the document's type without parameters.
func (d *Document) mediaType() string {
	name, _, _ := strings.Cut(d.media[0], ";")
	return name
}

// unnamed is the weight of a type that Accept does not cover: below whatever it
// names, above what it excludes.
const unnamed = 0.0001

func pick(accept []string, offers []*Document) *Document {
	if len(accept) == 0 {
		return offers[0]
	}
	var chosen *Document
	best := 0.0
	for _, d := range offers {
		if weight := weightOf(accept, d.mediaType()); weight > best {
			chosen, best = d, weight
		}
	}
	return chosen
}

// Refuses reports whether Accept excludes a media type explicitly. Not naming the
// type is no refusal.
func Refuses(accept []string, mediaType string) bool {
	mediaType, _, _ = strings.Cut(mediaType, ";")
	return len(accept) > 0 && weightOf(accept, mediaType) == 0
}

// Names reports whether Accept has a media type by its full name, as browsers have
// text/html, with a weight above 0.
func Names(accept []string, mediaType string) bool {
	for _, line := range accept {
		for element := range strings.SplitSeq(line, ",") {
			name, parameters, _ := strings.Cut(element, ";")
			if strings.EqualFold(strings.TrimSpace(name), mediaType) && quality(parameters) > 0 {
				return true
			}
		}
	}
	return false
}

// weightOf returns the weight of the most specific range that covers the type
// (RFC 9110, section 12.5.1).
func weightOf(lines []string, mediaType string) float64 {
	weight, specificity := unnamed, -1
	for _, line := range lines {
		for element := range strings.SplitSeq(line, ",") {
			name, parameters, _ := strings.Cut(element, ";")
			s := covers(strings.ToLower(strings.TrimSpace(name)), mediaType)
			if s > specificity {
				weight, specificity = quality(parameters), s
			}
		}
	}
	return weight
}

// covers ranks a media range that covers the type; -1 if it does not.
func covers(mediaRange, mediaType string) int {
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

// quality returns the weight among the parameters of a range; 1 without one, and
// for one that is no number.
func quality(parameters string) float64 {
	for parameter := range strings.SplitSeq(parameters, ";") {
		name, value, _ := strings.Cut(parameter, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "q") {
			continue
		}
		if q, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil && q >= 0 && q <= 1 {
			return q
		}
	}
	return 1
}
