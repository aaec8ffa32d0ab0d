// Command release packs the binaries of a release: Debian packages, container images and signed checksums. The same
// binaries and date give the same bytes. `make release` runs it.
//
// Its libraries are of no use to the program, so that this is a module of its own, outside the workspace.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// release is what a package says about itself.
type release struct {
	// version is that of Semantic Versioning, without a v.
	version string
	// date is the time of the commit: that of every file.
	date time.Time
	// repository is the folder with the source, from which units and documents are taken.
	repository string
	// arch is the processor, in Go's words, and binary the static program for it.
	arch, binary string
	// printed is a folder with what kith prints: kith.1, by `kith man`, and kith.bash, kith.zsh and kith.fish, by `kith completion`.
	printed string
}

func main() {
	if err := run(os.Args[1:], os.Getenv, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// run does what the first argument says: `deb` and `image` write a file of a binary, `sign` the checksums of a folder.
func run(args []string, env func(string) string, out io.Writer) error {
	var r release
	flags := flag.NewFlagSet("release deb|image|sign", flag.ContinueOnError)
	flags.StringVar(&r.version, "version", "", "version, such as 0.1.0")
	date := flags.String("date", "", "time of the commit, RFC 3339")
	flags.StringVar(&r.repository, "repository", ".", "folder with the source")
	flags.StringVar(&r.arch, "arch", "", "processor: amd64 or arm64")
	flags.StringVar(&r.binary, "binary", "", "static binary for it")
	flags.StringVar(&r.printed, "printed", "", "folder with the manual page and the completions of shells (deb)")
	to := flags.String("to", "", "file to write; for sign the folder")
	if len(args) == 0 {
		return errors.New("say what to make: deb, image or sign")
	}
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if args[0] == "sign" {
		return sign(*to, env("KITH_RELEASE_KEY"), env("KITH_RELEASE_PASSWORD"), out)
	}
	var err error
	if r.date, err = time.Parse(time.RFC3339, *date); err != nil {
		return fmt.Errorf("the date: %w", err)
	}
	r.date = r.date.UTC()
	if r.version == "" || strings.HasPrefix(r.version, "v") {
		return fmt.Errorf("the version %q must be like 0.1.0", r.version)
	}
	switch args[0] {
	case "deb":
		return r.debianPackage(*to)
	case "image":
		return r.image(*to)
	default:
		return fmt.Errorf("%s is none of deb, image and sign", args[0])
	}
}
