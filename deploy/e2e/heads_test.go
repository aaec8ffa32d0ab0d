package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestFilesSayHowToRunThem: the first line of each file of tests is the command that
// runs it alone.
func TestFilesSayHowToRunThem(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*/*_test.go")
	if err != nil || len(files) < 50 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	declared, constraint := regexp.MustCompile(`(?m)^func (Test\w+)\(t `), regexp.MustCompile(`(?m)^//go:build (\w+)$`)
	for _, file := range files {
		area := filepath.Dir(file)
		if area == "ops" || area == "harness" {
			continue // `make e2e-ops` runs the one; the other starts no service
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, found := range declared.FindAllStringSubmatch(string(text), -1) {
			names = append(names, found[1])
		}
		pattern := strings.Join(names, "|")
		if len(names) > 1 {
			pattern = "'" + pattern + "'"
		}
		tags := ""
		if tag := constraint.FindStringSubmatch(string(text)); tag != nil {
			tags = "-tags " + tag[1] + " "
		}
		want := "// Run this file alone: deploy/e2e/with-services.sh go test " + tags + "./deploy/e2e/" + area + " -run " + pattern
		if first, _, _ := strings.Cut(string(text), "\n"); len(names) > 0 && first != want {
			t.Errorf("%s begins with\n%s\nwant\n%s", file, first, want)
		}
	}
}
