package page

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

//go:embed assets
var assetFiles embed.FS

// asset is a file that pages load. Its version is part of its address, so that browsers
// cache it without limit and still load a new version at once.
type asset struct {
	path, media, version string
	data                 []byte
	// policy replaces assetPolicy, and scope is what a service worker may serve; both are
	// empty for other files.
	policy, scope string
	// languages are a script with its texts in the other languages. They have the same path and versions of their own.
	languages map[*words]asset
}

// assetPolicy is for a file that a browser shows by itself.
const assetPolicy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"

const javaScript = "text/javascript; charset=utf-8"

// The names of the scripts.
const (
	ScriptCapture = "capture"
	ScriptConsent = "consent"
	ScriptConnect = "connect"
	ScriptImports = "imports"
	ScriptOffline = "offline"
	ScriptPasskey = "passkey"
	ScriptPeople  = "people"
	ScriptPerson  = "person"
	ScriptProfile = "profile"
	ScriptZone    = "zone"
	scriptDrafts  = "drafts"
	scriptShell   = "shell"
	scriptSuggest = "suggest"
)

type assets struct {
	stylesheet, icon asset
	scripts          map[string]asset
	manifest, worker asset
	icons            []asset // of the manifest
}

func loadAssets() (assets, error) {
	stylesheet, err := loadStylesheet()
	if err != nil {
		return assets{}, err
	}
	icon, err := loadAsset("/assets/kith.svg", "image/svg+xml")
	if err != nil {
		return assets{}, err
	}
	scripts := map[string]asset{}
	names, err := fs.Glob(assetFiles, "assets/*.js")
	if err != nil {
		return assets{}, fmt.Errorf("web: list scripts: %w", err)
	}
	for _, name := range names {
		if "/"+name == pathWorker {
			continue
		}
		if scripts[strings.TrimSuffix(path.Base(name), ".js")], err = loadScript("/" + name); err != nil {
			return assets{}, err
		}
	}
	all := assets{stylesheet: stylesheet, icon: icon, scripts: scripts}
	return all, all.addInstallable()
}

func loadAsset(path, media string) (asset, error) {
	data, err := assetFiles.ReadFile(path[1:])
	if err != nil {
		return asset{}, fmt.Errorf("web: read asset: %w", err)
	}
	if media == javaScript {
		data = unsent.ReplaceAll(data, nil)
	}
	return newAsset(path, media, data), nil
}

// scriptText matches a text in a script that people read: t("Save").
var scriptText = regexp.MustCompile(`\bt\(("(?:[^"\\]|\\.)*")\)`)

// loadScript loads a script in each language: what stands in t("…") is the English text, which is replaced here.
func loadScript(path string) (asset, error) {
	source, err := loadAsset(path, javaScript)
	if err != nil {
		return asset{}, err
	}
	languages, err := catalogues()
	if err != nil {
		return asset{}, err
	}
	in := func(w *words) asset {
		return newAsset(path, javaScript, scriptText.ReplaceAllFunc(source.data, func(call []byte) []byte {
			english, _ := strconv.Unquote(string(scriptText.FindSubmatch(call)[1]))
			quoted, _ := json.Marshal(w.text(english)) // a string can always be written
			return quoted
		}))
	}
	script := in(nil)
	script.languages = map[*words]asset{}
	for _, w := range languages {
		script.languages[w] = in(w)
	}
	return script, nil
}

// in returns a script in a language; other files are the same in all.
func (a asset) in(w *words) asset {
	if translated, ok := a.languages[w]; ok {
		return translated
	}
	return a
}

// unsent matches what browsers don't get of a script or a stylesheet: lines that are only a comment, and indentation.
// No text in them goes over several lines.
var unsent = regexp.MustCompile(`(?m)^[ \t]*(?:(?://.*|/\*.*\*/)\n)?`)

// loadStylesheet joins the files of assets/styles: 0-base.css, then one for each area of the
// site, by name.
func loadStylesheet() (asset, error) {
	names, err := fs.Glob(assetFiles, "assets/styles/*.css")
	if err != nil {
		return asset{}, fmt.Errorf("web: list stylesheets: %w", err)
	}
	var all []byte
	for _, name := range names {
		data, err := assetFiles.ReadFile(name)
		if err != nil {
			return asset{}, fmt.Errorf("web: read stylesheet: %w", err)
		}
		all = append(all, data...)
	}
	return newAsset("/assets/kith.css", "text/css; charset=utf-8", unsent.ReplaceAll(all, nil)), nil
}

func newAsset(path, media string, data []byte) asset {
	sum := sha256.Sum256(data)
	return asset{path: path, media: media, version: hex.EncodeToString(sum[:6]), data: data}
}

func (a asset) address() string { return a.path + "?v=" + a.version }

// files returns what pages load, in a fixed order.
func (s assets) files() []asset {
	all := []asset{s.stylesheet, s.icon}
	for _, name := range slices.Sorted(maps.Keys(s.scripts)) {
		all = append(all, s.scripts[name])
	}
	return all
}

// versions returns the addresses of the files in all languages, in a fixed order.
func (s assets) versions() []string {
	var out []string
	for _, file := range s.files() {
		out = append(out, file.address())
		for _, translated := range file.languages {
			if translated.version != file.version {
				out = append(out, translated.address())
			}
		}
	}
	slices.Sort(out)
	return out
}

func (s assets) mount(mux *http.ServeMux) {
	for _, file := range slices.Concat(s.files(), s.icons, []asset{s.manifest, s.worker}) {
		mux.Handle("GET "+file.path, file)
	}
}

// ServeHTTP implements http.Handler.
func (a asset) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	keep := "no-cache" // the requested version may not be this one
	version := r.URL.Query().Get("v")
	for _, translated := range a.languages {
		if version == translated.version {
			a = translated
		}
	}
	if version == a.version {
		keep = "public, max-age=31536000, immutable"
	}
	h := w.Header()
	h.Set("Content-Type", a.media)
	h.Set("Cache-Control", keep)
	h.Set("ETag", `"`+a.version+`"`)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", cmp.Or(a.policy, assetPolicy))
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	if a.scope != "" {
		h.Set("Service-Worker-Allowed", a.scope)
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(a.data))
}
