package main

import (
	"bytes"
	"strings"
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
