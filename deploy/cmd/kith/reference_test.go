package main

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	edge "github.com/kith-crm/kith/edge/server"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const referenceHead = `# Configuration

Every setting is an environment variable and, unless it is a secret, also a flag of ` + "`kith`" + ` (` + "`kith serve --help`" + `). Other users of a machine
can read command lines, so a secret has no flag. Instead, it can be in a file that a second variable names, with ` + "`_FILE`" + ` after the first one's name.
` + "`kith config`" + ` prints the current settings with secrets masked. OpenTelemetry's own variables configure traces
([operations](operations.md#traces)). ` + "`make update`" + ` generates this page from the code that reads the settings.

| Setting | Default | Meaning |
|---|---|---|
`

const ratesHead = `
## Rate policies

` + "`KITH_RATE_<POLICY>`" + ` is a number of requests and a window in seconds, such as ` + "`30/60`" + `, or ` + "`off`" + `.

| Setting | Default |
|---|---|
`

const sunsetsHead = `
## Removal of deprecated paths

` + "`KITH_SUNSET_<ROUTE>`" + ` is a date, ` + "`YYYY-MM-DD`" + `. From the beginning of that day in UTC, the deprecated path answers 410. Without a date the path stays. The
edge announces the date when it starts, and does not start if the date is less than 180 days after the first announcement, or earlier than the
date announced before ([operations](operations.md#removing-a-deprecated-path)).

| Setting | Path |
|---|---|
`

// TestReference checks that the page of all settings matches the code.
func TestReference(t *testing.T) {
	t.Parallel()
	const path = "../../docs/configuration.md"
	got := reference(t)
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s does not match the settings: run `make update`", path)
	}
}

func reference(t *testing.T) []byte {
	t.Helper()
	var page bytes.Buffer
	page.WriteString(referenceHead)
	for field := range reflect.TypeFor[settings]().Fields() {
		name, help := field.Tag.Get("env"), field.Tag.Get("help")
		_, secret := field.Tag.Lookup("secret")
		if field.Tag.Get("kong") == "-" && !secret {
			continue // the rate policies and sunsets, below
		}
		if name == "" || help == "" {
			t.Errorf("%s has no explanation", field.Name)
		}
		value := "none"
		if v := field.Tag.Get("default"); v != "" {
			value = "`" + v + "`"
		}
		if strings.Contains(help, "Default:") {
			value = "derived"
		}
		if secret {
			help += " A secret: may be read from `" + name + "_FILE`."
		}
		fmt.Fprintf(&page, "| `%s` | %s | %s |\n", name, value, help)
	}
	page.WriteString(ratesHead)
	limits := edge.DefaultRateLimits()
	for _, policy := range slices.Sorted(maps.Keys(limits)) {
		fmt.Fprintf(&page, "| `%s` | `%s` |\n", variable(ratePrefix, policy), limits[policy])
	}
	page.WriteString(sunsetsHead)
	paths := edge.DeprecatedRoutes()
	for _, name := range slices.Sorted(maps.Keys(paths)) {
		fmt.Fprintf(&page, "| `%s` | `%s` |\n", variable(sunsetPrefix, name), paths[name])
	}
	return page.Bytes()
}
