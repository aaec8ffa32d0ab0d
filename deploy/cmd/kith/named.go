package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// variable returns the environment variable of a setting that exists once per name: the
// prefix, and the name in upper case.
func variable(prefix, name string) string {
	return prefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// namedSettings returns the values of the variables with the prefix, by name. what is
// what the error calls a name.
func namedSettings(environment []string, prefix, what string, names []string, check func(value string) error) (map[string]string, error) {
	known := map[string]string{}
	for _, name := range names {
		known[variable(prefix, name)] = name
	}
	values := map[string]string{}
	for _, line := range environment {
		key, value, _ := strings.Cut(line, "=")
		if !strings.HasPrefix(key, prefix) || value == "" {
			continue
		}
		name, ok := known[key]
		if !ok {
			return nil, fmt.Errorf("%s is no %s; valid are %s", key, what, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
		if err := check(value); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		values[name] = value
	}
	return values, nil
}

func printNamed(out io.Writer, prefix string, values map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if _, err := fmt.Fprintf(out, "%s=%s\n", variable(prefix, name), values[name]); err != nil {
			return err
		}
	}
	return nil
}
