// Command zones writes the names of all time zones, from the zoneinfo.zip of Go, to a
// file: zones zoneinfo.zip zones.txt
package main

import (
	"archive/zip"
	"fmt"
	"os"
	"slices"
	"strings"
)

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(archive, file string) error {
	r, err := zip.OpenReader(archive)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	var names []string
	for _, f := range r.File {
		if !strings.HasSuffix(f.Name, "/") && f.Name != "Factory" { // the zone of a machine that was never set up
			names = append(names, f.Name+"\n")
		}
	}
	slices.Sort(names)
	return os.WriteFile(file, []byte(strings.Join(names, "")), 0o600)
}
