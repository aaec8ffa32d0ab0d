package main

import (
	"log/slog"
	"net"
	"os"
)

// tellManager tells systemd of a service of Type=notify how far it is (sd_notify(3)). Without systemd it does nothing.
func tellManager(logger *slog.Logger, state string) {
	address := os.Getenv("NOTIFY_SOCKET")
	if address == "" {
		return
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: address, Net: "unixgram"}) // an @ is an abstract socket in Go, too
	if err != nil {
		logger.Warn("systemd cannot be told", "state", state, "error", err)
		return
	}
	_, err = conn.Write([]byte(state))
	if closeErr := conn.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		logger.Warn("systemd cannot be told", "state", state, "error", err)
	}
}
