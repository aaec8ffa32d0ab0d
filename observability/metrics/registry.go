package metrics

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// maxScrapes is the maximum number of concurrent scrapes; more get 503.
const maxScrapes = 4

// BuildInfo describes the running build. The zero value is a development build.
type BuildInfo struct {
	// Version is the released version, "v1.4.0". Defaults to "dev".
	Version string
	// Revision is the commit it was built from. Defaults to "unknown".
	Revision string
	// Date is the date of the commit, in RFC 3339. Defaults to "unknown".
	Date string
	// GoVersion is the version of the toolchain. Defaults to that of the running binary.
	GoVersion string
}

// Registry holds the collectors of one process. There is no global registry: the
// constructor of a collector takes one.
type Registry struct {
	*prometheus.Registry

	// TraceID returns the id of the sampled trace of a context, or "". Durations get it
	// as their exemplar. Nil means no traces. Set it before building collectors.
	TraceID func(context.Context) string
}

// New returns a registry with the collectors of the Go runtime and of the process, and
// kith_build_info.
func New(build BuildInfo) *Registry {
	r := &Registry{Registry: prometheus.NewRegistry()}
	// An empty registry accepts these three, because their names are fixed and distinct.
	r.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		newBuildInfo(build),
	)
	return r
}

// Handler serves the registry to scrapers, in OpenMetrics if they ask for it. If a
// collector fails, its error is logged and the others are served. A nil log discards
// the errors.
func (r *Registry) Handler(log *slog.Logger) http.Handler {
	log = cmp.Or(log, slog.New(slog.DiscardHandler))
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{
		ErrorLog:            slog.NewLogLogger(log.Handler(), slog.LevelError),
		ErrorHandling:       promhttp.ContinueOnError,
		EnableOpenMetrics:   true,
		MaxRequestsInFlight: maxScrapes,
	})
}

func newBuildInfo(build BuildInfo) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "kith_build_info",
		Help: "Always 1; the labels say which build is running.",
		ConstLabels: prometheus.Labels{
			"version":    cmp.Or(strings.ToValidUTF8(build.Version, "_"), "dev"),
			"revision":   cmp.Or(strings.ToValidUTF8(build.Revision, "_"), "unknown"),
			"date":       cmp.Or(strings.ToValidUTF8(build.Date, "_"), "unknown"),
			"go_version": cmp.Or(strings.ToValidUTF8(build.GoVersion, "_"), runtime.Version()),
		},
	}, func() float64 { return 1 })
}

// register adds c to r, or returns the same collector if r has it already: in the
// all-in-one program both halves use one registry.
func register[C prometheus.Collector](r prometheus.Registerer, c C) (C, error) {
	err := r.Register(c)
	if err == nil {
		return c, nil
	}
	if registered, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
		if same, ok := registered.ExistingCollector.(C); ok {
			return same, nil
		}
	}
	return c, fmt.Errorf("register metrics: %w", err)
}
