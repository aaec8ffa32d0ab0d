package publicapi

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
)

const (
	typeJSON     = "application/json"
	typeMarkdown = "text/markdown; charset=utf-8"

	// publicFor lets anybody keep an answer for a minute.
	publicFor = "public, max-age=60"
	varyOn    = "Accept-Encoding"

	etagBytes = 16 // of the hash
)

// representation is a body with its header values ready to send. It is immutable
// and shared between requests.
type representation struct {
	body []byte
	etag string
	// Each is a whole header line.
	etagLine, typeLine, lengthLine, cacheLine, varyLine []string
}

func newRepresentation(body []byte, contentType string) *representation {
	sum := sha256.Sum256(body)
	etag := `"` + hex.EncodeToString(sum[:etagBytes]) + `"`
	return &representation{
		body:       body,
		etag:       etag,
		etagLine:   []string{etag},
		typeLine:   []string{contentType},
		lengthLine: []string{strconv.Itoa(len(body))},
		cacheLine:  []string{publicFor},
		varyLine:   []string{varyOn},
	}
}

// serve answers 200 with the body, or 304 to a caller that has it already (RFC
// 9110, section 13.2.2).
func (rep *representation) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h["Etag"], h["Cache-Control"], h["Vary"] = rep.etagLine, rep.cacheLine, rep.varyLine
	if lines := r.Header["If-None-Match"]; len(lines) > 0 && listsETag(lines, rep.etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h["Content-Type"], h["Content-Length"] = rep.typeLine, rep.lengthLine
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = w.Write(rep.body) // the caller may be gone
	}
}
