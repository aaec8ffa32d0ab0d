package tree_test

import (
	"go/ast"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// oldWords are banned words for names, each with its replacement.
var oldWords = map[string]string{
	"admission": "concurrency limiter", "annals": "timeline", "anybody": "connection", "arm": "union part", "aside": "Release",
	"cast": "resolved people", "culture": "locale", "derived": "cache", "desk": "store", "examine": "check",
	"exchange": "request", "execution": "transaction", "facts": "variables", "finder": "cache", "gate": "Authorizer",
	"hot": "prepared", "journal": "access log", "keyed": "idempotency", "letterbox": "mailbox", "letters": "emails",
	"linger": "batch wait", "manners": "middleware", "nobody": "noop", "organize": "groups", "parting": "shutdown",
	"patience": "timeout", "probe": "match key", "recall": "hybrid search", "recognise": "SetCredential", "refuser": "error writer",
	"roll": "deduper", "somebody": "connection", "touch": "markDirty", "turns": "locked writer", "twin": "duplicate",
	"visit": "request", "widen": "Acquire",
}

// oldPlaces are words that are banned only in the names of a folder or of packages.
var oldPlaces = map[string]*regexp.Regexp{
	"answer":   regexp.MustCompile(`^backend/internal/rpc/(response|transaction|idempotency)`),
	"letter":   regexp.MustCompile(`^backend/internal/(mail|web)/`),
	"content":  regexp.MustCompile(`^package `),
	"day":      regexp.MustCompile(`^package `),
	"identity": regexp.MustCompile(`^package `),
	"limiter":  regexp.MustCompile(`^package `),
	"provider": regexp.MustCompile(`^package `),
	"rows":     regexp.MustCompile(`^package `),
	"stream":   regexp.MustCompile(`^package sandbox`),
	"place":    regexp.MustCompile(`^backend/internal/(reminders|timeline)/.* [A-Z]`),
	"rank":     regexp.MustCompile(`^backend/internal/(reminders|timeline)/.* [A-Z]`),
	"unit":     regexp.MustCompile(`^backend/internal/db/`),
}

// exceptions are names that use a banned word in its usual sense, each with the reason.
var exceptions = map[string]*regexp.Regexp{
	"the specification fixes the name of the contract's package": regexp.MustCompile(`^proto/kith/organize/`),
	"OAuth exchanges a code for tokens (RFC 6749)":               regexp.MustCompile(`^(backend/internal/oauth/|deploy/e2e/harness/grant\.go).*xchange`),
	"a health probe, as operators call it":                       regexp.MustCompile(`^edge/internal/ratelimit/.*[pP]robe`),
	"recall, the measure of search engines":                      regexp.MustCompile(`^backend/internal/search/index/indextest/.*Recall`),
	"letters of an alphabet":                                     regexp.MustCompile(`^(backend/internal/(search|text|account)|deploy/load)/.*[lL]etters`),
}

var (
	word       = regexp.MustCompile(`[A-Za-z]+`)
	camelCase  = regexp.MustCompile(`([a-z])([A-Z])|([A-Z])([A-Z][a-z])`)
	textFile   = regexp.MustCompile(`\.(go|json|ya?ml|md)$|Makefile$`)
	metricName = regexp.MustCompile(`\bkith_[a-z_]+`)
	target     = regexp.MustCompile(`(?m)^([a-z][a-z-]*):`)
)

// TestNamesHaveNoOldWords checks the names of files, packages, metrics and make targets,
// and all that Go files declare: functions, methods, types, fields, constants, variables
// and tests. Local variables and parameters are not checked.
func TestNamesHaveNoOldWords(t *testing.T) {
	t.Parallel()
	excepted := map[string]bool{}
	for name := range declaredNames(t) {
		if reason := exceptionFor(name); reason != "" {
			excepted[reason] = excepted[reason] || len(oldIn(name)) > 0
			continue
		}
		for word, instead := range oldIn(name) {
			t.Errorf("%s: the word %q is banned; see the table in style.md (%s)", name, word, instead)
		}
	}
	for reason := range exceptions {
		if !excepted[reason] {
			t.Errorf("the exception for %q is no longer needed", reason)
		}
	}
}

func exceptionFor(name string) string {
	for reason, pattern := range exceptions {
		if pattern.MatchString(name) {
			return reason
		}
	}
	return ""
}

// oldIn returns the banned words of a name of the form "folder/file.go Name", with their
// replacements.
func oldIn(name string) map[string]string {
	found := map[string]string{}
	// The folders of a file are checked as packages.
	own := name[strings.LastIndex(name, "/")+1:]
	for _, word := range word.FindAllString(camelCase.ReplaceAllString(own, "$1$3 $2$4"), -1) {
		word = strings.ToLower(word)
		if instead, ok := oldWords[word]; ok {
			found[word] = instead
		}
		if place, ok := oldPlaces[word]; ok && place.MatchString(name) {
			found[word] = "old in " + place.String()
		}
	}
	return found
}

// declaredNames returns the names of the tree, each with the file it is in.
func declaredNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	paths, err := files()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		names[path] = true
		if textFile.MatchString(path) && !strings.HasPrefix(path, "deploy/internal/tree/") {
			text, err := os.ReadFile(filepath.Join(root, path))
			if err != nil {
				t.Fatal(err)
			}
			for _, metric := range metricName.FindAllString(string(text), -1) {
				names[path+" "+metric] = true
			}
			if path == "Makefile" {
				for _, m := range target.FindAllStringSubmatch(string(text), -1) {
					names[path+" "+m[1]] = true
				}
			}
		}
	}
	for _, s := range readSources(t) {
		if strings.HasPrefix(s.path, "deploy/internal/tree/") {
			continue
		}
		names["package "+s.file.Name.Name] = true
		for name := range declared(s.file) {
			names[s.path+" "+name] = true
		}
	}
	if len(names) < 10000 {
		t.Fatalf("only %d names were found", len(names))
	}
	return names
}

// declared returns what a file declares outside of functions: with the fields of structs
// and the methods of interfaces.
func declared(file *ast.File) map[string]bool {
	names := map[string]bool{}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			names[f.Name.Name] = true
			continue
		}
		if g, ok := d.(*ast.GenDecl); ok && g.Tok != token.IMPORT {
			ast.Inspect(g, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.TypeSpec:
					names[n.Name.Name] = true
				case *ast.ValueSpec:
					for _, name := range n.Names {
						names[name.Name] = true
					}
				case *ast.Field:
					for _, name := range n.Names {
						names[name.Name] = true
					}
				case *ast.FuncType, *ast.FuncLit:
					return false // parameters and local variables
				}
				return true
			})
		}
	}
	return names
}

func TestOldWordsAreFound(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"backend/internal/rpc/keyed_test.go":                 {"keyed"},
		"edge/server/pipeline.go StepAside":                  {"aside"},
		"package day":                                        {"day"},
		"backend/internal/civil/day.go Day":                  nil,
		"Makefile desk-up":                                   {"desk"},
		"observability/rules/kith.yml kith_turns_total":      {"turns"},
		"backend/internal/db/tx.go Unit":                     {"unit"},
		"backend/internal/web/emails.go writeLetter":         {"letter"},
		"backend/internal/text/fold.go isLetter":             nil,
		"backend/internal/rpc/check.go HTTPGateTwin":         {"gate", "twin"},
		"backend/internal/billing/meter.go aggregateVisitor": nil,
	} {
		if got := slices.Sorted(maps.Keys(oldIn(name))); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
