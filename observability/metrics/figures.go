package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// NewSandbox registers kith_sandbox_age_seconds with r. day is called once per
// scrape and tells when the day of the demo account's data began; zero is none yet.
func NewSandbox(r prometheus.Registerer, day func() time.Time) error {
	return NewFigures(r, map[string]Figure{"kith_sandbox_age_seconds": {
		Help: "Time since the beginning of the day that the demo account was seeded for; above 24 h it is stale.",
		Value: func() float64 {
			if d := day(); !d.IsZero() {
				return time.Since(d).Seconds()
			}
			return 0
		},
	}})
}

// NewCertificate registers, or adds to, the gauge of when certificates end. use is
// what the certificate is for, from a closed list.
func NewCertificate(r prometheus.Registerer, use string, notAfter time.Time) error {
	if err := checkNames("certificate", []string{use}); err != nil {
		return err
	}
	vec, err := register(r, prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "kith_tls_certificate_expiry_timestamp_seconds", Help: "When a certificate of this process ends, by use (edge, backend, backend_client).",
	}, []string{"use"}))
	if err != nil {
		return err
	}
	vec.WithLabelValues(use).Set(float64(notAfter.Unix()))
	return nil
}

// NewFigures registers gauges that are read when they are scraped. It fails if r
// has one of them. Each key is a metric's name.
func NewFigures(r prometheus.Registerer, figures map[string]Figure) error {
	for name, f := range figures {
		if err := r.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: f.Help}, f.Value)); err != nil {
			return err
		}
	}
	return nil
}

// Figure is one number of a component.
type Figure struct {
	Help string
	// Value is called once per scrape, from any goroutine.
	Value func() float64
}
