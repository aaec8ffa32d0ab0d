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
		"fewer than none":    {Addr: ":1", JobWorkers: -1},
		"a user":             {Addr: ":1", BaseURL: "https://me@kith.example"},
	} {
		if err := s.resolve(); err == nil || !strings.Contains(err.Error(), "KITH_") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// No workers are no workers, and not the backend's default.
func TestJobWorkers(t *testing.T) {
	t.Parallel()
	for set, want := range map[int]int{0: -1, 1: 1, 2: 2} {
		if got := (&settings{JobWorkers: set}).jobWorkers(); got != want {
			t.Errorf("%d: %d", set, got)
		}
	}
}
