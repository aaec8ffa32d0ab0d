package e2e

import (
	"strings"
	"testing"
)

// TestConfig: it prints the settings in force, as a shell could read them, but no secret.
func TestConfig(t *testing.T) {
	t.Parallel()
	password := secrets.keep("database password", "s3kr1t-w0rd-of-the-database")
	collectorKey := secrets.keep("key of the collector", "s3kr1t-w0rd-of-the-collector")
	service := secrets.keep("service token", "s3kr1t-w0rd-of-the-service")
	done := kith(t, environment(map[string]string{
		"KITH_ADDR": "127.0.0.1:7001", "KITH_SERVICE_TOKEN": service, "KITH_ALLOWED_ORIGINS": "https://a.example,https://b.example",
		"KITH_DATABASE_URL":           "postgres://kith:" + password + "@db.example:5432/kith?sslmode=require",
		"OTEL_EXPORTER_OTLP_ENDPOINT": "http://kith:" + collectorKey + "@collector.example:4318", "OTEL_EXPORTER_OTLP_HEADERS": "authorization=" + collectorKey,
	}), "", "config")
	if done.code != 0 {
		t.Fatal(done.stderr)
	}
	for _, want := range []string{
		"KITH_ADDR=127.0.0.1:7001\n", "KITH_BASE_URL=http://localhost:7001\n", "KITH_SERVICE_TOKEN=", "KITH_LOG_LEVEL=info\n",
		"KITH_ALLOWED_ORIGINS=https://a.example,https://b.example\n", "KITH_STOP_TIMEOUT=20s\n", "OTEL_EXPORTER_OTLP_ENDPOINT=http://kith@collector.example:4318\n", "KITH_SANDBOX=true\n", "@db.example:5432/kith?sslmode=require\n",
	} {
		if !strings.Contains(done.stdout, want) {
			t.Errorf("%q is not in it:\n%s", want, done.stdout)
		}
	}
	secrets.mustNotBeIn(t, "kith config", done.stdout+done.stderr)
}

// TestConfigMasksEveryPassword: in each place where a database's address can hold it.
func TestConfigMasksEveryPassword(t *testing.T) {
	t.Parallel()
	password := secrets.keep("database password", "s3kr1t-w0rd-elsewhere")
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
			done := kith(t, environment(settings), "", "config")
			secrets.mustNotBeIn(t, "kith config", done.stdout+done.stderr)
		})
	}
}

// TestVersion: `kith version` and initialize agree.
func TestVersion(t *testing.T) {
	eachTopology(t, func(t *testing.T, s *service) {
		words := strings.Fields(s.operate(t, "", "version"))
		if len(words) < 2 || words[0] != "kith" {
			t.Fatalf("got %q", words)
		}
		if got := s.visitor().post(t, request(t, "initialize", nil)); !strings.Contains(got.body, `"version":"`+words[1]+`"`) {
			t.Errorf("%s is not in %s", words[1], got.body)
		}
	})
}
