package server_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	module   = "github.com/kith-crm/kith/backend/"
	internal = module + "internal/"
)

// needs names, for each package of backend/internal, the packages it is built on. It
// may also import what those are built on, and nothing else of the backend. Packages
// whose name ends in "test" are for tests only and are not listed.
func needs() map[string][]string {
	return map[string][]string{
		// Leaves.
		"civil": nil, "civil/cmd/zones": nil, "web/page/cmd/icons": nil, "fault": nil, "id": nil, "mail": nil, "periodic": nil, "tenant": nil, "text": nil,
		"account/password": {"fault"},
		"account/totp":     nil,
		"qrcode":           nil,
		"account/passkey":  {"account"},
		"secretkey":        {"fault"}, // encrypts what must be read again, with a key outside the database
		"cursor":           {"fault"},
		"content":          {"fault"}, // lines of vCard and iCalendar
		"calendar":         {"content", "text"},
		"outbound":         nil, // connections to addresses that others choose
		"people/names":     {"text"},
		"people/cadence":   {"civil"},
		"country":          {"text"},
		"search/vector":    {"text"},
		"search/index":     {"country", "people/cadence", "people/names"}, // in memory, without SQL: people and timeline mark what changed in it
		"rpc/arguments":    {"id", "text"},

		"db":        {"fault", "id", "tenant"},
		"wordindex": {"db", "search/index"},    // the words of entries, in tables: people and timeline mark what changed in it
		"call":      {"civil", "cursor", "db"}, // messages of all tools: pages, timestamps, the caller; what a call writes
		"history":   {"call", "text"},          // below the features: each brings its own Restorer

		// The account and what is paid for.
		"account":         {"history", "periodic"},
		"billing":         {"account"},
		"idempotency":     {"billing"}, // a call's key is stored with its price
		"job":             {"billing"}, // a job's units are paid for as it works
		"decision":        {"job"},     // a decision has a job
		"oauth":           {"idempotency", "oauth/clientdoc"},
		"oauth/clientdoc": {"fault", "outbound"}, // fetches a client's metadata document
		"oauth/signin":    {"account"},

		// Features.
		"people":    {"history", "search/index", "wordindex"},
		"groups":    {"people"},
		"photos":    {"people"},
		"reminders": {"people", "sources"},
		"views":     {"db", "text"},
		"timeline":  {"people"},
		"search":    {"groups", "job", "search/vector"},
		"insights":  {"search", "sources", "timeline"},
		"export":    {"content", "decision", "groups", "oauth", "oauth/signin", "photos", "reminders", "timeline", "views"},

		"importer/source": {"export"}, // reads the lossless export
		"importer":        {"importer/source", "job"},

		// Packages that use several features.
		"kinds":     {"account", "groups", "reminders", "timeline"},
		"demo":      {"importer"},
		"retention": {"dav"},
		// whole accounts, table by table: of the features it knows the rules of their columns
		"move":   {"account", "account/password", "billing", "digest", "people", "reminders"},
		"sunset": {"call", "db"},
		"digest": {"account", "mail"}, // when digests are sent; package web writes them

		"sources":  {"account", "calendar", "job", "outbound", "secretkey", "timeline"}, // calendars that are read again and again
		"books":    {"dav"},                                                             // address books that are read again and again
		"dav":      {"importer"},                                                        // people as an address book
		"research": {"account", "insights"},                                             // as documents
		"handlers": {"importer", "research"},                                            // of all features, for rpc and web

		"rpc":           {"demo", "handlers", "rpc/arguments", "sunset"},
		"web":           {"account/passkey", "account/password", "account/totp", "demo", "digest", "qrcode", "secretkey", "web/calendars", "web/connect", "web/contacts", "web/grouping", "web/importing", "web/network", "web/review", "web/today"},
		"web/calendars": {"importer", "sources", "web/page"},
		"web/contacts":  {"handlers", "web/page"},
		"web/grouping":  {"handlers", "web/page"},
		"web/network":   {"handlers", "web/page"},
		"web/importing": {"handlers", "web/page"},
		"web/review":    {"dav", "decision", "groups", "web/page"}, // cards of devices, and an import that waits for approval
		"web/connect":   {"handlers", "web/page"},
		"web/today":     {"dav", "handlers", "sources", "web/page"},
		"web/page":      {"oauth", "photos", "rpc/arguments"},
	}
}

