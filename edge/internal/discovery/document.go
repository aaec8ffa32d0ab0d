package discovery

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"strconv"
	"strings"

	"github.com/kith-crm/kith/edge/internal/problem"
	"github.com/kith-crm/kith/edge/internal/route"
)

const (
	// forFiveMinutes: a new release may change a document.
	forFiveMinutes = "public, max-age=300"
	// forGood is for an address that names the version.
	forGood   = "public, max-age=31536000, immutable"
	etagBytes = 16 // of the hash
)

// document is a body that does not change while the process runs, with its headers.
type document struct {
	body   []byte
	media  string
	header http.Header // of 200 and 304 alike
}

// newDocument returns a document of a media type with a strong entity tag. The
// fields of header, which may be nil, replace those that are set by default.
func newDocument(media string, body []byte, header http.Header) *document {
	sum := sha256.Sum256(body)
	d := &document{body: body, media: media, header: http.Header{
		"Cache-Control": {forFiveMinutes}, "Vary": {"Accept-Encoding"}, "Etag": {`"` + hex.EncodeToString(sum[:etagBytes]) + `"`},
	}}
	maps.Copy(d.header, header)
	return d
}

// serve is a route.Handler. It answers 200 with the document, or 304 to a caller
// that has it already.
func (d *document) serve(w http.ResponseWriter, r *http.Request, _ string) {
	h := w.Header()
	maps.Copy(h, d.header)
	if listsTag(r.Header["If-None-Match"], d.etag()) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h["Content-Type"] = []string{d.media}
	h["Content-Length"] = []string{strconv.Itoa(len(d.body))}
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = w.Write(d.body) // the caller may be gone
	}
}

func (d *document) etag() string { return d.header["Etag"][0] }

// listsTag says whether If-None-Match is "*" or names the tag, by the weak
// comparison (RFC 9110, section 13.1.2). The tag has no comma.
func listsTag(lines []string, etag string) bool {
	for tag := range strings.SplitSeq(strings.Join(lines, ","), ",") {
		if tag = strings.Trim(tag, " \t"); tag == "*" || strings.TrimPrefix(tag, "W/") == etag {
			return true
		}
	}
	return false
}

// negotiated returns the handler that answers with the document whose media type
// Accept prefers: the first one without a preference, 406 if all are excluded.
func negotiated(problems *problem.Writer, offers ...*document) route.Handler {
	return func(w http.ResponseWriter, r *http.Request, argument string) {
		d := pick(r.Header["Accept"], offers)
		if d == nil {
			w.Header().Set("Vary", "Accept")
			problems.Write(w, r, problem.NotAcceptable, "This address has "+offers[0].mediaType()+" and "+offers[1].mediaType()+" only.")
			return
		}
		d.serve(w, r, argument)
	}
}

// mediaType returns the document's type without parameters.
func (d *document) mediaType() string {
	name, _, _ := strings.Cut(d.media, ";")
	return name
}

func pick(accept []string, offers []*document) *document {
	if len(accept) == 0 {
		return offers[0]
	}
	var chosen *document
	best := 0.0
	for _, d := range offers {
		if weight := weightOf(accept, d.mediaType()); weight > best {
			chosen, best = d, weight
		}
	}
	return chosen
}

// unnamed is the weight of a type that Accept does not cover: below whatever it
// names, above what it excludes.
const unnamed = 0.0001

// weightOf returns the weight of the most specific range that covers the type
// (RFC 9110, section 12.5.1).
func weightOf(lines []string, mediaType string) float64 {
	weight, specificity := unnamed, -1
	for element := range strings.SplitSeq(strings.Join(lines, ","), ",") {
		name, parameters, _ := strings.Cut(element, ";")
		if s := covers(strings.ToLower(strings.TrimSpace(name)), mediaType); s > specificity {
			weight, specificity = quality(parameters), s
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
// for one that is not a number from 0 to 1.
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
