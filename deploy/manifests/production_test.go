package manifests

import (
	"encoding/base64"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// maxConnections is PostgreSQL's default limit for ordinary users: max_connections minus the
// connections reserved for superusers.
const maxConnections = 97

// ownConnections is how many connections a backend has besides KITH_DATABASE_CONNS, and how
// many the migrating Job has.
const ownConnections = 2

// path returns the value at a path of names and indexes in an object, or nil.
func path(object any, steps ...any) any {
	for _, step := range steps {
		switch step := step.(type) {
		case string:
			fields, _ := object.(map[string]any)
			object = fields[step]
		case int:
			list, _ := object.([]any)
			if step >= len(list) {
				return nil
			}
			object = list[step]
		}
	}
	return object
}

// find returns the object of a kind whose name has the prefix.
func find(t *testing.T, objects []map[string]any, kind, start string) map[string]any {
	t.Helper()
	for _, o := range objects {
		if name, _ := path(o, "metadata", "name").(string); o["kind"] == kind && strings.HasPrefix(name, start) {
			return o
		}
	}
	t.Fatalf("there is no %s %s", kind, start)
	return nil
}

// environment returns the variables of a workload's container, and which are secret.
func environment(t *testing.T, objects []map[string]any, kind, name string) (env map[string]string, secret []string) {
	t.Helper()
	env = map[string]string{}
	container := path(find(t, objects, kind, name), "spec", "template", "spec", "containers", 0)
	sources, _ := path(container, "envFrom").([]any)
	for _, source := range sources {
		if ref, ok := path(source, "configMapRef", "name").(string); ok {
			data, _ := find(t, objects, "ConfigMap", ref)["data"].(map[string]any)
			for key, value := range data {
				env[key] = fmt.Sprint(value)
			}
		}
		if ref, ok := path(source, "secretRef", "name").(string); ok {
			data, _ := find(t, objects, "Secret", ref)["data"].(map[string]any)
			for key, value := range data {
				plain, err := base64.StdEncoding.DecodeString(fmt.Sprint(value))
				if err != nil {
					t.Fatal(err)
				}
				env[key], secret = string(plain), append(secret, key)
			}
		}
	}
	set, _ := path(container, "env").([]any)
	for _, variable := range set {
		env[fmt.Sprint(path(variable, "name"))] = fmt.Sprint(path(variable, "value"))
	}
	slices.Sort(secret)
	return env, secret
}

func number(t *testing.T, value any) int {
	t.Helper()
	n, err := strconv.Atoi(fmt.Sprint(value))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestDatabaseConnections: all backends that the autoscaler and a rollout can start, and a
// migration, together stay within PostgreSQL's connection limit.
func TestDatabaseConnections(t *testing.T) {
	t.Parallel()
	objects := build(t, "production")
	env, _ := environment(t, objects, "Deployment", "backend")
	pods := number(t, path(find(t, objects, "HorizontalPodAutoscaler", "backend"), "spec", "maxReplicas")) +
		number(t, path(find(t, objects, "Deployment", "backend"), "spec", "strategy", "rollingUpdate", "maxSurge"))
	each := number(t, env["KITH_DATABASE_CONNS"]) + ownConnections
	if all := pods*each + ownConnections; all > maxConnections {
		t.Errorf("%d backends with %d connections and a migration have %d, more than %d", pods, each, all, maxConnections)
	}
}

// TestEdgesKnowTheirNumber: KITH_EDGES is the maximum number of edges, so that together they
// never admit more than a rate limit.
func TestEdgesKnowTheirNumber(t *testing.T) {
	t.Parallel()
	objects := build(t, "production")
	env, _ := environment(t, objects, "Deployment", "edge")
	if most := fmt.Sprint(path(find(t, objects, "HorizontalPodAutoscaler", "edge"), "spec", "maxReplicas")); env["KITH_EDGES"] != most {
		t.Errorf("KITH_EDGES is %s, and there may be %s", env["KITH_EDGES"], most)
	}
	project := load(t, settings(t))
	edges := 0
	for name := range project.Services {
		if strings.HasPrefix(name, "edge-") {
			edges++
		}
	}
	if got := *project.Services["edge-1"].Environment["KITH_EDGES"]; got != strconv.Itoa(edges) {
		t.Errorf("of compose: KITH_EDGES is %s, and there are %d", got, edges)
	}
}

// TestSecretsAreWhereTheyAreNeeded: an edge has no credentials of the database or the mail
// server, and the migration has no service token.
func TestSecretsAreWhereTheyAreNeeded(t *testing.T) {
	t.Parallel()
	objects := build(t, "production")
	for workload, want := range map[string][]string{
		"Deployment edge":    {"KITH_REDIS_URL", "KITH_SERVICE_TOKEN"},
		"Deployment backend": {"KITH_DATABASE_URL", "KITH_SERVICE_TOKEN", "KITH_SMTP_URL"},
		"Job migrate":        {"KITH_DATABASE_URL", "KITH_SMTP_URL"},
	} {
		kind, name, _ := strings.Cut(workload, " ")
		env, got := environment(t, objects, kind, name)
		if !slices.Equal(got, want) {
			t.Errorf("%s gets %v, and needs %v", workload, got, want)
		}
		for variable := range maps.Keys(env) {
			if regexp.MustCompile(`(TOKEN|SECRET|PASSWORD|DATABASE_URL|REDIS_URL|SMTP_URL)$`).MatchString(variable) && !slices.Contains(got, variable) {
				t.Errorf("%s gets the secret %s as plain text", workload, variable)
			}
		}
	}
}

// TestAlertsFindTheJobs: job names from the Prometheus operator match the alerts, so that an
// alert fires when a process is down.
func TestAlertsFindTheJobs(t *testing.T) {
	t.Parallel()
	objects := build(t, "production")
	label, _ := path(find(t, objects, "ServiceMonitor", "kith"), "spec", "jobLabel").(string)
	rules, err := os.ReadFile(operatorRules)
	if err != nil {
		t.Fatal(err)
	}
	asked := regexp.MustCompile(`up\{job=~"([^"]+)"\}`).FindStringSubmatch(string(rules))
	if asked == nil {
		t.Fatal("no alert uses the metric up")
	}
	for _, service := range []string{"edge", "backend"} {
		job, _ := path(find(t, objects, "Service", service), "metadata", "labels", label).(string)
		if job != "kith-"+service || !regexp.MustCompile("^(?:"+asked[1]+")$").MatchString(job) {
			t.Errorf("the job of %s is %q, which %s does not match", service, job, asked[1])
		}
	}
}

// TestMigrationIsOfARelease: a Job cannot be changed, so each release has its own.
func TestMigrationIsOfARelease(t *testing.T) {
	t.Parallel()
	job := find(t, build(t, "production"), "Job", "migrate")
	image, _ := path(job, "spec", "template", "spec", "containers", 0, "image").(string)
	_, tag, _ := strings.Cut(image, ":")
	if name := path(job, "metadata", "name"); tag == "" || name != "migrate-"+tag || path(job, "spec", "ttlSecondsAfterFinished") == nil {
		t.Errorf("the Job %v runs %s", name, image)
	}
}

// TestNightlyBackup: a CronJob writes backups to a volume, and may reach PostgreSQL.
func TestNightlyBackup(t *testing.T) {
	t.Parallel()
	for overlay, address := range map[string]string{"production": "envFrom", "replicated": "postgres-superuser"} {
		objects := build(t, overlay)
		pod := path(find(t, objects, "CronJob", "backup"), "spec", "jobTemplate", "spec", "template")
		container := path(pod, "spec", "containers", 0)
		claim, _ := path(pod, "spec", "volumes", 0, "persistentVolumeClaim", "claimName").(string)
		find(t, objects, "PersistentVolumeClaim", claim)
		if fmt.Sprint(path(container, "args")) != "[backup]" || !strings.Contains(fmt.Sprint(container), address) ||
			path(container, "env", 0, "value") != path(container, "volumeMounts", 0, "mountPath") {
			t.Errorf("%s: %v", overlay, container)
		}
		policies := []string{"backend"}
		if overlay == "replicated" {
			policies = append(policies, "postgres")
		}
		for _, policy := range policies {
			if allowed := fmt.Sprint(find(t, objects, "NetworkPolicy", policy)); !strings.Contains(allowed, fmt.Sprint(path(pod, "metadata", "labels", "app.kubernetes.io/component"))) {
				t.Errorf("%s: the policy %s does not allow it: %s", overlay, policy, allowed)
			}
		}
	}
}

// TestBackendWaitsForMigration: a new backend starts once the Job has migrated the database, with the same address
// of the database as that Job.
func TestBackendWaitsForMigration(t *testing.T) {
	t.Parallel()
	for _, overlay := range []string{"production", "replicated"} {
		objects := build(t, overlay)
		first := path(find(t, objects, "Deployment", "backend"), "spec", "template", "spec", "initContainers", 0)
		job := path(find(t, objects, "Job", "migrate"), "spec", "template", "spec", "containers", 0)
		if fmt.Sprint(path(first, "args")) != "[migrate --wait]" || path(first, "image") != path(job, "image") {
			t.Errorf("%s: it begins with %v", overlay, first)
		}
		for _, same := range []string{"env", "envFrom", "volumeMounts"} {
			if a, b := fmt.Sprint(path(first, same)), fmt.Sprint(path(job, same)); a != b {
				t.Errorf("%s: %s is %s, and %s for the Job", overlay, same, a, b)
			}
		}
	}
}

// TestDashboardsAreLoaded: each dashboard is in a ConfigMap that Grafana's sidecar loads.
func TestDashboardsAreLoaded(t *testing.T) {
	t.Parallel()
	objects := build(t, "production")
	files, err := filepath.Glob("../../observability/dashboards/*.json")
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		configMap := find(t, objects, "ConfigMap", "kith-dashboard-"+name)
		if path(configMap, "metadata", "labels", "grafana_dashboard") != "1" || path(configMap, "data", name+".json") == nil {
			t.Errorf("%s is not loaded", name)
		}
	}
}

// TestNetworkLetsThrough: network policies allow traces to a collector, requests of the ingress controller, scrapes of
// Prometheus, and PgBouncer. They select namespaces by the label that Kubernetes sets itself. The ingress accepts files as large as imports.
func TestNetworkLetsThrough(t *testing.T) {
	t.Parallel()
	objects := build(t, "production")
	for _, name := range []string{"edge", "backend"} {
		ports := fmt.Sprint(path(find(t, objects, "NetworkPolicy", name), "spec", "egress"))
		if !strings.Contains(ports, "port:4318") {
			t.Errorf("%s cannot send traces: %s", name, ports)
		}
		from := fmt.Sprint(path(find(t, objects, "NetworkPolicy", name), "spec", "ingress"))
		if !strings.Contains(from, "kubernetes.io/metadata.name:monitoring") || strings.Contains(from, "kith.example") {
			t.Errorf("%s cannot be scraped: %s", name, from)
		}
	}
	if from := fmt.Sprint(path(find(t, objects, "NetworkPolicy", "edge"), "spec", "ingress")); !strings.Contains(from, "kubernetes.io/metadata.name:ingress-nginx") {
		t.Errorf("the ingress controller cannot reach an edge: %s", from)
	}
	if to := fmt.Sprint(path(find(t, objects, "NetworkPolicy", "backend"), "spec", "egress")); !strings.Contains(to, "port:6432") {
		t.Errorf("a backend cannot use PgBouncer: %s", to)
	}
	const file, form = 10, 1 // MiB
	size, _ := path(find(t, objects, "Ingress", "kith"), "metadata", "annotations", "nginx.ingress.kubernetes.io/proxy-body-size").(string)
	if got, err := strconv.Atoi(strings.TrimSuffix(size, "m")); err != nil || got < file+form {
		t.Errorf("the ingress limits bodies to %q", size)
	}
}
