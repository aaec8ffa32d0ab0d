package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	backend "github.com/kith-crm/kith/backend/server"
)

// authority writes a certificate authority and certificates that it issued into a folder.
type authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{dir: t.TempDir()}
	a.cert, a.key = a.issue(t, "ca", &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }

func (a *authority) issue(t *testing.T, name string, template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber, template.Subject = big.NewInt(time.Now().UnixNano()), pkix.Name{CommonName: name}
	if template.NotAfter.IsZero() {
		template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{
		name + ".pem": {Type: "CERTIFICATE", Bytes: der}, name + ".key": {Type: "PRIVATE KEY", Bytes: raw},
	} {
		if err := os.WriteFile(a.file(file), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// TestMutualTLS: with mutual TLS the backend accepts a client certificate instead of the
// service credential, and refuses connections without one.
func TestMutualTLS(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	ca.issue(t, "backend", &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	ca.issue(t, "edge", &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	url := filepath.Join(t.TempDir(), "kith.db")
	if _, err := backend.Migrate(t.Context(), url, false); err != nil {
		t.Fatal(err)
	}
	listener, err := (&settings{BackendTLSCert: ca.file("backend.pem"), BackendTLSKey: ca.file("backend.key"), BackendClientCA: ca.file("ca.pem")}).backendListenerTLS(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	core, err := backend.New(t.Context(), backend.Config{DatabaseURL: url, Addr: "127.0.0.1:0", TLS: listener})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = core.Stop(context.WithoutCancel(t.Context())) })
	if err := core.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ask := func(s *settings) (int, error) {
		config, err := s.backendClientTLS(slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		client := http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
		res, err := client.Post("https://"+core.Addr().String()+"/kith.sandbox.v1.SandboxService/GetSandbox", "application/json", strings.NewReader("{}"))
		if err != nil {
			return 0, err
		}
		return res.StatusCode, res.Body.Close()
	}
	if status, err := ask(&settings{BackendCA: ca.file("ca.pem"), BackendTLSCert: ca.file("edge.pem"), BackendTLSKey: ca.file("edge.key")}); err != nil || status != http.StatusOK {
		t.Errorf("with a certificate: %d, %v", status, err)
	}
	if status, err := ask(&settings{BackendCA: ca.file("ca.pem")}); err == nil {
		t.Errorf("without a certificate: %d", status)
	}
}

func TestBadCertificates(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]*settings{
		"missing file":            {BackendTLSCert: "nowhere.pem", BackendTLSKey: "nowhere.key"},
		"client CA without a key": {BackendClientCA: "nowhere.pem"},
	} {
		if config, err := s.backendListenerTLS(slog.New(slog.DiscardHandler)); err == nil {
			t.Errorf("%s: %v", name, config)
		}
	}
	if _, err := readAuthority(os.Args[0]); err == nil {
		t.Error("a file that is not a certificate was accepted")
	}
}

// TestRenewedCertificate: a renewed certificate is used without a restart. While only one of the two files is complete,
// the old certificate stays in use.
func TestRenewedCertificate(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	issue := func() *x509.Certificate {
		cert, _ := ca.issue(t, "edge", &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
		return cert
	}
	first := issue()
	pair := &keyPair{certFile: ca.file("edge.pem"), keyFile: ca.file("edge.key"), logger: slog.New(slog.DiscardHandler)}
	presented := func() *x509.Certificate {
		pair.looked = time.Time{}
		got, err := pair.get()
		if err != nil {
			t.Fatal(err)
		}
		return got.Leaf
	}
	if !presented().Equal(first) {
		t.Error("the first certificate is not presented")
	}
	second := issue()
	later := time.Now().Add(time.Minute) // the files may have the same times
	key, err := os.ReadFile(pair.keyFile)
	if err == nil {
		err = os.WriteFile(pair.keyFile, key[:len(key)/2], 0o600)
	}
	if err := errors.Join(err, os.Chtimes(pair.certFile, later, later)); err != nil {
		t.Fatal(err)
	}
	if !presented().Equal(first) {
		t.Error("half of a renewal is presented")
	}
	if err := os.WriteFile(pair.keyFile, key, 0o600); err != nil {
		t.Fatal(err)
	}
	if !presented().Equal(second) {
		t.Error("the renewed certificate is not presented")
	}
}
