package httpapi

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"strconv"
	"strings"
)

const (
	// fiveMinutes lets caches store a document for five minutes, because a new release may
	// change it.
	fiveMinutes = "public, max-age=300"
	etagBytes   = 16 // of the hash
)

// Document is a body with its headers. It is immutable and safe for concurrent use.
type Document struct {
	body   []byte
	etag   string
	media  []string    // the Content-Type
	length []string    // the Content-Length
	header http.Header // of both 200 and 304
}

// NewDocument returns a document of a media type. header may be nil. Its values are set on every
// answer and replace earlier ones. Its Vary names the request headers, other than Accept-Encoding,
// by which this document was chosen.
func NewDocument(media string, body []byte, header http.Header) *Document {
	sum := sha256.Sum256(body)
	d := &Document{body: body, etag: `"` + hex.EncodeToString(sum[:etagBytes]) + `"`, media: []string{media}, length: []string{strconv.Itoa(len(body))}, header: http.Header{
		"Cache-Control": {fiveMinutes}, "Vary": {"Accept-Encoding"},
	}}
	maps.Copy(d.header, header)
	d.header["Etag"] = []string{d.etag}
	return d
}

// Body returns the document's bytes. They must not be changed.
func (d *Document) Body() []byte { return d.body }

// ETag returns the document's strong entity tag, with its quotes.
func (d *Document) ETag() string { return d.etag }

// Serve is a route.Handler. It answers 200 with the document, or 304 if the caller already
// has it.
func (d *Document) Serve(w http.ResponseWriter, r *http.Request, _ string) {
	h := w.Header()
	maps.Copy(h, d.header)
	if listsETag(r.Header["If-None-Match"], d.etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h["Content-Type"], h["Content-Length"] = d.media, d.length
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = w.Write(d.body) // the caller may be gone
	}
}

// listsETag reports whether If-None-Match names the entity tag, by the weak comparison, or is "*"
// (RFC 9110, section 13.1.2). It stops at a malformed tag; then the caller may get the document
// once more than necessary.
func listsETag(lines []string, etag string) bool {
	for _, line := range lines {
		line = strings.Trim(line, " \t")
		if line == "*" {
			return true
		}
		for line != "" {
			opaque, quoted := strings.CutPrefix(strings.TrimPrefix(strings.TrimLeft(line, " \t,"), "W/"), `"`)
			end := strings.IndexByte(opaque, '"')
			if !quoted || end < 0 {
				break
			}
			if `"`+opaque[:end+1] == etag {
				return true
			}
			line = opaque[end+1:]
		}
	}
	return false
}

// WriteJSON answers with a JSON body, given in one or more parts. It sets Cache-Control to no-store unless it was set before.
func WriteJSON(w http.ResponseWriter, r *http.Request, status int, parts ...[]byte) {
	h, length := w.Header(), 0
	for _, part := range parts {
		length += len(part)
	}
	h["Content-Type"] = []string{"application/json"}
	h["Content-Length"] = []string{strconv.Itoa(length)}
	if len(h["Cache-Control"]) == 0 {
		h["Cache-Control"] = []string{"no-store"}
	}
	w.WriteHeader(status)
	if r.Method == http.MethodHead {
		return
	}
	for _, part := range parts {
		_, _ = w.Write(part) // the caller may be gone
	}
}

// Negotiate returns the handler that answers with the document whose media type Accept prefers: the
// first one without a preference, 406 if all are excluded. Each document should have Accept in its
// Vary.
func Negotiate(problems *Problems, offers ...*Document) func(w http.ResponseWriter, r *http.Request, argument string) {
	var types []string
	for _, d := range offers {
		types = append(types, d.mediaType())
	}
	return func(w http.ResponseWriter, r *http.Request, argument string) {
		d := pick(r.Header["Accept"], offers)
		if d == nil {
			w.Header().Set("Vary", "Accept")
			problems.Write(w, r, NotAcceptable, "This path serves "+strings.Join(types, " and ")+" only.")
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

// unnamed is the weight of a type that Accept does not cover: above 0, and below all weights that
// Accept can have.
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

// Refuses reports whether Accept excludes a media type explicitly. A type that Accept does not name
// is not excluded.
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

// WantsPage reports whether Accept prefers a page to JSON, as a browser's does when a person opens
// an address: it names text/html, and does not give JSON a higher weight. A caller who names both
// with the same weight gets JSON.
func WantsPage(accept []string) bool {
	if !Names(accept, "text/html") {
		return false
	}
	page := weightOf(accept, "text/html")
	for _, data := range []string{"application/json", "application/problem+json"} {
		if weight := weightOf(accept, data); weight > page || weight == page && Names(accept, data) {
			return false
		}
	}
	return true
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

// covers returns how specifically a media range covers the type; -1 if it does not.
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

// quality returns the weight in the parameters of a range; 1 if it is missing or not a number.
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
