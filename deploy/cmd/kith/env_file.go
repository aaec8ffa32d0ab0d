package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// defaultEnvFile is where the systemd unit and the commands of operators find the settings of the service.
const defaultEnvFile = "/etc/kith/kith.env"

// readEnvFile sets the environment variables of the file that --env-file or KITH_ENV_FILE names, or else of
// defaultEnvFile if it exists. Variables that are set already stay. An empty name means no file.
func readEnvFile(args []string) error {
	path, named := os.LookupEnv("KITH_ENV_FILE")
	for i, arg := range args {
		if value, ok := strings.CutPrefix(arg, "--env-file="); ok {
			path, named = value, true
		} else if arg == "--env-file" && i+1 < len(args) {
			path, named = args[i+1], true
		}
	}
	if !named {
		path = defaultEnvFile
	}
	if path == "" {
		return nil
	}
	file, err := os.Open(path)
	if !named && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if errors.Is(err, fs.ErrPermission) && !named {
		if needsNothing(args) {
			return nil
		}
		return fmt.Errorf("the settings of the service are in %s, which you cannot read: run the command with sudo, or set KITH_ENV_FILE to another file", path)
	}
	if err != nil {
		return fmt.Errorf("read the settings: %w", err)
	}
	defer func() { _ = file.Close() }()
	variables, err := parseEnvFile(file)
	if err != nil {
		return fmt.Errorf("read the settings in %s: %w", path, err)
	}
	for name, value := range variables {
		if _, set := os.LookupEnv(name); set {
			continue
		}
		if err := os.Setenv(name, value); err != nil {
			return fmt.Errorf("read the settings in %s: %w", path, err)
		}
	}
	return nil
}

// needsNothing reports whether a command line needs no settings.
func needsNothing(args []string) bool {
	return len(args) == 0 || args[0] == "version" || args[0] == "man" || slices.Contains(args, "--help") || slices.Contains(args, "-h")
}

// parseEnvFile reads lines NAME=value as the EnvironmentFile of systemd.exec(5) has them: comments begin with #
// or ; at the begin of a line, and a value may be in quotes. Libraries for .env files also cut values at a # and
// expand $, which would change passwords.
func parseEnvFile(in io.Reader) (map[string]string, error) {
	variables := map[string]string{}
	lines := bufio.NewScanner(in)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || name == "" || strings.ContainsAny(name, " \t\"'") {
			return nil, fmt.Errorf("line %d is not NAME=value", n)
		}
		if len(value) > 1 && (value[0] == '"' || value[0] == '\'') && value[0] == value[len(value)-1] {
			value = value[1 : len(value)-1]
		}
		variables[name] = value
	}
	return variables, lines.Err()
}
