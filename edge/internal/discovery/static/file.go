package static

import (
	"net/http"
	"net/url"
)

const (
	// forGood is for the address that names the version.
	forGood       = "public, max-age=31536000, immutable"
	versionLength = 12 // hexadecimal digits of the entity tag
)

// File is a stylesheet or a script that pages load. Its version is part of its
// address, so that browsers keep it for good and still see a new one at once.
type File struct {
	path    string
	current *Document // for the address without a version, or with another's
	kept    *Document
}

// NewFile returns the file that is served at path.
func NewFile(path, media string, body []byte) *File {
	return &File{
		path:    path,
		current: New(media, body, http.Header{"Cross-Origin-Resource-Policy": {"same-origin"}}),
		kept: New(media, body, http.Header{
			"Cross-Origin-Resource-Policy": {"same-origin"}, "Cache-Control": {forGood},
		}),
	}
}

// Path returns the path without the version.
func (f *File) Path() string { return f.path }

// Address returns the path with the version.
func (f *File) Address() string { return f.path + "?v=" + f.version() }

func (f *File) version() string { return f.current.etag[1 : 1+versionLength] }

// Serve is a route.Handler.
func (f *File) Serve(w http.ResponseWriter, r *http.Request, argument string) {
	if query, err := url.ParseQuery(r.URL.RawQuery); err == nil && query.Get("v") == f.version() {
		f.kept.Serve(w, r, argument)
		return
	}
	f.current.Serve(w, r, argument)
}
