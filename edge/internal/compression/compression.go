// Package compression sends large answers as gzip to callers who take it.
//
// Each representation has its own strong entity tag: the compressed one has a
// suffix, which is taken off again before a handler compares tags.
package compression

import (
	"net/http"
	"strings"

	"github.com/klauspost/compress/gzhttp"

	"github.com/kith-crm/kith/edge/internal/route"
)

const (
	// minSize is what is worth compressing, in bytes: below it, time is lost.
	minSize = 4 << 10
	// level is gzip's fastest but one that still finds repeated names.
	level  = 3
	suffix = "-gzip"
)

// Wrapper makes handlers compress. It is safe for concurrent use.
type Wrapper struct {
	wrap func(http.Handler) http.HandlerFunc
}

// New returns a Wrapper.
func New() (*Wrapper, error) {
	wrap, err := gzhttp.NewWrapper(gzhttp.MinSize(minSize), gzhttp.CompressionLevel(level), gzhttp.SuffixETag(suffix),
		gzhttp.EnableZstd(false), gzhttp.ContentTypes([]string{
			"application/json", "application/problem+json", "application/linkset+json", "text/markdown", "text/html", "text/plain", "text/css", "text/javascript",
		}))
	return &Wrapper{wrap: wrap}, err
}

// Handler returns next with its large answers compressed.
func (c *Wrapper) Handler(next route.Handler) route.Handler {
	return func(w http.ResponseWriter, r *http.Request, argument string) {
		if len(r.Header["Accept-Encoding"]) == 0 {
			next(w, r, argument)
			return
		}
		tagged := withoutSuffix(r)
		c.wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if tagged {
				w = &notModified{ResponseWriter: w}
			}
			next(w, r, argument)
		}))(w, r)
	}
}

// withoutSuffix takes the suffix off the tags that a caller has, and reports
// whether one had it.
func withoutSuffix(r *http.Request) (found bool) {
	for i, line := range r.Header["If-None-Match"] {
		if plain := strings.ReplaceAll(line, suffix+`"`, `"`); plain != line {
			r.Header["If-None-Match"][i] = plain
			found = true
		}
	}
	return found
}

// notModified puts the suffix back on the tag of a 304, which must be the one
// that the 200 would have had (RFC 9110, section 15.4.5).
type notModified struct{ http.ResponseWriter }

func (w *notModified) WriteHeader(status int) {
	if tag := w.Header().Get("ETag"); status == http.StatusNotModified && strings.HasSuffix(tag, `"`) {
		w.Header()["Etag"] = []string{strings.TrimSuffix(tag, `"`) + suffix + `"`}
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap gives http.ResponseController the writer below.
func (w *notModified) Unwrap() http.ResponseWriter { return w.ResponseWriter }
