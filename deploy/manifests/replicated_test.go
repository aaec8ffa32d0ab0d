package manifests

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// TestBackendsAreAddressedOneByOne: the name that edges look up has the address of each ready pod,
// so that they can send all calls of a member to the same one.
func TestBackendsAreAddressedOneByOne(t *testing.T) {
	t.Parallel()
	objects := build(t, "production")
	env, _ := environment(t, objects, "Deployment", "edge")
	address, err := url.Parse(env["KITH_BACKEND_URL"])
	if err != nil {
		t.Fatal(err)
	}
	service := find(t, objects, "Service", address.Hostname())
	if path(service, "spec", "clusterIP") != "None" || path(service, "spec", "publishNotReadyAddresses") != nil {
		t.Errorf("the service %s has one address for all pods, or those of pods that are not ready", address.Hostname())
	}
	if port := fmt.Sprint(path(service, "spec", "ports", 0, "port")); port != address.Port() {
		t.Errorf("edges call port %s, the service has %s", address.Port(), port)
	}
	project := load(t, settings(t))
	host, _, _ := strings.Cut(strings.TrimPrefix(*project.Services["edge-1"].Environment["KITH_BACKEND_URL"], "http://"), ":")
	for _, name := range []string{"backend-1", "backend-2"} {
		if !slices.Contains(project.Services[name].Networks["default"].Aliases, host) {
			t.Errorf("of compose: %s is not among the addresses of %s", name, host)
		}
	}
}

// TestDisruptionBudgets: a drained node takes no more than one pod of edges and backends at a time,
// and CloudNativePG keeps budgets of its own for the database.
func TestDisruptionBudgets(t *testing.T) {
	t.Parallel()
	objects := build(t, "replicated")
	for _, name := range []string{"edge", "backend"} {
		budget := find(t, objects, "PodDisruptionBudget", name)
		pods := path(find(t, objects, "Deployment", name), "spec", "selector", "matchLabels", "app.kubernetes.io/component")
		if fmt.Sprint(path(budget, "spec", "maxUnavailable")) != "1" || path(budget, "spec", "selector", "matchLabels", "app.kubernetes.io/component") != pods {
			t.Errorf("the budget of %s is %v", name, budget["spec"])
		}
	}
	if path(find(t, objects, "Cluster", "postgres"), "spec", "enablePDB") != true {
		t.Error("the database has no disruption budget")
	}
}

// TestReplicatedDatabase: backends and the migration use the cluster's own address and check its
// certificate, their connections fit, and acknowledged writes survive the loss of the primary.
func TestReplicatedDatabase(t *testing.T) {
	t.Parallel()
	objects := build(t, "replicated")
	cluster := find(t, objects, "Cluster", "postgres")
	name := fmt.Sprint(path(cluster, "metadata", "name"))
	for workload, kind := range map[string]string{"backend": "Deployment", "migrate": "Job"} {
		pod := path(find(t, objects, kind, workload), "spec", "template", "spec")
		variables := map[string]any{}
		list, _ := path(pod, "containers", 0, "env").([]any)
		for _, v := range list {
			variables[fmt.Sprint(path(v, "name"))] = v
		}
		if path(variables["KITH_DATABASE_URL"], "valueFrom", "secretKeyRef", "name") != name+"-app" {
			t.Errorf("%s: the address of the database is %v", workload, variables["KITH_DATABASE_URL"])
		}
		file := fmt.Sprint(path(variables["PGSSLROOTCERT"], "value"))
		mount, source := mounted(pod, "postgres-ca")
		if path(variables["PGSSLMODE"], "value") != "verify-full" || file != mount+"/ca.crt" || path(source, "secret", "secretName") != name+"-ca" {
			t.Errorf("%s does not check the certificate of the database: %v in %s", workload, variables, mount)
		}
	}
	key, _ := mounted(path(find(t, objects, "Deployment", "backend"), "spec", "template", "spec"), "secret-key")
	if env, _ := environment(t, objects, "Deployment", "backend"); key == "" || env["KITH_SECRET_KEY_FILE"] != key+"/secret.key" {
		t.Errorf("backends have no secret key at %q", env["KITH_SECRET_KEY_FILE"])
	}
	if most := number(t, path(cluster, "spec", "postgresql", "parameters", "max_connections")); most < maxConnections+3 {
		t.Errorf("the database admits %d connections", most)
	}
	if number(t, path(cluster, "spec", "instances")) < 3 || number(t, path(cluster, "spec", "postgresql", "synchronous", "number")) < 1 ||
		path(cluster, "spec", "postgresql", "synchronous", "dataDurability") != "required" {
		t.Error("a write is acknowledged that only the primary has")
	}
	roles := fmt.Sprint(path(cluster, "spec", "bootstrap", "initdb", "postInitSQL"))
	for _, role := range []string{"CREATE ROLE kith_tenant", "CREATE ROLE kith_service", "GRANT kith_tenant, kith_service TO " + fmt.Sprint(path(cluster, "spec", "bootstrap", "initdb", "owner"))} {
		if !strings.Contains(roles, role) {
			t.Errorf("the database is made without %q", role)
		}
	}
}

// mounted returns where the first container of a pod mounts a volume, empty if it does not, and the volume.
func mounted(pod any, volume string) (at string, source any) {
	volumes, _ := path(pod, "volumes").([]any)
	for _, v := range volumes {
		if path(v, "name") == volume {
			source = v
		}
	}
	mounts, _ := path(pod, "containers", 0, "volumeMounts").([]any)
	for _, m := range mounts {
		if path(m, "name") == volume && source != nil {
			at = fmt.Sprint(path(m, "mountPath"))
		}
	}
	return at, source
}

// TestReplicatedNetwork: all traffic is denied by default, so policies let edges reach Redis,
// backends the database, and the database's pods each other.
func TestReplicatedNetwork(t *testing.T) {
	t.Parallel()
	objects := build(t, "replicated")
	ingress := func(policy string) string {
		return fmt.Sprint(path(find(t, objects, "NetworkPolicy", policy), "spec", "ingress"))
	}
	for _, c := range []struct{ policy, wanted string }{
		{"redis", "app.kubernetes.io/component:edge"}, {"redis", "port:redis"},
		{"postgres", "values:[backend migrate backup]"}, {"postgres", "cnpg.io/cluster:postgres"}, {"postgres", "port:5432"},
	} {
		if got := ingress(c.policy); !strings.Contains(got, c.wanted) {
			t.Errorf("the policy %s has no %s: %s", c.policy, c.wanted, got)
		}
	}
	env, _ := environment(t, objects, "Deployment", "edge")
	address, err := url.Parse(env["KITH_REDIS_URL"])
	if err != nil {
		t.Fatal(err)
	}
	host, _, _ := strings.Cut(address.Hostname(), ".")
	if port := fmt.Sprint(path(find(t, objects, "Service", host), "spec", "ports", 0, "port")); port != address.Port() {
		t.Errorf("edges look for Redis at %s, and the service has port %s", address.Host, port)
	}
}
