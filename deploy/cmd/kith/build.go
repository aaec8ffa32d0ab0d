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

// build says which build of kith runs: everything that tells a version takes it from
// here.
type build struct{ Version, Commit, Date, Go string }

// thisBuild is what the linker was told, or else what the Go command noted about the
// module and its repository.
func thisBuild() build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return buildOf(build{buildVersion, buildCommit, buildDate, runtime.Version()}, info)
}

// buildOf completes a build from what the Go command noted. A build without a version
// is "dev", with its commit where that is known.
func buildOf(b build, info *debug.BuildInfo) build {
	noted := map[string]string{}
	for _, s := range info.Settings {
		noted[s.Key] = s.Value
	}
	b.Commit, b.Date = cmp.Or(b.Commit, noted["vcs.revision"]), cmp.Or(b.Date, noted["vcs.time"])
	if b.Version == "" && info.Main.Version != "(devel)" {
		b.Version = strings.TrimPrefix(info.Main.Version, "v")
	}
	if b.Version == "" {
		b.Version = "dev"
		if b.Commit != "" {
			b.Version += "+" + b.short()
		}
		if noted["vcs.modified"] == "true" {
			b.Version += ".dirty"
		}
	}
	return b
}

// short is enough of the commit's hash to find it by.
func (b build) short() string { return b.Commit[:min(12, len(b.Commit))] }

// String is what `kith version` prints.
func (b build) String() string {
	text := "kith " + b.Version
	if b.Commit != "" {
		text += fmt.Sprintf(" (commit %s, %s)", b.short(), cmp.Or(b.Date, "date unknown"))
	}
	return text + " " + b.Go
}

// metric is the build as kith_build_info has it.
func (b build) metric() metrics.BuildInfo {
	return metrics.BuildInfo{Version: b.Version, Revision: b.Commit, Date: b.Date, GoVersion: b.Go}
}

// attributes are the build in the first line of a log.
func (b build) attributes() slog.Attr {
	return slog.Group("build", "version", b.Version, "commit", b.Commit, "date", b.Date, "go", b.Go)
}
