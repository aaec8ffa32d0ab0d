package static

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"strconv"
	"strings"
)

const (
	// forAWhile lets anybody keep a document for five minutes: a new release may
	// change it.
	forAWhile = "public, max-age=300"
	etagBytes = 16 // of the hash
)

// Document is a body with its headers. It is immutable and safe for concurrent use.
type Document struct {
	body   []byte
	etag   string
	media  string
	header http.Header // of 200 and 304 alike
}

// New returns a document of a media type. Values of header, which may be nil, go
// with every answer and replace those that were set before; Vary names what else
// than Accept-Encoding the choice of this document depended on.
func New(media string, body []byte, header http.Header) *Document {
	sum := sha256.Sum256(body)
	d := &Document{body: body, etag: `"` + hex.EncodeToString(sum[:etagBytes]) + `"`, media: media, header: http.Header{
		"Cache-Control": {forAWhile}, "Vary": {"Accept-Encoding"},
	}}
	maps.Copy(d.header, header)
	d.header["Etag"] = []string{d.etag}
	return d
}

// Body returns the document's bytes. They must not be changed.
func (d *Document) Body() []byte { return d.body }

// ETag returns the document's strong entity tag, with its quotes.
func (d *Document) ETag() string { return d.etag }

// Serve is a route.Handler. It answers 200 with the document, or 304 to a caller
// that has it already.
func (d *Document) Serve(w http.ResponseWriter, r *http.Request, _ string) {
	h := w.Header()
	maps.Copy(h, d.header)
	if listsTag(r.Header["If-None-Match"], d.etag) {
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

// listsTag says whether If-None-Match is "*" or names the tag, by the weak
// comparison. Our tags hold no comma, so that whatever lies between two is a tag
// of ours or none.
func listsTag(lines []string, etag string) bool {
	for _, line := range lines {
		for tag := range strings.SplitSeq(line, ",") {
			tag = strings.Trim(tag, " \t")
			if tag == "*" || strings.TrimPrefix(tag, "W/") == etag {
				return true
			}
		}
	}
	return false
}
