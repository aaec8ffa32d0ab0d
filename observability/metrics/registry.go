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

// maxScrapes bounds the scrapes that are answered at the same time; the next one gets 503.
const maxScrapes = 4

// BuildInfo says which build is running. The zero value is a development build.
type BuildInfo struct {
	// Version is the released version, "v1.4.0". Defaults to "dev".
	Version string
	// Revision is the commit it was built from. Defaults to "unknown".
	Revision string
	// Date is that of the commit, in RFC 3339. Defaults to "unknown".
	Date string
	// GoVersion is the toolchain. Defaults to that of the running binary.
	GoVersion string
}

// Registry holds the collectors of one process. There is no global one: whoever
// builds a collector is handed a registry.
type Registry struct {
	*prometheus.Registry

	// TraceID returns the id of the sampled trace that a context belongs to, or "".
	// Durations observed in one are exemplars. Nil: there are no traces. It is set
	// before collectors are built.
	TraceID func(context.Context) string
}

// New builds a registry that holds the collectors of the Go runtime and of the
// process, and kith_build_info.
func New(build BuildInfo) *Registry {
	r := &Registry{Registry: prometheus.NewRegistry()}
	// A new registry cannot refuse these three: their names are fixed and distinct.
	r.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		newBuildInfo(build),
	)
	return r
}

// Handler serves the registry to scrapers, in OpenMetrics where they ask for it.
// A collector that fails is logged and left out; the others are still served. A
// nil log discards the failures.
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
			"version":    labelOr(build.Version, "dev"),
			"revision":   labelOr(build.Revision, "unknown"),
			"date":       labelOr(build.Date, "unknown"),
			"go_version": labelOr(build.GoVersion, runtime.Version()),
		},
	}, func() float64 { return 1 })
}

// labelOr returns value as a legal label value, or fallback if it is empty.
func labelOr(value, fallback string) string {
	if value == "" {
		return fallback
	}
	return strings.ToValidUTF8(value, "_")
}

// register adds c to r, or returns the same collector if r has it already: in
// the all-in-one program both halves report to one registry.
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
