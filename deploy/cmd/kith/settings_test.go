package main

import (
	"bytes"
	"os"
	"reflect"
	"strings"
	"testing"
)

// Every setting is explained in the operators' manual.
func TestSettingsAreDocumented(t *testing.T) {
	t.Parallel()
	manual, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	for field := range reflect.TypeFor[settings]().Fields() {
		if name := field.Tag.Get("env"); !bytes.Contains(manual, []byte("`"+name+"`")) {
			t.Errorf("operations.md does not mention %s", name)
		}
	}
}

func TestConfigMasksSecrets(t *testing.T) {
	t.Parallel()
	s := settings{Addr: ":9", Service: "very-secret-token", DatabaseURL: "postgres://kith:hunter2@db/kith"}
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
		"a user":             {Addr: ":1", BaseURL: "https://me@kith.example"},
	} {
		if err := s.resolve(); err == nil || !strings.Contains(err.Error(), "KITH_") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
