package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// keyPair is a certificate and its key in files, which are read again when they change. It is safe for concurrent use.
type keyPair struct {
	certFile, keyFile string
	logger            *slog.Logger

	mu       sync.Mutex
	looked   time.Time
	modified [2]time.Time
	current  *tls.Certificate
}

// lookEvery is the interval at which a keyPair looks at its files.
const lookEvery = time.Second

// get returns the certificate in the files. If they changed and cannot be read, as while they are being written, it
// returns the one before.
func (p *keyPair) get() (*tls.Certificate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current != nil && time.Since(p.looked) < lookEvery {
		return p.current, nil
	}
	p.looked = time.Now()
	var modified [2]time.Time
	for i, file := range []string{p.certFile, p.keyFile} {
		if info, err := os.Stat(file); err == nil {
			modified[i] = info.ModTime()
		}
	}
	if p.current != nil && modified == p.modified {
		return p.current, nil
	}
	pair, err := tls.LoadX509KeyPair(p.certFile, p.keyFile)
	if err != nil {
		err = fmt.Errorf("load the certificate %s and the key %s: %w", p.certFile, p.keyFile, err)
		if p.current != nil {
			p.logger.Warn("a changed certificate cannot be read, so the one before stays in use", "error", err)
			return p.current, nil
		}
		return nil, err
	}
	if p.current != nil {
		p.logger.Info("a changed certificate is in use", "file", p.certFile, "expires", pair.Leaf.NotAfter)
	}
	p.current, p.modified = &pair, modified
	return p.current, nil
}

// certificateTLS returns a TLS configuration with a certificate, or nil if none is set.
func certificateTLS(certFile, keyFile string, logger *slog.Logger) (*tls.Config, error) {
	if certFile == "" && keyFile == "" {
		return nil, nil
	}
	pair := &keyPair{certFile: certFile, keyFile: keyFile, logger: logger}
	if _, err := pair.get(); err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion:           tls.VersionTLS12,
		GetCertificate:       func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return pair.get() },
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return pair.get() },
	}, nil
}

// backendListenerTLS returns the TLS configuration of the backend's listener. With a
// client authority, clients must present a certificate.
func (s *settings) backendListenerTLS(logger *slog.Logger) (*tls.Config, error) {
	config, err := certificateTLS(s.BackendTLSCert, s.BackendTLSKey, logger)
	if err != nil || s.BackendClientCA == "" {
		return config, err
	}
	if config == nil {
		return nil, fmt.Errorf("KITH_BACKEND_CLIENT_CA needs mutual TLS: set KITH_BACKEND_TLS_CERT and KITH_BACKEND_TLS_KEY too")
	}
	if config.ClientCAs, err = readAuthority(s.BackendClientCA); err != nil {
		return nil, err
	}
	config.ClientAuth = tls.RequireAndVerifyClientCert
	return config, nil
}

// backendClientTLS returns the TLS configuration with which the edge calls the backend;
// nil means Go's defaults.
func (s *settings) backendClientTLS(logger *slog.Logger) (*tls.Config, error) {
	config, err := certificateTLS(s.BackendTLSCert, s.BackendTLSKey, logger)
	if err != nil || s.BackendCA == "" {
		return config, err
	}
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	config.RootCAs, err = readAuthority(s.BackendCA)
	return config, err
}

func readAuthority(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the certificate authority: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("the file %s contains no certificate", file)
	}
	return pool, nil
}
