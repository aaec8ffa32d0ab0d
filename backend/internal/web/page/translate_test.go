package page

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/kith-crm/kith/proto/catalog"
)

// templateSources returns every template of the pages, by its path.
func templateSources(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, pattern := range []string{"templates/*.html", "../templates/*.html", "../*/templates/*.html"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			source, err := os.ReadFile(file) //nolint:gosec // a file of this repository
			if err != nil {
				t.Fatal(err)
			}
			out[file] = string(source)
		}
	}
	if len(out) < 40 {
		t.Fatalf("found %d templates", len(out))
	}
	return out
}

func TestTranslateTemplate(t *testing.T) {
	t.Parallel()
	texts := map[string]string{
		"Ask <1>the owner</1> of <2>{{.Name}}</2>.":        "<2>{{.Name}}</2>: <1>Inhaber</1> fragen.",
		"{{.N}} {{if eq .N 1}}person{{else}}people{{end}}": "{{.N}} {{if eq .N 1}}Person{{else}}Personen{{end}}",
		"Nobody.":                   "Niemand.",
		"Undo<1> what was done</1>": "Rückgängig<1>: was getan wurde</1>",
		"Search people":             "Personen suchen",
		"Remove {{.Name}}":          "{{.Name}} entfernen",
		"One{{with .More}} and {{.}} more{{end}}": "Eine{{with .More}} und {{.}} weitere{{end}}",
		"Line<1>break": "Zeilen<1>umbruch",
		"First":        "Erster",
		"Second":       "Zweiter",
	}
	for template, want := range map[string]string{
		`<p>Ask <a href="{{.Path}}">the owner</a> of <bdi>{{.Name}}</bdi>.</p>`:                                   `<p><bdi>{{.Name}}</bdi>: <a href="{{.Path}}">Inhaber</a> fragen.</p>`,
		`{{if .N}}<p class="x">{{.N}} {{if eq .N 1}}person{{else}}people{{end}}</p>{{else}}<p>Nobody.</p>{{end}}`: `{{if .N}}<p class="x">{{.N}} {{if eq .N 1}}Person{{else}}Personen{{end}}</p>{{else}}<p>Niemand.</p>{{end}}`,
		"<button>Undo<span class=\"hidden\"> what was done</span></button>":                                       `<button>Rückgängig<span class="hidden">: was getan wurde</span></button>`,
		`<input{{if .X}} a="b>"{{end}} placeholder="Search people" value="Search people">`:                        `<input{{if .X}} a="b>"{{end}} placeholder="Personen suchen" value="Search people">`,
		`<a aria-label="Remove {{.Name}}">{{.Name}}</a>`:                                                          `<a aria-label="{{.Name}} entfernen">{{.Name}}</a>`,
		`<p>{{template "x" .}} One{{with .More}} and {{.}} more{{end}} </p>`:                                      `<p>{{template "x" .}} Eine{{with .More}} und {{.}} weitere{{end}} </p>`,
		"<p>Line<br>break</p>": "<p>Zeilen<br>umbruch</p>",
		"<a href=x>{{if .A}}<svg></svg>First{{end}}</a>{{define \"y\"}}Second{{end}}": "<a href=x>{{if .A}}<svg></svg>Erster{{end}}</a>{{define \"y\"}}Zweiter{{end}}",
		"<p>Unknown text stays.</p>": "<p>Unknown text stays.</p>",
	} {
		got := translateTemplate(template, func(english string) string {
			if text, ok := texts[english]; ok {
				return text
			}
			return english
		})
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", template, got, want)
		}
	}
}

// TestTemplatesUntranslated: without a catalogue a template stays as it is.
func TestTemplatesUntranslated(t *testing.T) {
	t.Parallel()
	for file, source := range templateSources(t) {
		if translateTemplate(source, func(english string) string { return english }) != source {
			t.Errorf("%s changed", file)
		}
	}
}

// part matches what a translation must keep: an action of a template, a numbered element, or a verb of package fmt.
var part = regexp.MustCompile(`\{\{.*?\}\}|</?\d+>|%(?:\[\d+\])?[a-z]`)

// kept returns what a translation of a text must keep, sorted. Texts within an action may differ.
func kept(text string) []string {
	parts := part.FindAllString(text, -1)
	for i, p := range parts {
		p = regexp.MustCompile(`"[^"]*"`).ReplaceAllString(p, `""`)
		parts[i] = regexp.MustCompile(`%\[\d+\]`).ReplaceAllString(p, "%")
	}
	slices.Sort(parts)
	return parts
}

// TestCatalogues: every text of every template has a translation into every language, which keeps its actions and
// elements, and every translated template can be parsed.
func TestCatalogues(t *testing.T) {
	t.Parallel()
	languages, err := catalogues()
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range languages {
		used := map[string]bool{}
		for file, source := range templateSources(t) {
			for _, english := range textsOf(source) {
				used[english] = true
				if _, ok := w.texts[english]; !ok {
					t.Errorf("%s: %s lacks %q", w.tag, file, english)
				}
			}
		}
		for english, file := range scriptTexts(t) {
			if w.texts[english] == "" {
				t.Errorf("%s: %s lacks %q", w.tag, file, english)
			}
		}
		for _, c := range catalog.Clients(catalog.AddressMark) {
			if w.texts[c.Steps] == "" {
				t.Errorf("%s: the steps of %s are missing: %q", w.tag, c.Name, c.Steps)
			}
		}
		for _, english := range summaries() {
			if w.texts[english] == "" {
				t.Errorf("%s: the sentence of a change %q is missing", w.tag, english)
			}
		}
		for english, file := range codeTexts(t) {
			if w.text(english) == english && w.texts[english] == "" {
				t.Errorf("%s: %s lacks %q", w.tag, file, english)
			}
		}
		for english, text := range w.texts {
			if strings.ContainsAny(english, "<{") && !used[english] {
				t.Errorf("%s: no template has %q", w.tag, english)
			}
			if !slices.Equal(kept(english), kept(text)) {
				t.Errorf("%s: %q keeps other parts than %q", w.tag, text, english)
			}
			if strings.TrimSpace(text) != text || text == "" {
				t.Errorf("%s: %q is %q", w.tag, english, text)
			}
		}
		var folders []fs.FS
		for _, folder := range []string{"..", "../connect", "../contacts", "../grouping", "../importing", "../network", "../review", "../today"} {
			folders = append(folders, os.DirFS(folder))
		}
		if _, err := parsePages(folders, w); err != nil {
			t.Errorf("%s: %v", w.tag, err)
		}
	}
}

