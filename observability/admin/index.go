package admin

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"net/http"
)

//go:embed index.html
var indexSource string

//go:embed index.css
var indexStyle string

// entry is a path of the listener.
type entry struct{ Path, Title, Text string }

// entries returns the paths that are served.
func (o Options) entries() []entry {
	var list []entry
	if o.Status != nil {
		list = append(list, entry{"/status", "Status", "Whether anything is wrong, and the key figures of this process over the last hour."})
	}
	list = append(list,
		entry{"/readyz", "Readiness", "200 while this process can serve. If not, send it no traffic."},
		entry{"/healthz", "Health", "200 while this process answers at all. If not, restart it."},
	)
	if o.Metrics != nil {
		list = append(list, entry{"/metrics", "Metrics", "Everything that this process counts, for Prometheus."})
	}
	if o.profiles() {
		list = append(list, entry{"/debug/pprof/", "Profiles", "Processor, memory and goroutines, for go tool pprof."})
	}
	return list
}

// index serves a page with links to the paths.
func (o Options) index() http.Handler {
	sum := sha256.Sum256([]byte(indexStyle))
	policy := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
	var page bytes.Buffer
	err := template.Must(template.New("index").Parse(indexSource)).Execute(&page, map[string]any{
		"Style": template.CSS(indexStyle), "Entries": o.entries(), //nolint:gosec // our own
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err != nil {
			o.Logger.ErrorContext(r.Context(), "render the admin page", "error", err)
			writeText(w, http.StatusInternalServerError, "The page cannot be rendered. The log has the error.\n")
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", policy)
		_, _ = w.Write(page.Bytes()) // the client may have disconnected
	})
}
