package main

import (
	"bytes"
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestConfigMasksSecrets(t *testing.T) {
	t.Parallel()
	s := settings{Addr: ":9", Service: "very-secret-token", EmbeddingsKey: "very-secret-key", DatabaseURL: "postgres://kith:hunter2@db/kith"}
	if err := s.resolve(); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := s.print(&out); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); strings.Contains(text, "very-secret") || strings.Contains(text, "hunter2") || !strings.Contains(text, "KITH_BASE_URL=http://localhost:9\n") {
		t.Error(text)
	}
}

const acmeTest = "https://acme.example/directory"

// TestACMEDefaults: KITH_ACME alone, with a public address, is enough beside a SQLite file.
func TestACMEDefaults(t *testing.T) {
	t.Parallel()
	s := settings{Addr: "127.0.0.1:8080", ACME: true, ACMEDirectory: acmeTest, DatabaseURL: "/var/lib/kith/kith.db", BaseURL: "https://KITH.example"}
	if err := s.resolve(); err != nil || s.Addr != ":443" || s.ACMECache != "/var/lib/kith/certificates" {
		t.Errorf("%q and %q: %v", s.Addr, s.ACMECache, err)
	}
	if got, err := s.newACME(); err != nil || got.file() != "/var/lib/kith/certificates/kith.example" {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestPorts: the error of a port that is taken, or that the user of the service may not open, says what to do.
func TestPorts(t *testing.T) {
	t.Parallel()
	for cause, want := range map[syscall.Errno]string{syscall.EACCES: "CAP_NET_BIND_SERVICE", syscall.EADDRINUSE: "stop the other program"} {
		if err := explainPort(&net.OpError{Op: "listen", Err: os.NewSyscallError("bind", cause)}); !errors.Is(err, cause) || !strings.Contains(err.Error(), want) {
			t.Error(err)
		}
	}
	if err := explainPort(nil); err != nil {
		t.Error(err)
	}
}

func TestResolveRefuses(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]settings{
		"no port":            {Addr: "localhost"},
		"no scheme":          {Addr: ":1", BaseURL: "kith.example"},
		"a path":             {Addr: ":1", BaseURL: "https://kith.example/app"},
		"a slash at the end": {Addr: ":1", BaseURL: "https://kith.example/"},
		"negative workers":   {Addr: ":1", JobWorkers: -1},
		"plain http":         {Addr: ":1", BaseURL: "http://kith.example"},
		"plain http, by IP":  {Addr: ":1", BaseURL: "http://192.168.1.7:8080"},
		"nearly loopback":    {Addr: ":1", BaseURL: "http://127.0.0.1.evil.example"},
		"nearly localhost":   {Addr: ":1", BaseURL: "http://localhost.evil.example"},
		"all addresses":      {Addr: ":1", BaseURL: "http://0.0.0.0:8080"},
		"a user":             {Addr: ":1", BaseURL: "https://me@kith.example"},

		"ACME without an address":     {Addr: ":1", ACME: true, ACMEDirectory: acmeTest, DatabaseURL: "kith.db"},
		"ACME for an IP address":      {Addr: ":1", ACME: true, ACMEDirectory: acmeTest, DatabaseURL: "kith.db", BaseURL: "https://192.0.2.7"},
		"ACME for an IPv6 address":    {Addr: ":1", ACME: true, ACMEDirectory: acmeTest, DatabaseURL: "kith.db", BaseURL: "https://[2001:db8::7]"},
		"ACME for this machine":       {Addr: ":1", ACME: true, ACMEDirectory: acmeTest, DatabaseURL: "kith.db", BaseURL: "https://localhost"},
		"ACME for a name below it":    {Addr: ":1", ACME: true, ACMEDirectory: acmeTest, DatabaseURL: "kith.db", BaseURL: "https://kith.localhost"},
		"ACME for a short name":       {Addr: ":1", ACME: true, ACMEDirectory: acmeTest, DatabaseURL: "kith.db", BaseURL: "https://kith"},
		"ACME and a certificate":      {Addr: ":1", ACME: true, ACMEDirectory: acmeTest, DatabaseURL: "kith.db", BaseURL: "https://kith.example", TLSCert: "kith.pem"},
		"ACME and several edges":      {Addr: ":1", ACME: true, ACMEDirectory: acmeTest, DatabaseURL: "kith.db", BaseURL: "https://kith.example", Edges: 2},
		"ACME by plain http":          {Addr: ":1", ACME: true, ACMEDirectory: "http://acme.example", DatabaseURL: "kith.db", BaseURL: "https://kith.example"},
		"ACME and nowhere to keep it": {Addr: ":1", ACME: true, ACMEDirectory: acmeTest, DatabaseURL: "postgres://kith@db/kith", BaseURL: "https://kith.example"},
	} {
		if err := s.resolve(); err == nil || !strings.Contains(err.Error(), "KITH_") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPlainHTTP: plain http is accepted for this machine, or if the operator allows it.
func TestPlainHTTP(t *testing.T) {
	t.Parallel()
	for _, s := range []settings{
		{BaseURL: "http://localhost:8080"}, {BaseURL: "http://127.0.0.1:8080"}, {BaseURL: "http://[::1]:8080"}, {BaseURL: "http://LOCALHOST"},
		{BaseURL: "https://kith.example"}, {BaseURL: "http://kith.lan", PlainHTTP: true},
	} {
		s.Addr = ":1"
		if err := s.resolve(); err != nil {
			t.Errorf("%s: %v", s.BaseURL, err)
		}
	}
}

// 0 means no workers, not the backend's default.
func TestJobWorkers(t *testing.T) {
	t.Parallel()
	for set, want := range map[int]int{0: -1, 1: 1, 2: 2} {
		if got := (&settings{JobWorkers: set}).jobWorkers(); got != want {
			t.Errorf("%d: %d", set, got)
		}
	}
}
