package discovery

import (
	"embed"
	"net/http"
)

//go:embed assets
var assetFiles embed.FS

const versionLength = 12 // hexadecimal digits of the entity tag

// asset is a stylesheet or a script. Its address names its version, so that
// browsers keep it for good and still load a new one at once.
type asset struct {
	path, version string
	current       *document // for the address without a version, or with another
	kept          *document
}

// newAsset returns the file of assetFiles that is served under its own path.
func newAsset(path, media string) (asset, error) {
	body, err := assetFiles.ReadFile(path[1:])
	if err != nil {
		return asset{}, err
	}
	header := http.Header{"Cross-Origin-Resource-Policy": {"same-origin"}}
	current := newDocument(media, body, header)
	header.Set("Cache-Control", forGood)
	return asset{path: path, version: current.etag()[1 : 1+versionLength], current: current, kept: newDocument(media, body, header)}, nil
}

// address returns the path with the version.
func (a asset) address() string { return a.path + "?v=" + a.version }

// serve is a route.Handler.
func (a asset) serve(w http.ResponseWriter, r *http.Request, argument string) {
	if r.URL.Query().Get("v") == a.version {
		a.kept.serve(w, r, argument)
		return
	}
	a.current.serve(w, r, argument)
}
