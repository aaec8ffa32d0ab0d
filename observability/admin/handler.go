package admin

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"time"
)

// readyTimeout bounds one readiness check: Kubernetes' probes time out after 1 s by
// default.
const readyTimeout = time.Second

// Options configure Handler. The zero value works.
type Options struct {
	// Metrics serves /metrics; nil means 404.
	Metrics http.Handler
	// Status serves /status; nil means 404.
	Status http.Handler
	// Ready returns nil if the process can serve: its database or its backend answers.
	// It is called for each request to /readyz, from any goroutine, with a context that
	// ends after one second. Its error is logged and not sent. A nil Ready means always
	// ready.
	Ready func(context.Context) error
	// Addr is the listener's address. The handler serves requests whose Host is its IP
	// address (any address, if it listens on all), a loopback name or address, or one
	// of Hosts. Nil means loopback only.
	Addr net.Addr
	// Hosts are further host names of the listener, without ports.
	Hosts []string
	// Profiles serves /debug/pprof/ also if Addr is not a loopback address.
	Profiles bool
	// Logger logs the errors of Ready; nil discards them.
	Logger *slog.Logger
}

// Handler returns the admin listener's handler. It answers GET and HEAD; other
// methods get 405, other paths 404, and requests for another host 421.
func Handler(o Options) http.Handler {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", o.index())
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		writeText(w, http.StatusOK, "ok\n")
	})
	mux.HandleFunc("GET /readyz", o.serveReady)
	if o.Metrics != nil {
		mux.Handle("GET /metrics", o.Metrics)
	}
	if o.Status != nil {
		mux.Handle("GET /status", o.Status)
	}
	if o.profiles() {
		mountProfiles(mux)
	}
	return noStore(o.checkHost(mux))
}

// profiles reports whether profiles are served.
func (o Options) profiles() bool { return o.Profiles || o.bound().IsLoopback() }

// mountProfiles serves the profiles. Index serves the named ones (heap, goroutine …) too.
func mountProfiles(mux *http.ServeMux) {
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
}

func (o Options) serveReady(w http.ResponseWriter, r *http.Request) {
	if o.Ready != nil {
		ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
		defer cancel()
		if err := o.Ready(ctx); err != nil {
			o.Logger.WarnContext(ctx, "not ready", "error", err)
			writeText(w, http.StatusServiceUnavailable, "This process is not ready; its log has the reason.\n")
			return
		}
	}
	writeText(w, http.StatusOK, "ready\n")
}

func writeText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text) // the client may have disconnected
}

// noStore forbids caching and content sniffing.
func noStore(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})
}
