package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"
)

// renewBefore is how long before its expiry the check of a certificate fails, or a fifth of a shorter lifetime.
const renewBefore = 14 * 24 * time.Hour

// expiresSoon reports whether a certificate should have been renewed.
func expiresSoon(cert *x509.Certificate, now time.Time) bool {
	return cert.NotAfter.Sub(now) < min(renewBefore, cert.NotAfter.Sub(cert.NotBefore)/5)
}

func checkCertificates(_ context.Context, s *settings) (string, error) {
	kept, found := checkACME(s)
	set := 0
	for _, pair := range []struct{ cert, key, host string }{
		{s.TLSCert, s.TLSKey, hostOf(s.BaseURL)}, {kept, kept, hostOf(s.BaseURL)}, {s.BackendTLSCert, s.BackendTLSKey, ""},
	} {
		if pair.cert == "" && pair.key == "" {
			continue
		}
		set++
		found = errors.Join(found, checkCertificate(pair.cert, pair.key, pair.host))
	}
	for _, authority := range []string{s.BackendCA, s.BackendClientCA} {
		if authority == "" {
			continue
		}
		set++
		_, err := readAuthority(authority)
		found = errors.Join(found, err)
	}
	if set == 0 || found != nil {
		return "", found
	}
	return fmt.Sprintf("all %d are valid", set), nil
}

// checkACME checks the folder of KITH_ACME, and returns the file with the certificate and its key; "" if there is none.
func checkACME(s *settings) (file string, err error) {
	certificates, err := s.newACME()
	if err != nil || certificates == nil {
		return "", err
	}
	if _, err := os.Stat(certificates.file()); err != nil {
		return "", fmt.Errorf("KITH_ACME has no certificate for %s yet: start kith, whose log tells what the authority says (%w)", certificates.host, err)
	}
	return certificates.file(), closedToOthers(s.ACMECache)
}

func checkCertificate(certFile, keyFile, host string) error {
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return fmt.Errorf("load the certificate %s and the key %s: %w", certFile, keyFile, err)
	}
	leaf, now := pair.Leaf, time.Now()
	switch {
	case now.Before(leaf.NotBefore):
		return fmt.Errorf("the certificate %s is not valid before %s", certFile, leaf.NotBefore.Format(time.DateOnly))
	case now.After(leaf.NotAfter):
		return fmt.Errorf("the certificate %s expired on %s", certFile, leaf.NotAfter.Format(time.DateOnly))
	case expiresSoon(leaf, now):
		return fmt.Errorf("the certificate %s expires on %s: renew it", certFile, leaf.NotAfter.Format(time.DateOnly))
	}
	if host != "" && leaf.VerifyHostname(host) != nil {
		return fmt.Errorf("the certificate %s is not for %s, the host of KITH_BASE_URL", certFile, host)
	}
	return nil
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Hostname()
}
