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
	// fiveMinutes lets caches keep a document for five minutes: a new release may
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
	header http.Header // of 200 and 304 alike
}

// NewDocument returns a document of a media type. Values of header, which may be nil, go
// with every answer and replace those that were set before; Vary names what else
// than Accept-Encoding the choice of this document depended on.
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

// Serve is a route.Handler. It answers 200 with the document, or 304 to a caller
// that has it already.
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

// listsETag reports whether If-None-Match names the entity tag, by the weak
// comparison, or is "*" (RFC 9110, section 13.1.2). What follows a malformed tag
// is not read: at worst the caller is sent what it has.
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

// WriteJSON answers with a JSON body. Nothing may keep it, unless Cache-Control was
// set before.
func WriteJSON(w http.ResponseWriter, r *http.Request, status int, body []byte) {
	h := w.Header()
	h["Content-Type"] = []string{"application/json"}
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	if len(h["Cache-Control"]) == 0 {
		h["Cache-Control"] = []string{"no-store"}
	}
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // the caller may be gone
	}
}
