package manifests

import (
	"bufio"
	"os"
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
				t.Errorf("%s mounts what is not there: %v", name, err)
			}
		}
	}
}

// TestComposeNeedsSecrets: with a secret left empty nothing starts.
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

// settings are those of the example, with something for each that is left empty.
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
