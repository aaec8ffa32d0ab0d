package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

func TestRunStopsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var log bytes.Buffer
	env := map[string]string{"KITH_ADDR": "127.0.0.1:0"}
	if err := run(ctx, func(name string) string { return env[name] }, &log); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "listening") {
		t.Errorf("logged %s", log.String())
	}
}

func TestRunNamesABadSetting(t *testing.T) {
	t.Parallel()
	env := map[string]string{"KITH_BASE_URL": "nonsense"}
	err := run(t.Context(), func(name string) string { return env[name] }, &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "base URL") {
		t.Errorf("got %v", err)
	}
}
