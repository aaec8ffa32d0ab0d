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

// doctorCommand looks at everything that kith needs, and changes nothing.
type doctorCommand struct{}

// What the doctor takes for wrong.
const (
	checkTimeout = 5 * time.Second
	maxSkew      = 5 * time.Second
	minFree      = 256 << 20 // bytes beside a SQLite database
)

// check is one thing to look at. It returns what it found in a few words, nothing
// where the settings do not ask for the thing, or what is wrong in a sentence.
type check struct {
	name string
	look func(ctx context.Context, s *settings) (found string, err error)
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
		ctx, cancel := context.WithTimeout(p.ctx, checkTimeout)
		found, err := c.look(ctx, p.settings)
		cancel()
		verdict := "ok  "
		if err != nil {
			verdict, found = "FAIL", strings.Join(strings.Fields(err.Error()), " ")
			failed++
		}
		if found == "" {
			verdict, found = "-   ", "not set"
		}
		if _, err := fmt.Fprintf(p.out, "%s  %-12s  %s\n", verdict, c.name, found); err != nil {
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
	return "they can be read", nil
}

func checkDatabase(ctx context.Context, s *settings) (string, error) {
	begun := time.Now()
	clock, err := server.Examine(ctx, s.DatabaseURL)
	if err != nil {
		return "", err
	}
	took := time.Since(begun)
	if skew := time.Since(clock).Abs(); skew > maxSkew+took {
		return "", fmt.Errorf("the clocks of this machine and of the database are %s apart", skew.Round(time.Second))
	}
	return fmt.Sprintf("%s, its schema is this version's (%s)", maskAddress(s.DatabaseURL), took.Round(time.Millisecond)), nil
}

func checkDisk(_ context.Context, s *settings) (string, error) {
	if strings.HasPrefix(s.DatabaseURL, "postgres") {
		return "", nil
	}
	folder := filepath.Dir(strings.TrimPrefix(strings.TrimPrefix(s.DatabaseURL, "sqlite://"), "file:"))
	var stat syscall.Statfs_t
	if err := syscall.Statfs(folder, &stat); err != nil {
		return "", fmt.Errorf("the folder of the database %s cannot be looked at: %w", folder, err)
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
	return "it answers", nil
}

// checkBaseURL asks the service where the world would, and compares clocks: tokens
// and signatures are bound to times.
func checkBaseURL(ctx context.Context, s *settings) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.BaseURL+"/v1", http.NoBody)
	if err != nil {
		return "", fmt.Errorf("KITH_BASE_URL: %w", err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", fmt.Errorf("nobody answers at KITH_BASE_URL %s: start kith, or set it to the address by which clients reach it (%w)", s.BaseURL, err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK || res.Header.Get("X-Request-Id") == "" {
		return "", fmt.Errorf("what answers at KITH_BASE_URL %s is not kith (status %d)", s.BaseURL, res.StatusCode)
	}
	if at, err := http.ParseTime(res.Header.Get("Date")); err == nil && time.Since(at).Abs() > maxSkew+time.Second {
		return "", fmt.Errorf("the clock behind KITH_BASE_URL is %s apart from this machine's", time.Since(at).Abs().Round(time.Second))
	}
	return "kith answers at " + s.BaseURL, nil
}
