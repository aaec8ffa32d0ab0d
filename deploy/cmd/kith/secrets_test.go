package main

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// secretSettings are the variables of the settings that are secrets.
func secretSettings(t *testing.T) (variables []string) {
	t.Helper()
	for field := range reflect.TypeFor[settings]().Fields() {
		variable := field.Tag.Get("env")
		_, secret := field.Tag.Lookup("secret")
		if !secret && regexp.MustCompile(`_(TOKEN|SECRET|KEY|PASSWORD)$`).MatchString(variable) && !strings.Contains(field.Tag.Get("help"), "PEM") && !strings.Contains(variable, "TLS") {
			t.Errorf("%s is named like a secret but is not one", variable)
		}
		if secret {
			variables = append(variables, variable)
		}
	}
	if len(variables) < 6 {
		t.Fatalf("only %d settings are secrets: %v", len(variables), variables)
	}
	return variables
}

// TestSecretsFromFiles: each secret can be read from a file, and its value is not printed.
func TestSecretsFromFiles(t *testing.T) {
	t.Parallel()
	for _, variable := range secretSettings(t) {
		file := filepath.Join(t.TempDir(), "secret")
		write(t, file, "postgres://kith:hunter2-of-the-file@db/kith\r\n\n")
		var s settings
		if err := s.readSecrets(environ{variable + "_FILE": file}.get); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(flat(s), "hunter2-of-the-file@db/kith ") {
			t.Errorf("%s: the file was not read, or its final newline was not removed: %s", variable, flat(s))
		}
		s.Addr = ":9"
		var printed bytes.Buffer
		if err := s.print(&printed); err != nil || strings.Contains(printed.String(), "hunter2") {
			t.Errorf("%s is printed: %v\n%s", variable, err, printed.String())
		}
		empty := filepath.Join(t.TempDir(), "empty")
		write(t, empty, "\n")
		for name, refused := range map[string]environ{
			"both":    {variable: "hunter2-of-the-variable", variable + "_FILE": file},
			"missing": {variable + "_FILE": file + ".none"},
			"empty":   {variable + "_FILE": empty},
			"folder":  {variable + "_FILE": t.TempDir()},
		} {
			err := s.readSecrets(refused.get)
			if err == nil || !strings.Contains(err.Error(), variable+"_FILE") || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s, %s: %v", variable, name, err)
			}
		}
	}
}

// TestSecretsHaveNoFlag: a command line with a secret is refused, however it is written, and
// the error does not repeat the secret.
func TestSecretsHaveNoFlag(t *testing.T) {
	t.Parallel()
	for _, variable := range secretSettings(t) {
		flag := "--" + strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(variable, "KITH_"), "_", "-"))
		for _, args := range [][]string{{"config", flag + "=hunter2-in-the-open"}, {flag, "hunter2-in-the-open", "config"}} {
			var out, errOut bytes.Buffer
			if code := run(t.Context(), args, strings.NewReader(""), &out, &errOut); code == 0 {
				t.Errorf("%v runs", args)
			}
			if strings.Contains(out.String()+errOut.String(), "hunter2") {
				t.Errorf("%v: %s%s", args, out.String(), errOut.String())
			}
		}
	}
}

// TestDatabaseDefault: without a variable the database is a file beside the program.
func TestDatabaseDefault(t *testing.T) {
	t.Parallel()
	var s settings
	if err := s.readSecrets(environ{}.get); err != nil || s.DatabaseURL != "./kith-data/kith.db" || s.Service != "" {
		t.Errorf("%q, %q: %v", s.DatabaseURL, s.Service, err)
	}
	if err := s.readSecrets(environ{"KITH_DATABASE_URL": ""}.get); err != nil || s.DatabaseURL != "" {
		t.Errorf("an empty variable became %q: %v", s.DatabaseURL, err)
	}
}

type environ map[string]string

func (e environ) get(name string) (string, bool) {
	value, set := e[name]
	return value, set
}

// flat returns all settings as text, each with a space after it.
func flat(s settings) string {
	var all strings.Builder
	for _, value := range reflect.ValueOf(s).Fields() {
		if value.Kind() == reflect.String {
			all.WriteString(value.String() + " ")
		}
	}
	return all.String()
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
