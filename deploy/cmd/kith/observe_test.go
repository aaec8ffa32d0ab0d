package main

import (
	"crypto/x509"
	"log/slog"
	"net"
	"testing"

	"github.com/kith-crm/kith/observability/metrics"
)

// TestCertificatesAreWatched: the expiry of each certificate that a process presents is in
// its metrics.
func TestCertificatesAreWatched(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	cert, _ := ca.issue(t, "edge", &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})
	listener, err := certificateTLS(ca.file("edge.pem"), ca.file("edge.key"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	onlyTrust, err := (&settings{BackendCA: ca.file("ca.pem")}).backendClientTLS(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	r := &process{registry: metrics.New(metrics.BuildInfo{})}
	if err := r.watchCertificate("edge", listener); err != nil {
		t.Fatal(err)
	}
	if err := r.watchCertificate("backend_client", onlyTrust); err != nil {
		t.Fatal(err)
	}
	if err := r.watchCertificate("backend", nil); err != nil {
		t.Fatal(err)
	}
	families, err := r.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "kith_tls_certificate_expiry_timestamp_seconds" {
			continue
		}
		m := f.GetMetric()
		if len(m) != 1 || m[0].GetLabel()[0].GetValue() != "edge" || m[0].GetGauge().GetValue() != float64(cert.NotAfter.Unix()) {
			t.Errorf("%v", m)
		}
		return
	}
	t.Error("no certificate is watched")
}
