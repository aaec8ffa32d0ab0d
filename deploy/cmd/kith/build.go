package main

import (
	"cmp"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/kith-crm/kith/observability/metrics"
)

// Set by the linker (`make build`): the version without a v in front, the full hash
// of the commit, and its date in RFC 3339.
var buildVersion, buildCommit, buildDate string

// build describes the running build. Everything that shows a version reads it here.
type build struct{ Version, Commit, Date, Go string }

// thisBuild returns the values that the linker set, or else those that the Go command
// recorded about the module and its repository.
func thisBuild() build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return buildOf(build{buildVersion, buildCommit, buildDate, runtime.Version()}, info)
}

// buildOf completes a build from the Go command's build information. A build without a
// version is "dev", with its commit if that is known.
func buildOf(b build, info *debug.BuildInfo) build {
	recorded := map[string]string{}
	for _, s := range info.Settings {
		recorded[s.Key] = s.Value
	}
	b.Commit, b.Date = cmp.Or(b.Commit, recorded["vcs.revision"]), cmp.Or(b.Date, recorded["vcs.time"])
	if b.Version == "" && info.Main.Version != "(devel)" {
		b.Version = strings.TrimPrefix(info.Main.Version, "v")
	}
	if b.Version == "" {
		b.Version = "dev"
		if b.Commit != "" {
			b.Version += "+" + b.short()
		}
		if recorded["vcs.modified"] == "true" {
			b.Version += ".dirty"
		}
	}
	return b
}

// short returns the first 12 characters of the commit's hash.
func (b build) short() string { return b.Commit[:min(12, len(b.Commit))] }

// String returns the output of `kith version`.
func (b build) String() string {
	text := "kith " + b.Version
	if b.Commit != "" {
		text += fmt.Sprintf(" (commit %s, %s)", b.short(), cmp.Or(b.Date, "date unknown"))
	}
	return text + " " + b.Go
}

// metric returns the labels of kith_build_info.
func (b build) metric() metrics.BuildInfo {
	return metrics.BuildInfo{Version: b.Version, Revision: b.Commit, Date: b.Date, GoVersion: b.Go}
}

// attributes returns the build for the first line of the log.
func (b build) attributes() slog.Attr {
	return slog.Group("build", "version", b.Version, "commit", b.Commit, "date", b.Date, "go", b.Go)
}