// listed is a package as `go list` prints it.
type listed struct {
	ImportPath, Dir string
	Imports, Deps   []string
	GoFiles         []string
}

func listBackend(t *testing.T) (packages []listed) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Dir,Imports,Deps,GoFiles", internal+"...")
	out, err := command.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

// builtOn returns the packages that one is built on, directly or not.
func builtOn(name string) map[string]bool {
	all := map[string]bool{}
	var add func(string)
	add = func(name string) {
		for _, n := range needs()[name] {
			if !all[n] {
				all[n] = true
				add(n)
			}
		}
	}
	add(name)
	return all
}

// TestPackagesImportWhatTheyAreBuiltOn checks the order of packages: leaves, db,
// history, features, and then rpc and web.
func TestPackagesImportWhatTheyAreBuiltOn(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, p := range listBackend(t) {
		name := strings.TrimPrefix(p.ImportPath, internal)
		if strings.HasSuffix(name, "test") || len(p.GoFiles) == 0 {
			continue
		}
		seen[name] = true
		if _, ok := needs()[name]; !ok {
			t.Errorf("%s is not listed in needs", name)
		}
		allowed := builtOn(name)
		for _, d := range p.Deps {
			to, ours := strings.CutPrefix(d, module)
			if to, ok := strings.CutPrefix(to, "internal/"); ours && (!ok || !allowed[to]) {
				t.Errorf("%s imports %s, itself or through another package", name, to)
			}
		}
		for _, n := range needs()[name] {
			if !slices.Contains(p.Deps, internal+n) {
				t.Errorf("needs lists %s for %s, which does not import it", n, name)
			}
		}
	}
	for name := range needs() {
		if !seen[name] {
			t.Errorf("%s is listed and does not exist", name)
		}
	}
}

// TestOnlyDBKnowsTheDatabases checks that no other package imports a driver or an SQL
// dialect, opens a database or starts a transaction.
func TestOnlyDBKnowsTheDatabases(t *testing.T) {
	t.Parallel()
	drivers := []string{"github.com/jackc/pgx", "github.com/uptrace/bun/dialect", "github.com/uptrace/bun/driver", "modernc.org/sqlite"}
	driver := func(path string) bool {
		return slices.ContainsFunc(drivers, func(d string) bool { return strings.HasPrefix(path, d) })
	}
	drivenByDB := 0
	for _, p := range listBackend(t) {
		name := strings.TrimPrefix(p.ImportPath, internal)
		for _, path := range p.Imports {
			switch {
			case !driver(path):
			case name == "db" || name == "db/dbtest":
				drivenByDB++
			default:
				t.Errorf("%s imports %s", name, path)
			}
		}
		if name == "db" {
			if len(transactions(t, p)) == 0 {
				t.Error("no transaction was found in db: were its files read?")
			}
		} else if name != "db/dbtest" {
			for _, at := range transactions(t, p) {
				t.Errorf("%s opens a database or a transaction", at)
			}
		}
	}
	if drivenByDB == 0 {
		t.Error("no driver was found in db")
	}
}

// transactions returns where a package calls a function that opens a database or
// starts a transaction, or has a statement that does.
func transactions(t *testing.T, p listed) (at []string) {
	t.Helper()
	for _, name := range p.GoFiles {
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if opensTransaction(n) {
				at = append(at, files.Position(n.Pos()).String())
			}
			return true
		})
	}
	return at
}

func opensTransaction(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.SelectorExpr:
		of, _ := n.X.(*ast.Ident)
		opens := of != nil && of.Name == "sql" && (n.Sel.Name == "Open" || n.Sel.Name == "OpenDB")
		return opens || n.Sel.Name == "BeginTx" || n.Sel.Name == "RunInTx"
	case *ast.BasicLit:
		statement := strings.ToUpper(strings.Trim(n.Value, "`\""))
		return statement == "BEGIN" || strings.HasPrefix(statement, "BEGIN ") || strings.HasPrefix(statement, "SAVEPOINT ")
	case *ast.CallExpr: // Begin() of database/sql and bun; an identity provider's Begin has arguments
		of, ok := n.Fun.(*ast.SelectorExpr)
		return ok && of.Sel.Name == "Begin" && len(n.Args) == 0
	}
	return false
}
