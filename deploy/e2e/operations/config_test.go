// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/operations -run 'TestConfig|TestConfigMasksEveryPassword|TestVersion'

package operations

import (
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestConfig: kith config prints the effective settings in shell syntax, without secrets.
func TestConfig(t *testing.T) {
	t.Parallel()
	password := harness.Secrets.Keep("database password", "s3kr1t-w0rd-of-the-database")
	collectorKey := harness.Secrets.Keep("key of the collector", "s3kr1t-w0rd-of-the-collector")
	service := harness.Secrets.Keep("service token", "s3kr1t-w0rd-of-the-service")
	done := harness.RunKith(t, harness.Environment(map[string]string{
		"KITH_ADDR": "127.0.0.1:7001", "KITH_SERVICE_TOKEN": service, "KITH_ALLOWED_ORIGINS": "https://a.example,https://b.example",
		"KITH_DATABASE_URL":           "postgres://kith:" + password + "@db.example:5432/kith?sslmode=require",
		"OTEL_EXPORTER_OTLP_ENDPOINT": "http://kith:" + collectorKey + "@collector.example:4318", "OTEL_EXPORTER_OTLP_HEADERS": "authorization=" + collectorKey,
	}), "", "config")
	if done.Code != 0 {
		t.Fatal(done.Stderr)
	}
	for _, want := range []string{
		"KITH_ADDR=127.0.0.1:7001\n", "KITH_BASE_URL=http://localhost:7001\n", "KITH_SERVICE_TOKEN=", "KITH_LOG_LEVEL=info\n",
		"KITH_ALLOWED_ORIGINS=https://a.example,https://b.example\n", "KITH_STOP_TIMEOUT=20s\n", "OTEL_EXPORTER_OTLP_ENDPOINT=http://kith@collector.example:4318\n", "KITH_SANDBOX=true\n", "@db.example:5432/kith?sslmode=require\n",
	} {
		if !strings.Contains(done.Stdout, want) {
			t.Errorf("%q is not in the output:\n%s", want, done.Stdout)
		}
	}
	harness.Secrets.MustNotBeIn(t, "kith config", done.Stdout+done.Stderr)
}

// TestConfigMasksEveryPassword: kith config masks the password wherever a database address
// can have one.
func TestConfigMasksEveryPassword(t *testing.T) {
	t.Parallel()
	password := harness.Secrets.Keep("database password", "s3kr1t-w0rd-elsewhere")
	for name, address := range map[string]string{
		"beside the name":          "postgres://kith:" + password + "@db.example/kith",
		"in the query":             "postgres://db.example/kith?user=kith&password=" + password,
		"in the query, escaped":    "postgres://db.example/kith?user=kith&p%61ssword=" + password,
		"of the TLS key":           "postgres://kith@db.example/kith?sslkey=k.pem&sslpassword=" + password,
		"before a space":           "postgres://kith:" + password + " x@db.example/kith",
		"before a percent sign":    "postgres://kith:" + password + "%x@db.example/kith",
		"before a hash":            "postgres://kith:" + password + "#x@db.example/kith",
		"before a slash":           "postgres://kith:" + password + "/x@db.example/kith",
		"with two hosts":           "postgres://kith:" + password + "@a.example:5432,b.example:5432/kith",
		"with a bad port":          "postgres://kith:" + password + "@a.example:port/kith",
		"after postgresql":         "postgresql://kith:" + password + "@db.example/kith",
		"in words":                 "host=db.example user=kith password=" + password,
		"of another database":      "mysql://kith:" + password + "@db.example/kith",
		"in the backend's address": "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings := map[string]string{"KITH_DATABASE_URL": address}
			if address == "" {
				settings = map[string]string{"KITH_BACKEND_URL": "http://kith:" + password + "@backend.example"}
			}
			done := harness.RunKith(t, harness.Environment(settings), "", "config")
			harness.Secrets.MustNotBeIn(t, "kith config", done.Stdout+done.Stderr)
		})
	}
}

// TestVersion: every place that shows the version shows the same one.
func TestVersion(t *testing.T) {
	harness.EachTopology(t, func(t *testing.T, s *harness.Service) {
		want := "kith " + harness.StampedVersion + " (commit " + harness.StampedCommit[:12] + ", " + harness.StampedDate + ") " + runtime.Version() + "\n"
		if got := s.Operate(t, "", "version"); got != want {
			t.Errorf("kith version prints %q, want %q", got, want)
		}
		for where, got := range map[string]string{
			"initialize": s.SandboxAgent().Post(t, harness.Request(t, "initialize", nil)).Body,
			"/v1":        s.Send(t, http.MethodGet, "/v1", "").Body,
		} {
			if !strings.Contains(strings.ReplaceAll(got, `": "`, `":"`), `"version":"`+harness.StampedVersion+`"`) {
				t.Errorf("%s has another version: %s", where, got)
			}
		}
		for _, p := range s.Programs() {
			metric := `kith_build_info{date="` + harness.StampedDate + `",go_version="` + runtime.Version() + `",revision="` + harness.StampedCommit + `",version="` + harness.StampedVersion + `"} 1`
			if got := harness.Get(t, p.Admin+"/metrics", "Accept: text/plain").Body; !strings.Contains(got, metric) {
				t.Errorf("%s does not report %s", p.Name, metric)
			}
			if got := harness.Get(t, p.Admin+"/status", "Accept: text/html").Body; !strings.Contains(got, harness.StampedVersion) {
				t.Errorf("the status page of %s has another version", p.Name)
			}
			first, _, _ := strings.Cut(p.Stderr.String(), "\n")
			if !strings.Contains(first, "starting") || !strings.Contains(first, harness.StampedVersion) || !strings.Contains(first, harness.StampedCommit) {
				t.Errorf("the log of %s begins with %s", p.Name, first)
			}
		}
	})
}
