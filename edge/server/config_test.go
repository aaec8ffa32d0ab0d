package server

import (
	"strings"
	"testing"
	"time"
)

func TestZeroConfigIsUsable(t *testing.T) {
	t.Parallel()
	s, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	c := s.parts.resolved
	if c.Addr != DefaultAddr || c.BaseURL != DefaultBaseURL || c.Version != "dev" || !c.loopback || c.host != "localhost" ||
		c.ProfileCacheTTL != 0 || c.SandboxEnabled {
		t.Errorf("resolved %+v", c)
	}
}

func TestNewRefusesConfigs(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"base URL with a path":       {func(c *Config) { c.BaseURL = "https://kith.example/x" }, "base URL"},
		"base URL with a query":      {func(c *Config) { c.BaseURL = "https://kith.example?x" }, "base URL"},
		"base URL with a password":   {func(c *Config) { c.BaseURL = "https://a:hunter2@kith.example" }, "base URL"},
		"base URL without scheme":    {func(c *Config) { c.BaseURL = "kith.example" }, "base URL"},
		"base URL that is not a URL": {func(c *Config) { c.BaseURL = ":" }, "base URL"},
		"backend with a path":        {func(c *Config) { c.BackendURLs = []string{"http://backend/x"} }, "backend address"},
		"sandbox without a token":    {func(c *Config) { c.SandboxEnabled, c.SandboxUsername = true, "demo" }, "token and username"},
		"sandbox without a name":     {func(c *Config) { c.SandboxEnabled, c.SandboxToken = true, "t" }, "token and username"},
		"negative cap":               {func(c *Config) { c.MaxConnections = -1 }, "negative"},
		"negative time":              {func(c *Config) { c.ProfileCacheTTL = -time.Second }, "negative"},
	} {
		var c Config
		test.change(&c)
		_, err := New(c)
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %v, want an error with %q", name, err, test.want)
		}
	}
}

func TestBaseURLLosesItsSlash(t *testing.T) {
	t.Parallel()
	s, err := New(Config{BaseURL: "https://kith.example:8443/"})
	if err != nil {
		t.Fatal(err)
	}
	if s.parts.BaseURL != "https://kith.example:8443" || s.parts.host != "kith.example" {
		t.Errorf("resolved %+v", s.parts.resolved)
	}
}

func TestIsLoopback(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]bool{
		"127.0.0.1:8080": true, "localhost:0": true, "[::1]:80": true, "127.9.9.9:1": true,
		":8080": false, "0.0.0.0:8080": false, "[::]:80": false, "192.0.2.1:80": false, "kith.example:80": false, "nonsense": false,
	} {
		if got := isLoopback(addr); got != want {
			t.Errorf("isLoopback(%q) = %t", addr, got)
		}
	}
}
