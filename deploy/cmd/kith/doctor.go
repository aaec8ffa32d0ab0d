package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/kith-crm/kith/backend/server"
	edge "github.com/kith-crm/kith/edge/server"
	"github.com/kith-crm/kith/observability/tracing"
)

// doctorCommand checks everything that kith needs, without changing anything.
type doctorCommand struct{}

// The limits of the checks.
const (
	checkTimeout = 5 * time.Second
	readTimeout  = 10 * time.Minute // to read a whole SQLite database
	maxSkew      = 5 * time.Second
	minFree      = 256 << 20 // bytes on the disk of a SQLite database
)

// check is one check. run returns a short result, "" if the settings do not use what is
// checked, or an error.
type check struct {
	name string
	run  func(ctx context.Context, s *settings) (result string, err error)
}

func checks() []check {
	return []check{
		{"settings", checkSettings}, {"database", checkDatabase}, {"disk", checkDisk}, {"redis", checkRedis},
		{"certificates", checkCertificates}, {"base URL", checkBaseURL},
	}
}

func (doctorCommand) Run(p *program) error {
	failed := 0
	for _, c := range checks() {
		timeout := checkTimeout
		if c.name == "database" && server.DatabaseFile(p.settings.DatabaseURL) != "" {
			timeout = readTimeout
		}
		ctx, cancel := context.WithTimeout(p.ctx, timeout)
		result, err := c.run(ctx, p.settings)
		cancel()
		status := "ok  "
		if err != nil {
			status, result = "FAIL", strings.Join(strings.Fields(err.Error()), " ")
			failed++
		}
		if result == "" {
			status, result = "-   ", "not set"
		}
		if _, err := fmt.Fprintf(p.out, "%s  %-12s  %s\n", status, c.name, result); err != nil {
			return err
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d checks failed", failed, len(checks()))
	}
	return nil
}

func checkSettings(_ context.Context, s *settings) (string, error) {
	if err := s.resolve(); err != nil {
		return "", err
	}
	if _, err := tracing.On(os.Getenv); err != nil {
		return "", err
	}
	if s.Service != "" && len(s.Service) < 16 {
		return "", errors.New("KITH_SERVICE_TOKEN is shorter than 16 characters")
	}
	return "valid", nil
}

func checkDatabase(ctx context.Context, s *settings) (string, error) {
	start := time.Now()
	clock, err := server.CheckDatabase(ctx, s.DatabaseURL)
	if err != nil {
		return "", err
	}
	took := time.Since(start)
	if skew := time.Since(clock).Abs(); skew > maxSkew+took {
		return "", fmt.Errorf("the clocks of this machine and of the database differ by %s", skew.Round(time.Second))
	}
	return fmt.Sprintf("%s, the schema is up to date (%s)", maskAddress(s.DatabaseURL), took.Round(time.Millisecond)), nil
}

func checkDisk(_ context.Context, s *settings) (string, error) {
	file := server.DatabaseFile(s.DatabaseURL)
	if file == "" {
		return "", nil
	}
	folder := filepath.Dir(file)
	var stat syscall.Statfs_t
	if err := syscall.Statfs(folder, &stat); err != nil {
		return "", fmt.Errorf("check the folder %s of the database: %w", folder, err)
	}
	free := stat.Bavail * uint64(stat.Bsize) //nolint:gosec // block sizes are positive
	if free < minFree {
		return "", fmt.Errorf("only %d MiB are free in %s", free>>20, folder)
	}
	return fmt.Sprintf("%d MiB are free in %s", free>>20, folder), nil
}

func checkRedis(ctx context.Context, s *settings) (string, error) {
	if s.RedisURL == "" {
		return "", nil
	}
	if err := edge.PingRedis(ctx, s.RedisURL); err != nil {
		return "", fmt.Errorf("KITH_REDIS_URL: %w", err)
	}
	return "answers", nil
}

// checkBaseURL calls the service at its public address and compares the clocks, because
// tokens expire.
func checkBaseURL(ctx context.Context, s *settings) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.BaseURL+"/v1", http.NoBody)
	if err != nil {
		return "", fmt.Errorf("KITH_BASE_URL: %w", err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", fmt.Errorf("nothing answers at KITH_BASE_URL %s: start kith, or set it to the public address of the service (%w)", s.BaseURL, err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK || res.Header.Get("X-Request-Id") == "" {
		return "", fmt.Errorf("the server at KITH_BASE_URL %s is not kith (status %d)", s.BaseURL, res.StatusCode)
	}
	if at, err := http.ParseTime(res.Header.Get("Date")); err == nil && time.Since(at).Abs() > maxSkew+time.Second {
		return "", fmt.Errorf("the clocks of this machine and of the server at KITH_BASE_URL differ by %s", time.Since(at).Abs().Round(time.Second))
	}
	return "kith answers at " + s.BaseURL, nil
}
