package server

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"connectrpc.com/connect"
)

// Config says how the backend runs.
type Config struct {
	// DatabaseURL is a postgres:// address or the path of a SQLite file.
	DatabaseURL string
	// Addr is where to listen, host:port. Empty: Handler is served by the
	// caller and Start listens nowhere.
	Addr string
	// ServiceToken is the credential that the edge and internal callers send,
	// of MinServiceToken characters at least. It may be empty when TLS asks for
	// client certificates.
	ServiceToken string
	// TLS is used for the listener when it is not nil.
	TLS *tls.Config
	// Sandbox seeds the demo account and keeps it fresh.
	Sandbox bool
	// SearchMemory bounds the search indexes held, in bytes; 0 means 256 MiB.
	SearchMemory int64
	// Metrics observes each call; nil observes nothing.
	Metrics connect.Interceptor
	// Logger takes what operators should know; nil discards it.
	Logger *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// MinServiceToken is the shortest service credential, in characters.
const MinServiceToken = 16

const defaultSearchMemory = 256 << 20

// resolved fills in the defaults and refuses what cannot work.
func (c Config) resolved() (Config, error) {
	mutualTLS := c.TLS != nil && c.TLS.ClientAuth == tls.RequireAndVerifyClientCert
	if len(c.ServiceToken) < MinServiceToken && !mutualTLS {
		return c, fmt.Errorf("the service token needs %d characters at least: set KITH_SERVICE_TOKEN, the same for backend and edge", MinServiceToken)
	}
	if c.Addr != "" {
		if _, _, err := net.SplitHostPort(c.Addr); err != nil {
			return c, fmt.Errorf("the backend's address %q is not host:port", c.Addr)
		}
	}
	if c.DatabaseURL == "" {
		return c, errors.New("no database is set: KITH_DATABASE_URL takes the path of a SQLite file or a postgres:// address")
	}
	if c.SearchMemory == 0 {
		c.SearchMemory = defaultSearchMemory
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Metrics == nil {
		c.Metrics = connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc { return next })
	}
	return c, nil
}
