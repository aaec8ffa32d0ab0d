package discovery

import (
	"embed"
	"net/http"

	"github.com/kith-crm/kith/edge/internal/httpapi"
)

//go:embed assets
var assetFiles embed.FS

const (
	pathStylesheet = "/assets/docs.css"
	pathTry        = "/assets/try.js"
	pathSearch     = "/assets/docs.js"
	// The pictures of the demo on the landing page, for light and for dark screens.
	pathPictureLight = "/assets/demo-light.png"
	pathPictureDark  = "/assets/demo-dark.png"

	// immutable is the Cache-Control of an address that contains the version.
	immutable     = "public, max-age=31536000, immutable"
	versionLength = 12 // hexadecimal digits of the entity tag
)

// asset is a stylesheet, a script or a picture. Its address contains its version, so that browsers
// can cache it for a year and still load a new version at once.
type asset struct {
	path, version string
	current       *httpapi.Document // for the address without a version, or with another
	kept          *httpapi.Document
}

// newAsset returns a file of assetFiles, which is served under its own path.
func newAsset(path, media string) (asset, error) {
	body, err := assetFiles.ReadFile(path[1:])
	if err != nil {
		return asset{}, err
	}
	header := http.Header{"Cross-Origin-Resource-Policy": {"same-origin"}}
	current := httpapi.NewDocument(media, body, header)
	header.Set("Cache-Control", immutable)
	return asset{path: path, version: current.ETag()[1 : 1+versionLength], current: current, kept: httpapi.NewDocument(media, body, header)}, nil
}

// newAssets returns the files by their paths.
func newAssets() (map[string]asset, error) {
	assets := map[string]asset{}
	for path, media := range map[string]string{
		pathStylesheet: "text/css; charset=utf-8", pathTry: typeScript, pathSearch: typeScript,
		pathPictureLight: "image/png", pathPictureDark: "image/png",
	} {
		var err error
		if assets[path], err = newAsset(path, media); err != nil {
			return nil, err
		}
	}
	return assets, nil
}

// Stylesheet returns the versioned address of the documents' stylesheet. Other pages of the edge
// use it too.
func Stylesheet() (string, error) {
	assets, err := newAssets()
	return assets[pathStylesheet].address(), err
}

// address returns the path with the version.
func (a asset) address() string { return a.path + "?v=" + a.version }

// serve is a route.Handler.
func (a asset) serve(w http.ResponseWriter, r *http.Request, argument string) {
	if r.URL.Query().Get("v") == a.version {
		a.kept.Serve(w, r, argument)
		return
	}
	a.current.Serve(w, r, argument)
}