// scriptTexts returns the texts of the scripts, with the file that they are in.
func scriptTexts(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	files, err := filepath.Glob("assets/*.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file) //nolint:gosec // a file of this repository
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range scriptText.FindAllStringSubmatch(string(source), -1) {
			out[strings.Trim(found[1], `"`)] = file
		}
	}
	if len(out) < 20 {
		t.Fatalf("found %d texts in %d scripts", len(out), len(files))
	}
	return out
}

// codeTexts returns the texts in the code of the pages that a catalogue has to translate, with the file that they are in:
// values of the fields that templates translate, and arguments of the functions that show a text.
func codeTexts(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, pattern := range []string{"*.go", "../*.go", "../*/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") || strings.Contains(file, "webtest") {
				continue
			}
			tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(tree, func(n ast.Node) bool {
				for _, text := range shown(n) {
					if strings.ContainsFunc(text, unicode.IsLetter) && !strings.ContainsAny(text, "/<") {
						out[text] = file
					}
				}
				return true
			})
		}
	}
	return out
}

// shown returns the texts of a node of code that are shown on pages.
func shown(n ast.Node) []string {
	var values []ast.Expr
	switch n := n.(type) {
	case *ast.KeyValueExpr:
		if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Lines" { // of an email
			if lines, ok := n.Value.(*ast.CompositeLit); ok {
				values = append(values, lines.Elts...)
			}
		}
		if key, ok := n.Key.(*ast.Ident); ok && slices.Contains([]string{"Label", "Title", "Hint", "Message", "Subject", "Button", "Close"}, key.Name) {
			values = append(values, n.Value)
		}
	case *ast.CallExpr:
		name := ""
		switch f := n.Fun.(type) {
		case *ast.SelectorExpr:
			name = f.Sel.Name
		case *ast.Ident:
			name = f.Name
		}
		switch {
		case slices.Contains([]string{"Text", "Refuse", "RenderProblem"}, name):
			values = n.Args
		case name == "Add" && len(n.Args) == 2:
			values = n.Args[1:]
		}
	case *ast.CompositeLit:
		values = listed(n)
	case *ast.ValueSpec:
		if len(n.Names) == 1 && n.Names[0].Name == "notices" {
			for _, e := range n.Values[0].(*ast.CompositeLit).Elts {
				values = append(values, e.(*ast.KeyValueExpr).Value)
			}
		}
	}
	var out []string
	for _, v := range values {
		if text, ok := constant(v); ok {
			out = append(out, text)
		}
	}
	return out
}

// listed returns the values of a literal of a link or an option without the names of its fields, and of the labels
// of fields.
func listed(n *ast.CompositeLit) (values []ast.Expr) {
	named := func(e ast.Expr) string {
		switch e := e.(type) {
		case *ast.Ident:
			return e.Name
		case *ast.SelectorExpr:
			return e.Sel.Name
		}
		return ""
	}
	of := named(n.Type)
	if list, ok := n.Type.(*ast.ArrayType); ok {
		of = named(list.Elt)
	}
	if !slices.Contains([]string{"Section", "Link", "Option", "notice"}, of) {
		return nil
	}
	for _, e := range n.Elts {
		if inner, ok := e.(*ast.CompositeLit); ok && inner.Type == nil {
			values = append(values, inner.Elts...)
		} else {
			values = append(values, e)
		}
	}
	return values
}

// constant returns the text of an expression of string literals.
func constant(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		first, ok := constant(e.X)
		second, also := constant(e.Y)
		return first + second, ok && also
	}
	return "", false
}

// TestSummary: the sentence of a change is shown in the language, with the words of the member as they are.
func TestSummary(t *testing.T) {
	t.Parallel()
	german := Format{words: wordsOf("de")}
	for english, want := range map[string]string{
		"Added Ada Stone": "Ada Stone hinzugefügt", "Added a note": "Notiz hinzugefügt", "Logged: meeting": "Eingetragen: Treffen", "Undid: Deleted Ada": "Rückgängig gemacht: Ada gelöscht",
		"Redid: Undid: Logged: call": "Wiederhergestellt: Rückgängig gemacht: Eingetragen: Anruf", "Merged the group A into B": "Gruppe A mit B zusammengeführt",
		"Changed the tags of 12 people": "Schlagwörter von 12 Personen geändert", "Added a reminder: call": "Erinnerung hinzugefügt: call", "delete Emeka %s": "Emeka %s löschen",
		"Merged Ann into Anna": "Ann mit Anna zusammengeführt", "From the calendar Work: 3 logged, 1 removed": "Aus dem Kalender Work: 3 eingetragen, 1 entfernt", "Said nothing that is known": "Said nothing that is known", "": "",
	} {
		if got := german.Summary(english); got != want {
			t.Errorf("%q is %q, not %q", english, got, want)
		}
		if got := (Format{}).Summary(english); got != english {
			t.Errorf("%q is %q in English", english, got)
		}
	}
}
