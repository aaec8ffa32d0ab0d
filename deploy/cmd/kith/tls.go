package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// certificateTLS returns the TLS configuration of a listener, or nil if no certificate is
// set.
func certificateTLS(certFile, keyFile string) (*tls.Config, error) {
	if certFile == "" && keyFile == "" {
		return nil, nil
	}
	certificate, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("load the certificate %s and the key %s: %w", certFile, keyFile, err)
	}
	return &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}, nil
}

// backendListenerTLS returns the TLS configuration of the backend's listener. With a
// client authority, clients must present a certificate.
func (s *settings) backendListenerTLS() (*tls.Config, error) {
	config, err := certificateTLS(s.BackendTLSCert, s.BackendTLSKey)
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
		return nil, fmt.Errorf("read the certificate authority: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("the file %s contains no certificate", file)
	}
	return pool, nil
}
