package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/server"
	edge "github.com/kith-crm/kith/edge/server"
	"github.com/kith-crm/kith/observability/disk"
	"github.com/kith-crm/kith/observability/rules"
	"github.com/kith-crm/kith/observability/tracing"
)

// doctorCommand checks everything that kith needs. It changes nothing, and sends one mail with --mail.
type doctorCommand struct {
	Public string `placeholder:"URL" help:"Check instead what clients such as Claude find at this public address: name, TLS, redirects, metadata, challenge. It needs no settings, and works from any machine."`
	Mail   string `placeholder:"ADDRESS" help:"Send a test mail to this address, too."`
}

// The limits of the checks.
const (
	checkTimeout = 5 * time.Second
	mailTimeout  = 30 * time.Second
	readTimeout  = 10 * time.Minute // to read a whole SQLite database
	maxSkew      = 5 * time.Second
	minFree      = 256 << 20 // bytes on the disk of a SQLite database
)

// check is one check. run returns a short result, "" if the settings do not use what is
// checked, or an error.
type check struct {
	name string
	run  func(ctx context.Context, s *settings) (result string, err error)
	// advice is one line that says what to do when the check fails, for errors that do not say it.
	advice string
	// timeout limits the check; 0 means checkTimeout.
	timeout time.Duration
	// first says that the checks after it are left out when it fails.
	first bool
}

func (c doctorCommand) checks(s *settings) ([]check, error) {
	if c.Public != "" {
		address, err := newPublicAddress(c.Public)
		if err != nil {
			return nil, err
		}
		return address.checks(), nil
	}
	whole := checkTimeout
	if server.DatabaseFile(s.DatabaseURL) != "" {
		whole = readTimeout
	}
	return []check{
		{name: "settings", run: checkSettings},
		{name: "database", run: checkDatabase, timeout: whole, advice: "Check KITH_DATABASE_URL and that the database runs; kith migrate upgrades an older one, deploy/docs/compatibility.md tells the rest."},
		{name: "files", run: checkFiles, advice: "Give the files to the user of the service alone: others must not read them."},
		{name: "backup", run: checkBackup, advice: "Run kith backup each night; after a backup by another program, run kith backup --external."},
		{name: "secret key", run: checkSecretKey, advice: "A missing key: put the file back from where you keep its copy; if it is lost, run kith secret create --lost."},
		{name: "disk", run: checkDisk, advice: "Remove what is not needed there, such as old backups, or enlarge the disk."},
		{name: "backend", run: checkBackend, advice: "Start the backends; edges and backends need the same KITH_SERVICE_TOKEN."},
		{name: "redis", run: checkRedis, advice: "Start Redis, or unset KITH_REDIS_URL: each edge then counts by itself."},
		{name: "mail", run: c.checkMail, timeout: mailTimeout, advice: "Compare host, port, user and password with what the mail provider says; many block port 25."},
		{name: "provider", run: checkProvider, advice: "Compare KITH_PROVIDER_ISSUER with the issuer in the provider's metadata."},
		{name: "embeddings", run: checkEmbeddings, advice: "Check the address, key and model, or unset KITH_EMBEDDINGS_URL: vectors are then made inside Kith."},
		{name: "certificates", run: checkCertificates, advice: "Renew the certificate, and let the user of the service read its files."},
		{name: "base URL", run: checkBaseURL, advice: "Start kith, or set KITH_BASE_URL to its public address; kith doctor --public asks all that clients ask."},
	}, nil
}

// onBackends are the checks of what only a backend uses: on a host with an edge alone they are left out.
var onBackends = []string{"database", "files", "backup", "secret key", "disk", "mail", "provider", "embeddings"}

func (c doctorCommand) Run(p *program) error {
	checks, err := c.checks(p.settings)
	if err != nil {
		return err
	}
	return p.diagnose(checks)
}

// diagnose runs the checks and prints a line for each, and what to do about those that fail. It returns an error if one failed.
func (p *program) diagnose(checks []check) error {
	failed, stopped := 0, ""
	for _, c := range checks {
		result, unused, err := "", "not set", error(nil)
		switch {
		case stopped != "":
			unused = "not asked, because " + stopped + " failed"
		case p.settings.edgeOnly() && slices.Contains(onBackends, c.name):
			unused = "not used by an edge"
		default:
			result, err = c.within(p.ctx, p.settings)
		}
		status, advice := "ok  ", ""
		switch {
		case err != nil:
			status, result, advice = "FAIL", strings.Join(strings.Fields(err.Error()), " "), c.advice
			failed++
			if c.first {
				stopped = c.name
			}
		case result == "":
			status, result = "-   ", unused
		}
		if _, err := fmt.Fprintf(p.out, "%s  %-12s  %s\n", status, c.name, result); err != nil {
			return err
		}
		if advice != "" {
			if _, err := fmt.Fprintf(p.out, "%20s%s\n", "", advice); err != nil {
				return err
			}
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d checks failed", failed, len(checks))
	}
	return nil
}

// within runs the check within its time.
func (c check) within(ctx context.Context, s *settings) (string, error) {
	timeout := c.timeout
	if timeout == 0 {
		timeout = checkTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return c.run(ctx, s)
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
		return "", errors.New("KITH_SERVICE_TOKEN is shorter than 16 characters: make one with openssl rand -hex 32")
	}
	file := s.EnvFile
	if file == "" {
		file = defaultEnvFile
	}
	if err := closedToOthers(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
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
		return "", fmt.Errorf("no backup was made since the database was made on %s", when)
	case stale:
		return "", fmt.Errorf("the last backup was made on %s", when)
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
	free, _, err := disk.Space(folder)
	if err != nil {
		return "", fmt.Errorf("check the folder %s of the database: %w", folder, err)
	}
	if free < minFree {
		return "", fmt.Errorf("only %d MiB are free in %s", free>>20, folder)
	}
	return fmt.Sprintf("%d MiB are free in %s", free>>20, folder), nil
}

func checkFiles(_ context.Context, s *settings) (string, error) {
	if server.DatabaseFile(s.DatabaseURL) == "" {
		return "", nil
	}
	if runtime.GOOS == "windows" {
		return "may be opened by those who may open their folder", nil
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
		return path, closedToOthers(path)
	}
}

// closedToOthers returns an error if every user of this machine can read or change a file with secrets. Windows has no such modes.
func closedToOthers(path string) error {
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS == "windows" || info.Mode().Perm()&0o007 == 0 {
		return err
	}
	return fmt.Errorf("every user of this machine can read the secrets in %s: chmod o= %s", path, path)
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

// checkMail signs in at the mail server, and sends a test mail if one is wanted.
func (c doctorCommand) checkMail(ctx context.Context, s *settings) (string, error) {
	switch {
	case s.SMTPURL == "" && c.Mail != "":
		return "", errors.New("no mail can be sent, because KITH_SMTP_URL is not set")
	case s.SMTPURL == "":
		return "", nil
	case c.Mail != "":
		if err := server.SendTestMail(ctx, s.SMTPURL, c.Mail, s.BaseURL); err != nil {
			return "", fmt.Errorf("KITH_SMTP_URL: %w", err)
		}
		return "the mail server took a test mail to " + c.Mail + "; if it does not arrive, look in the spam folder, and set SPF and DKIM of the sender's domain", nil
	}
	if err := server.CheckMail(ctx, s.SMTPURL); err != nil {
		return "", fmt.Errorf("KITH_SMTP_URL: %w", err)
	}
	return "the mail server accepts the connection; --mail ADDRESS sends a test mail", nil
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
