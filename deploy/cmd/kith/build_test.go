package main

import (
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"testing"
)

func TestBuildOf(t *testing.T) {
	t.Parallel()
	const hash = "0123456789abcdef0123456789abcdef01234567"
	vcs := []debug.BuildSetting{{Key: "vcs.revision", Value: hash}, {Key: "vcs.time", Value: "2026-11-22T10:00:00Z"}, {Key: "vcs.modified", Value: "true"}}
	for name, c := range map[string]struct {
		linked build
		info   debug.BuildInfo
		want   string
	}{
		"make build":         {build{"1.4.0", hash, "2026-11-20T09:00:00Z", "go1"}, debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: vcs}, "kith 1.4.0 (commit 0123456789ab, 2026-11-20T09:00:00Z) go1"},
		"make build, no tag": {build{"", hash, "2026-11-20T09:00:00Z", "go1"}, debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "kith dev+0123456789ab (commit 0123456789ab, 2026-11-20T09:00:00Z) go1"},
		"go install":         {build{Go: "go1"}, debug.BuildInfo{Main: debug.Module{Version: "v1.4.0"}}, "kith 1.4.0 go1"},
		"go build":           {build{Go: "go1"}, debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: vcs}, "kith dev+0123456789ab.dirty (commit 0123456789ab, 2026-11-22T10:00:00Z) go1"},
		"nothing is known":   {build{Go: "go1"}, debug.BuildInfo{}, "kith dev go1"},
		"a commit, no date":  {build{Version: "1.4.0", Commit: "abc", Go: "go1"}, debug.BuildInfo{}, "kith 1.4.0 (commit abc, date unknown) go1"},
	} {
		if got := buildOf(c.linked, &c.info).String(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestBuildsAreStamped: `make build`, `make run` and the image hand version, commit and
// date to the linker, by the names that the program reads.
func TestBuildsAreStamped(t *testing.T) {
	t.Parallel()
	for _, target := range []string{"build", "run"} {
		out, err := exec.CommandContext(t.Context(), "make", "-n", "-C", "../../..", target, "VERSION=9.8.7", "COMMIT=abc", "DATE=today").Output()
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(out), "-X main.buildVersion=9.8.7 -X main.buildCommit=abc -X main.buildDate=today") {
			t.Errorf("make %s stamps nothing:\n%s", target, out)
		}
	}
	image, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(image), `make build OUT=/out/kith VERSION="$VERSION" COMMIT="$COMMIT" DATE="$DATE"`) {
		t.Error("the image's build is not stamped")
	}
}
