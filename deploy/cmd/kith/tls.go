package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// certificateTLS returns the configuration of a listener with a certificate, or
// nil when none is set.
func certificateTLS(certFile, keyFile string) (*tls.Config, error) {
	if certFile == "" && keyFile == "" {
		return nil, nil
	}
	certificate, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("the certificate %s with the key %s cannot be used: %w", certFile, keyFile, err)
	}
	return &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}, nil
}

// backendListenerTLS is the backend's side of the hop: with an authority for
// clients it asks for a certificate of theirs.
func (s *settings) backendListenerTLS() (*tls.Config, error) {
	config, err := certificateTLS(s.BackendTLSCert, s.BackendTLSKey)
	if err != nil || s.BackendClientCA == "" {
		return config, err
	}
	if config == nil {
		return nil, fmt.Errorf("KITH_BACKEND_CLIENT_CA asks for mutual TLS: set KITH_BACKEND_TLS_CERT and KITH_BACKEND_TLS_KEY too")
	}
	if config.ClientCAs, err = readAuthority(s.BackendClientCA); err != nil {
		return nil, err
	}
	config.ClientAuth = tls.RequireAndVerifyClientCert
	return config, nil
}

// backendClientTLS is the edge's side of the hop; nil for Go's defaults.
func (s *settings) backendClientTLS() (*tls.Config, error) {
	config, err := certificateTLS(s.BackendTLSCert, s.BackendTLSKey)
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
		return nil, fmt.Errorf("the authority cannot be read: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("the file %s holds no certificate", file)
	}
	return pool, nil
}
