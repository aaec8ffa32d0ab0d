package manifests

import (
	"bufio"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

// TestCompose loads the file as `docker compose config` does, with the example's
// settings and made-up secrets.
func TestCompose(t *testing.T) {
	t.Parallel()
	project := load(t, settings(t))
	for name, image := range map[string]string{
		"edge-1": "kith", "edge-2": "kith", "backend-1": "kith", "backend-2": "kith", "migrate": "kith", "postgres": "postgres",
		"redis": "redis", "prometheus": "prom/prometheus", "alertmanager": "prom/alertmanager", "grafana": "grafana/grafana",
	} {
		service, err := project.GetService(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if got, _, _ := strings.Cut(service.Image, ":"); got != image {
			t.Errorf("%s runs %s", name, service.Image)
		}
		if image == "kith" && (!service.ReadOnly || len(service.CapDrop) != 1) {
			t.Errorf("%s may write to its files or has capabilities", name)
		}
		for _, v := range service.Volumes {
			if v.Type != types.VolumeTypeBind {
				continue
			}
			if _, err := os.Stat(v.Source); err != nil {
				t.Errorf("%s mounts a file that does not exist: %v", name, err)
			}
		}
	}
}

// TestComposeNeedsSecrets: with an empty secret nothing starts.
func TestComposeNeedsSecrets(t *testing.T) {
	t.Parallel()
	full := settings(t)
	for name := range full {
		if !strings.Contains(name, "PASSWORD") && !strings.Contains(name, "TOKEN") {
			continue
		}
		short := map[string]string{}
		for other, value := range full {
			if other != name {
				short[other] = value
			}
		}
		options, err := projectOptions(short)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := options.LoadProject(t.Context()); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
}

func projectOptions(environment map[string]string) (*cli.ProjectOptions, error) {
	var lines []string
	for name, value := range environment {
		lines = append(lines, name+"="+value)
	}
	return cli.NewProjectOptions([]string{"../compose/compose.yaml"}, cli.WithEnv(lines), cli.WithResolvedPaths(true))
}

func load(t *testing.T, environment map[string]string) *types.Project {
	t.Helper()
	options, err := projectOptions(environment)
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return project
}

// settings returns the example's settings, with a value for each empty one.
func settings(t *testing.T) map[string]string {
	t.Helper()
	file, err := os.Open("../compose/example.env")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	out := map[string]string{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		name, value, ok := strings.Cut(lines.Text(), "=")
		if !ok || strings.HasPrefix(name, "#") {
			continue
		}
		if value == "" {
			value = strings.Repeat("x", 32)
		}
		out[name] = value
	}
	return out
}

// TestComposeIsHealthy: each long-running service has a health check, and its dependents
// wait for it.
func TestComposeIsHealthy(t *testing.T) {
	t.Parallel()
	project := load(t, settings(t))
	for name, service := range project.Services {
		if ends(name) {
			continue
		}
		if service.HealthCheck == nil || len(service.HealthCheck.Test) == 0 {
			t.Errorf("%s has no health check", name)
		}
		for other, dependency := range service.DependsOn {
			if want := map[bool]string{true: types.ServiceConditionCompletedSuccessfully, false: types.ServiceConditionHealthy}[ends(other)]; dependency.Condition != want {
				t.Errorf("%s starts when %s is %s", name, other, dependency.Condition)
			}
		}
	}
}

// ends reports whether a service exits when it is done.
func ends(name string) bool { return name == "migrate" || name == "secret-key" }

// TestComposeBacksUpEachDay runs the command of the service "backups" with a kith that fails once: it tries again
// after ten minutes, then after a day, and ends when it is told to.
func TestComposeBacksUpEachDay(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	said := filepath.Join(bin, "said")
	for name, script := range map[string]string{
		"kith":  `echo "kith $*" >>` + said + `; test "$(grep -c kith ` + said + `)" -gt 1`,
		"sleep": `echo "sleep $*" >>` + said + `; if [ "$1" = 86400 ]; then kill -TERM $PPID; exec /bin/sleep 5 >/dev/null 2>&1; fi`,
	} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil { //nolint:gosec // is run
			t.Fatal(err)
		}
	}
	line := load(t, settings(t)).Services["backups"].Entrypoint
	command := exec.CommandContext(t.Context(), line[0], line[1:]...)
	command.Env = []string{"PATH=" + bin + ":/usr/bin:/bin"}
	out, err := command.CombinedOutput()
	got, readErr := os.ReadFile(said)
	if want := "kith backup\nsleep 600\nkith backup\nsleep 86400\n"; err != nil || readErr != nil || string(got) != want {
		t.Errorf("%v, %v: %s\n%s", err, readErr, out, got)
	}
}

// TestComposePinsImages: images have a fixed version, not latest.
func TestComposePinsImages(t *testing.T) {
	t.Parallel()
	pinned := regexp.MustCompile(`:v?[0-9]+\.[0-9]+`)
	for name, service := range load(t, settings(t)).Services {
		if !strings.HasPrefix(service.Image, "kith") && !pinned.MatchString(service.Image) {
			t.Errorf("%s runs %s", name, service.Image)
		}
	}
	dockerfile, err := os.ReadFile("../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range regexp.MustCompile(`(?m)^FROM (\S+)`).FindAllStringSubmatch(string(dockerfile), -1) {
		if from[1] != "scratch" && !pinned.MatchString(from[1]) {
			t.Errorf("the image is made from %s", from[1])
		}
	}
}

// TestComposeUserIsOrdinary: Kith's database user is not a superuser and cannot create roles;
// the script that creates the user grants the roles of row-level security.
func TestComposeUserIsOrdinary(t *testing.T) {
	t.Parallel()
	project := load(t, settings(t))
	for _, name := range []string{"migrate", "backend-1", "backend-2"} {
		address, err := url.Parse(*project.Services[name].Environment["KITH_DATABASE_URL"])
		if err != nil || address.User.Username() != "kith" {
			t.Errorf("%s works as %v, %v", name, address.User, err)
		}
	}
	if user := project.Services["postgres"].Environment["POSTGRES_USER"]; user != nil {
		t.Errorf("the image makes %s a superuser", *user)
	}
	script, err := os.ReadFile("../compose/postgres/kith.sh")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"CREATE ROLE kith LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE", "GRANT kith_tenant, kith_service TO kith;", "CREATE DATABASE kith OWNER kith;"} {
		if !strings.Contains(string(script), want) {
			t.Errorf("%q is not in the script", want)
		}
	}
}

// TestComposePassesSettings: mail and sign-up are settings of the file .env.
func TestComposePassesSettings(t *testing.T) {
	t.Parallel()
	given := settings(t)
	given["KITH_SIGN_UP"], given["KITH_SMTP_URL"] = "true", "smtp://relay.example:587?from=kith@kith.example"
	project := load(t, given)
	for name, variables := range map[string][]string{"backend-1": {"KITH_SIGN_UP", "KITH_SMTP_URL"}, "backend-2": {"KITH_SIGN_UP", "KITH_SMTP_URL"}, "edge-1": {"KITH_SIGN_UP"}, "edge-2": {"KITH_SIGN_UP"}} {
		for _, variable := range variables {
			if got := project.Services[name].Environment[variable]; got == nil || *got != given[variable] {
				t.Errorf("%s has no %s of the file", name, variable)
			}
		}
	}
}

// TestComposeReceivesAlerts: every route ends at a receiver that sends somewhere, and
// the mail server is a service of the file.
func TestComposeReceivesAlerts(t *testing.T) {
	t.Parallel()
	project, config := load(t, settings(t)), readYAML(t, "../compose/alertmanager.yml")
	hosts := map[string]string{}
	receivers, _ := config["receivers"].([]any)
	for _, receiver := range receivers {
		smarthost, _ := path(receiver, "email_configs", 0, "smarthost").(string)
		host, _, _ := strings.Cut(smarthost, ":")
		hosts[fmt.Sprint(path(receiver, "name"))] = host
	}
	used := []any{path(config, "route", "receiver"), path(config, "route", "routes", 0, "receiver")}
	for _, name := range used {
		if _, err := project.GetService(hosts[fmt.Sprint(name)]); err != nil {
			t.Errorf("alerts for %v go to %q: %v", name, hosts[fmt.Sprint(name)], err)
		}
	}
}

// TestComposeForOperators: operators can create members and write backups with the services
// of the file.
func TestComposeForOperators(t *testing.T) {
	t.Parallel()
	options, err := projectOptions(settings(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := cli.WithProfiles([]string{"operate"})(options); err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if operator, err := project.GetService("kith"); err != nil || operator.Environment["KITH_DATABASE_URL"] == nil {
		t.Errorf("no service runs commands of operators: %v", err)
	}
	backup, err := project.GetService("backup")
	if err != nil || backup.Build == nil || backup.Build.Target != "postgres-tools" {
		t.Fatalf("no service has pg_dump: %v", err)
	}
	nightly := project.Services["backups"]
	if nightly.Image != backup.Image || nightly.Restart != "unless-stopped" || *nightly.Environment["KITH_BACKUP_DIR"] != nightly.Volumes[0].Target {
		t.Errorf("no service writes backups each day: %v", nightly)
	}
	dockerfile, err := os.ReadFile("../Dockerfile")
	if err != nil || !regexp.MustCompile(`(?m)^FROM postgres:\S+ AS postgres-tools$`).Match(dockerfile) {
		t.Errorf("the image of the backup has no pg_dump: %v", err)
	}
	file, err := os.ReadFile("../compose/compose.yaml")
	if err != nil || !strings.Contains(string(file), "run --rm -T kith member create") {
		t.Errorf("the file does not say how to create the first member: %v", err)
	}
}
