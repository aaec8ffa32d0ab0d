package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/kith-crm/kith/observability/logging"

	"github.com/kith-crm/kith/edge/server"
)

// stopTimeout is how long requests in flight may take after the signal to stop.
const stopTimeout = 20 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Getenv, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "edge:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends or the server fails.
func run(ctx context.Context, env func(string) string, log io.Writer) error {
	logger, err := logging.New(log, "info", "json")
	if err != nil {
		return err
	}
	s, err := server.New(server.Config{
		Addr:            env("KITH_ADDR"),
		BaseURL:         env("KITH_BASE_URL"),
		BackendURLs:     strings.FieldsFunc(env("KITH_BACKEND_URL"), func(r rune) bool { return r == ',' }),
		ServiceToken:    env("KITH_SERVICE_TOKEN"),
		ProfileCacheTTL: server.DefaultProfileCacheTTL,
		Logger:          logger,
	})
	if err != nil {
		return err
	}
	if err := s.Start(ctx); err != nil {
		return err
	}
	logger.Info("listening", "addr", s.Addr().String())
	var failure error
	select {
	case <-ctx.Done():
	case failure = <-s.Done():
	}
	stopping, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	return errors.Join(failure, s.Stop(stopping))
}
