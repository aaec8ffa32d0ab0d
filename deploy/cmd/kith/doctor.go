package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/kith-crm/kith/backend/server"
	edge "github.com/kith-crm/kith/edge/server"
	"github.com/kith-crm/kith/observability/rules"
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
		{"settings", checkSettings}, {"database", checkDatabase}, {"files", checkFiles}, {"backup", checkBackup}, {"secret key", checkSecretKey},
		{"disk", checkDisk}, {"backend", checkBackend}, {"redis", checkRedis}, {"mail", checkMail}, {"provider", checkProvider},
		{"embeddings", checkEmbeddings}, {"certificates", checkCertificates}, {"base URL", checkBaseURL},
	}
}

// onBackends are the checks of what only a backend uses: on a host with an edge alone they are left out.
var onBackends = []string{"database", "files", "backup", "secret key", "disk", "mail", "provider", "embeddings"}

func (doctorCommand) Run(p *program) error {
	failed := 0
	for _, c := range checks() {
		timeout := checkTimeout
		if c.name == "database" && server.DatabaseFile(p.settings.DatabaseURL) != "" {
			timeout = readTimeout
		}
		result, unused, err := "", "not set", error(nil)
		if p.settings.edgeOnly() && slices.Contains(onBackends, c.name) {
			unused = "not used by an edge"
		} else {
			ctx, cancel := context.WithTimeout(p.ctx, timeout)
			result, err = c.run(ctx, p.settings)
			cancel()
		}
		status := "ok  "
		switch {
		case err != nil:
			status, result = "FAIL", strings.Join(strings.Fields(err.Error()), " ")
			failed++
		case result == "":
			status, result = "-   ", unused
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

// namesBackend reports whether the settings name a backend, as those of an edge do.
func (s *settings) namesBackend() bool {
	return !slices.Equal(s.BackendURLs, []string{edge.DefaultBackendURL})
}

// edgeOnly reports whether the settings are those of a host with an edge alone: they name a backend and no database.
func (s *settings) edgeOnly() bool {
	_, named := os.LookupEnv("KITH_DATABASE_URL")
	_, inFile := os.LookupEnv("KITH_DATABASE_URL_FILE")
	return s.namesBackend() && !named && !inFile
}

func checkSettings(_ context.Context, s *settings) (string, error) {
	if err := s.resolve(); err != nil {
		return "", err
	}
	if err := tracing.Check(os.Getenv); err != nil {
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

// checkBackup compares the age of the last backup with the limit of the alert.
func checkBackup(ctx context.Context, s *settings) (string, error) {
	at, never, err := server.LastBackup(ctx, s.DatabaseURL)
	if err != nil {
		return "", fmt.Errorf("look up the last backup: %w", err)
	}
	alerts, err := rules.Alerts()
	if err != nil {
		return "", err
	}
	stale := alerts["KithBackupStale"].Fires(time.Since(at).Seconds())
	when := at.UTC().Format("2006-01-02 15:04 UTC")
	switch {
	case never && stale:
		return "", fmt.Errorf("no backup was made since the database was made on %s: run kith backup each night; after a backup by another program, run kith backup --external", when)
	case stale:
		return "", fmt.Errorf("the last backup was made on %s: run kith backup each night; after a backup by another program, run kith backup --external", when)
	case never:
		return "none yet; the database was made on " + when, nil
	default:
		return "the last one was made on " + when, nil
	}
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

func checkFiles(_ context.Context, s *settings) (string, error) {
	if server.DatabaseFile(s.DatabaseURL) == "" {
		return "", nil
	}
	return "belong to the user of their folder", server.CheckOwner(s.DatabaseURL)
}

func checkSecretKey(ctx context.Context, s *settings) (string, error) {
	path, made, err := server.CheckSecretKey(ctx, s.DatabaseURL, s.SecretKeyFile)
	switch {
	case err != nil || path == "":
		return "", err
	case !made:
		return "is made at the first start: " + path, nil
	default:
		return path, nil
	}
}

// checkBackend asks each backend that an edge with these settings would call.
func checkBackend(ctx context.Context, s *settings) (string, error) {
	if !s.namesBackend() {
		return "", nil
	}
	backendTLS, err := s.backendClientTLS(slog.New(slog.DiscardHandler))
	if err != nil {
		return "", err
	}
	var failed error
	for _, address := range s.BackendURLs {
		front, err := edge.New(edge.Config{
			Addr: s.Addr, BaseURL: s.BaseURL, BackendURLs: []string{address}, BackendTLS: backendTLS, ServiceToken: s.Service,
		})
		if err == nil {
			err = errors.Join(front.Ready(ctx), front.Stop(ctx))
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("KITH_BACKEND_URL %s: %w", maskAddress(address), err))
		}
	}
	return fmt.Sprintf("%d of %d answer and accept KITH_SERVICE_TOKEN", len(s.BackendURLs), len(s.BackendURLs)), failed
}

func checkMail(ctx context.Context, s *settings) (string, error) {
	if s.SMTPURL == "" {
		return "", nil
	}
	if err := server.CheckMail(ctx, s.SMTPURL); err != nil {
		return "", fmt.Errorf("KITH_SMTP_URL: %w", err)
	}
	return "the mail server accepts the connection", nil
}

func checkProvider(ctx context.Context, s *settings) (string, error) {
	provider := s.identityProvider()
	if provider == nil {
		return "", nil
	}
	if err := provider.Check(ctx); err != nil {
		return "", fmt.Errorf("KITH_PROVIDER_ISSUER: %w", err)
	}
	return "answers at " + s.ProviderIssuer, nil
}

func checkEmbeddings(ctx context.Context, s *settings) (string, error) {
	remote := s.embeddings()
	if remote == nil {
		return "", nil
	}
	if err := remote.Check(ctx); err != nil {
		return "", fmt.Errorf("KITH_EMBEDDINGS_URL: %w", err)
	}
	return "computes vectors at " + s.EmbeddingsURL, nil
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
