package logging_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kith-crm/kith/observability/logging"
)

// secret is the random part of a token; no line may contain it.
const secret = "Zm9v-YmFy_MTIzNDU2Nzg5MGFiY2RlZmdoaWprbG1ub3A"

func TestNewRefusesUnknownSettings(t *testing.T) {
	t.Parallel()
	tests := []struct{ level, format, want string }{
		{"verbose", "json", `parse log level "verbose": must be debug, info, warn or error`},
		{"INFO", "json", `parse log level "INFO": must be debug, info, warn or error`},
		{"", "json", `parse log level "": must be debug, info, warn or error`},
		{"info", "xml", `parse log format "xml": must be text or json`},
		{"info", "", `parse log format "": must be text or json`},
	}
	for _, tt := range tests {
		t.Run(tt.level+" "+tt.format, func(t *testing.T) {
			t.Parallel()
			_, err := logging.New(io.Discard, tt.level, tt.format)
			if err == nil || err.Error() != tt.want {
				t.Errorf("error = %v, want %s", err, tt.want)
			}
		})
	}
}

func TestNewWritesItsLevelAndAbove(t *testing.T) {
	t.Parallel()
	tests := []struct {
		level string
		want  []string
	}{
		{"debug", []string{"DEBUG", "INFO", "WARN", "ERROR"}},
		{"info", []string{"INFO", "WARN", "ERROR"}},
		{"warn", []string{"WARN", "ERROR"}},
		{"error", []string{"ERROR"}},
	}
	for _, tt := range tests {
		t.Run(tt.level, func(t *testing.T) {
			t.Parallel()
			log, out := newLogger(t, tt.level, "json")
			log.Debug("m")
			log.Info("m")
			log.Warn("m")
			log.Error("m")
			var got []string
			for line := range strings.Lines(out.String()) {
				var record struct{ Level string }
				if err := json.Unmarshal([]byte(line), &record); err != nil {
					t.Fatal(err)
				}
				got = append(got, record.Level)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("levels (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSensitiveKeysAreRedacted(t *testing.T) {
	t.Parallel()
	for _, key := range []string{
		"authorization", "Authorization", "token", "access_token", "Access-Token", "refresh_token", "password",
		"code", "cookie", "set-cookie", "Set-Cookie", "idempotency_key", "Idempotency-Key", "service_token",
		"client_secret", "code_verifier",
	} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			for name, attr := range map[string]slog.Attr{
				"string": slog.String(key, secret),
				"number": slog.Int(key, 123456789),
				"struct": slog.Any(key, struct{ A string }{secret}),
				"group":  slog.Group(key, "a", secret, slog.Group("deep", "b", secret)),
				"member": slog.Group("request", key, secret),
				"header": slog.Any("headers", http.Header{key: {secret, secret}}),
				"form":   slog.Any("form", url.Values{key: {secret}}),
				"lists":  slog.Any("lists", map[string][]string{key: {secret}}),
				"map":    slog.Any("map", map[string]string{key: secret}),
			} {
				bothFormats(t, name, func(log *slog.Logger) { log.Info("m", attr) })
				bothFormats(t, name+" of With", func(log *slog.Logger) { log.With(attr).Info("m") })
			}
			bothFormats(t, "open group", func(log *slog.Logger) { log.WithGroup(key).Info("m", "a", secret) })
		})
	}
}

// bothFormats fails unless what fn logs is redacted in text and in JSON.
func bothFormats(t *testing.T, name string, fn func(*slog.Logger)) {
	t.Helper()
	for _, format := range []string{"text", "json"} {
		log, out := newLogger(t, "info", format)
		fn(log)
		got := out.String()
		if strings.Contains(got, secret) || strings.Contains(got, "123456789") || !strings.Contains(got, "[redacted]") {
			t.Errorf("%s as %s is not redacted: %s", name, format, got)
		}
	}
}

func TestOtherKeysAreKept(t *testing.T) {
	t.Parallel()
	log, out := newLogger(t, "info", "json")
	log.Info("answered", "error_code", "not_found", "tokens", 3, "route", "token", "path", "/kith_at_/kith_http_requests_total",
		"headers", http.Header{"Accept": {"text/html"}}, "body", []byte("plain"))
	var got map[string]any
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil {
		t.Fatal(err)
	}
	delete(got, "time")
	want := map[string]any{
		"level": "INFO", "msg": "answered", "error_code": "not_found", "tokens": 3.0, "route": "token",
		"path": "/kith_at_/kith_http_requests_total", "headers": map[string]any{"Accept": []any{"text/html"}}, "body": "plain",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
}

func TestRedactingDoesNotChangeTheLoggedValue(t *testing.T) {
	t.Parallel()
	header := http.Header{"Authorization": {"Bearer " + secret}}
	log, _ := newLogger(t, "info", "json")
	log.Info("m", "headers", header)
	if got := header.Get("Authorization"); got != "Bearer "+secret {
		t.Errorf("the request's own header became %q", got)
	}
}

// stringer is logged through its String method by the text format.
type stringer string

func (s stringer) String() string { return string(s) }

func TestTokensAreRemovedEverywhere(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"kith_at_", "kith_rt_", "kith_pat_"} {
		token := prefix + secret
		places := map[string]func(*slog.Logger){
			"message":  func(log *slog.Logger) { log.Info("got " + token + ", refused") },
			"string":   func(log *slog.Logger) { log.Info("m", "url", "/mcp?t="+token+"&x=<1>") },
			"error":    func(log *slog.Logger) { log.Info("m", "error", fmt.Errorf("check: %w", errors.New(token))) },
			"stringer": func(log *slog.Logger) { log.Info("m", "s", stringer(token)) },
			"bytes":    func(log *slog.Logger) { log.Info("m", "body", []byte(token)) },
			"raw JSON": func(log *slog.Logger) { log.Info("m", "body", json.RawMessage(`{"a":"`+token+`"}`)) },
			"struct":   func(log *slog.Logger) { log.Info("m", "s", struct{ A []string }{[]string{token}}) },
			"header":   func(log *slog.Logger) { log.Info("m", "h", http.Header{"X-Other": {token}}) },
			"key":      func(log *slog.Logger) { log.Info("m", token, 1) },
			"group":    func(log *slog.Logger) { log.WithGroup(token).Info("m", "a", 1) },
			"with":     func(log *slog.Logger) { log.With("a", token).Info("m") },
		}
		for name, fn := range places {
			t.Run(prefix+" in "+name, func(t *testing.T) {
				t.Parallel()
				bothFormats(t, name, fn)
			})
		}
	}
}

// newLogger returns a logger and what it has written.
func newLogger(t *testing.T, level, format string) (*slog.Logger, *strings.Builder) {
	t.Helper()
	var out strings.Builder
	log, err := logging.New(&out, level, format)
	if err != nil {
		t.Fatal(err)
	}
	return log, &out
}
