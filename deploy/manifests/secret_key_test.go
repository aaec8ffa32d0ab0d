package manifests

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

// TestSecretKeyOutlivesContainers: with compose, one volume holds the secret key: a service makes it before
// the backends start, all of which read the same one, and operators can replace it.
func TestSecretKeyOutlivesContainers(t *testing.T) {
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
	for name, readOnly := range map[string]bool{"secret-key": false, "kith": false, "backend-1": true, "backend-2": true} {
		service := project.Services[name]
		file := service.Environment["KITH_SECRET_KEY_FILE"]
		if file == nil || len(service.Volumes) != 1 {
			t.Errorf("%s has no place for the key: %v", name, service.Volumes)
			continue
		}
		if v := service.Volumes[0]; v.Type != "volume" || v.Source != "keys" || v.Target != filepath.Dir(*file) || v.ReadOnly != readOnly {
			t.Errorf("%s has its key %s in %+v", name, *file, v)
		}
		if wait, ok := service.DependsOn["secret-key"]; readOnly && (!ok || wait.Condition != "service_completed_successfully") {
			t.Errorf("%s starts before there is a key", name)
		}
	}
	if _, ok := project.Volumes["keys"]; !ok || !slices.Equal(project.Services["secret-key"].Command, []string{"secret", "create"}) {
		t.Error("nothing makes the key, or its volume is not named")
	}
	for _, name := range []string{"edge-1", "migrate", "postgres", "backup"} {
		if slices.ContainsFunc(project.Services[name].Volumes, func(v types.ServiceVolumeConfig) bool { return v.Source == "keys" }) {
			t.Errorf("%s can read the key", name)
		}
	}
}

// TestSecretKeyIsASecret: on Kubernetes, the key is a Secret that every backend mounts at the path of the
// setting, and that nothing else does.
func TestSecretKeyIsASecret(t *testing.T) {
	t.Parallel()
	objects := build(t, "production")
	secret := fmt.Sprint(path(find(t, objects, "Secret", "secret-key"), "metadata", "name"))
	env, _ := environment(t, objects, "Deployment", "backend")
	pod := path(find(t, objects, "Deployment", "backend"), "spec", "template", "spec")
	if mounted := path(pod, "volumes", 0, "secret", "secretName"); mounted != secret {
		t.Errorf("backends mount %v, not %s", mounted, secret)
	}
	if dir := path(pod, "containers", 0, "volumeMounts", 0, "mountPath"); dir != filepath.Dir(env["KITH_SECRET_KEY_FILE"]) {
		t.Errorf("it is mounted at %v, and looked for at %s", dir, env["KITH_SECRET_KEY_FILE"])
	}
	if mode, user := path(pod, "volumes", 0, "secret", "defaultMode"), path(pod, "securityContext", "fsGroup"); fmt.Sprint(mode) != "288" || fmt.Sprint(user) != "65532" {
		t.Errorf("mode %v, group %v", mode, user)
	}
	for _, other := range []string{"Deployment edge", "Job migrate"} {
		kind, name, _ := strings.Cut(other, " ")
		if path(find(t, objects, kind, name), "spec", "template", "spec", "volumes") != nil {
			t.Errorf("%s mounts something", other)
		}
	}
}
