package main

import (
	"log/slog"
	"net"
	"path/filepath"
	"testing"
)

// TestTellManager: systemd's socket receives the state, and a socket that is gone is not fatal.
func TestTellManager(t *testing.T) {
	address := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: address, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("NOTIFY_SOCKET", address)
	tellManager(slog.New(slog.DiscardHandler), "READY=1")
	text := make([]byte, 64)
	n, err := socket.Read(text)
	if err != nil || string(text[:n]) != "READY=1" {
		t.Errorf("systemd reads %q: %v", text[:n], err)
	}
	if err := socket.Close(); err != nil {
		t.Fatal(err)
	}
	tellManager(slog.New(slog.DiscardHandler), "STOPPING=1")
}
