package page

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"html"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/kith-crm/kith/backend/internal/civil"
)

//go:embed templates
var templateFiles embed.FS

// Page is what a handler renders; frame adds what every page shows.
type Page struct {
	Title string
	// Section is the path of the settings page; empty on other pages.
	Section string
	// Area is the path of the area of the site that the page belongs to, such as
	// PathPeople; empty for the settings and for pages without navigation.
	Area string
	// Notice says what was just done. Without it the page shows the notice of a redirect.
	Notice string
	// Errors are the form fields with errors.
	Errors []FieldError
	// Script is the name of the page's own script; empty for none. Pages with navigation run
	// the one of the shell as well.
	Script string
	// Content is the data of the page's own template.
	Content any
}

// frame is the data of a template.
type frame struct {
	Page

	// Demo is set on the pages of the demo.
	Demo bool
	// Base is the prefix of the paths of the areas of the site; Home is the address of the first.
	Base, Home       string
	Stylesheet, Icon string
	// Language is that of the texts, as a BCP 47 tag.
	Language string
	// Manifest is the address of the manifest on pages from which browsers install the app;
	// empty on others.
	Manifest string
	// Drafts tells apart the members whose unsaved texts a browser keeps; empty if it keeps none.
	Drafts string
	// Scripts are the addresses of the page's scripts.
	Scripts []string
	// Member is the name of the signed-in member, Zone their time zone; empty if not signed
	// in.
	Member, Zone string
	// Now is the time in the member's zone.
	Now time.Time
	// FormToken is for the page's forms, SessionToken for those that end the session.
	FormToken, SessionToken string
	// Areas of the site and Sections of the settings; each is empty if the page shows none.
	Areas, Sections []Place
	// More are the places in the menu of the member, and Pages the other pages that the palette
	// finds; Me is the member's own avatar, which opens the menu.
	More  []Place
	Pages []Section
	Me    *Avatar
	// Width is the class of the page's width.
	Width string
	// Told are the security events that the member has not seen in this browser, if no mail is sent.
	Told told
	// Undo is the change that the notice offers to undo; it may be empty.
	Undo undoForm
	// MailOn is set if emails can be sent; SignUpOpen if people can create an account
	// themselves.
	MailOn, SignUpOpen bool
}

// parsePages returns a set of templates for each page: the layout, the shared parts and
// the page's own, with their texts in a language.
func parsePages(folders []fs.FS, w *words) (map[string]*template.Template, error) {
	base := template.New("layout").Funcs(Format{}.functions()).Funcs(template.FuncMap{"machine": machine, "both": both, "in": in, "parseDay": parseDay, "address": address, "markdown": Markdown})
	for _, file := range []string{"templates/layout.html", "templates/parts.html"} {
		if err := parsePage(base, templateFiles, file, w); err != nil {
			return nil, err
		}
	}
	pages := map[string]*template.Template{}
	for _, folder := range folders {
		files, err := fs.Glob(folder, "templates/*.html")
		if err != nil {
			return nil, fmt.Errorf("web: list pages: %w", err)
		}
		for _, file := range files {
			set, err := base.Clone()
			if err != nil {
				return nil, fmt.Errorf("web: copy layout: %w", err)
			}
			if err := parsePage(set, folder, file, w); err != nil {
				return nil, err
			}
			pages[strings.TrimSuffix(path.Base(file), ".html")] = set
		}
	}
	return pages, nil
}

// parsePage adds the templates of a file to a set.
func parsePage(set *template.Template, folder fs.FS, file string, w *words) error {
	source, err := fs.ReadFile(folder, file)
	if err == nil {
		_, err = set.New(path.Base(file)).Parse(translateTemplate(string(source), w.text))
	}
	if err != nil {
		return fmt.Errorf("web: parse page %s: %w", file, err)
	}
	return nil
}

// both gives a template two values: the whole page, for the token of its forms, and the value
// that the template shows.
func both(whole, of any) map[string]any { return map[string]any{"Page": whole, "Of": of} }

// functions returns the functions of templates that depend on the member's locale.
func (f Format) functions() template.FuncMap {
	return template.FuncMap{
		"day": f.Day, "weekday": f.Weekday, "weekdayName": func(t time.Time) string { return f.date(t, "Monday") }, "dayElement": f.dayElement, "avatar": Avatar.element,
		"clock": f.Clock, "clockElement": func(t time.Time) template.HTML { return element(t, f.Clock(t)) },
		"ago": func(now, day time.Time) template.HTML { return titled(day, f.Ago(now, day), f.Day(day)) },
		"recent": func(now, t time.Time) template.HTML {
			return titled(t, f.Recent(now, t), f.Clock(t.In(now.Location())))
		},
		"number":   func(n any) string { return f.Number(reflect.ValueOf(n).Int()) },
		"imported": f.imported,
		"label":    f.label,
		"t":        func(english string) string { return f.Text(english) },
	}
}

// label returns the label of an input, an option or a fact, in the language unless it is the member's own.
func (f Format) label(of Labelled) string {
	label, own := of.Labelling()
	if own {
		return label
	}
	return f.Text(label)
}

// dayElement returns the HTML element of a day; "" for the zero time.
func (f Format) dayElement(t time.Time) template.HTML {
	if t.IsZero() {
		return ""
	}
	return element(t, f.Day(t))
}

// element returns the HTML element of a time, for people and for machines.
func element(t time.Time, text string) template.HTML {
	return template.HTML(`<time datetime="` + machine(t) + `">` + html.EscapeString(text) + "</time>") //nolint:gosec // it is escaped
}

// titled is element, and shows the whole date where a pointer rests on it.
func titled(t time.Time, text, whole string) template.HTML {
	if t.IsZero() {
		return ""
	}
	return template.HTML(`<time datetime="` + machine(t) + `" title="` + html.EscapeString(whole) + `">` + html.EscapeString(text) + "</time>") //nolint:gosec // it is escaped
}

// Pages are the templates of the pages, in each language and format that was used. Sites may share them. They are safe for concurrent use.
type Pages struct {
	folders []fs.FS
	mu      sync.Mutex
	// parsed are the pages in each language that was used. They are never executed, because an executed template
	// cannot be copied.
	parsed map[*words]map[string]*template.Template
	ready  map[pageKey]*template.Template
}

type pageKey struct {
	name   string
	format Format
}

// ParsePages returns the pages of the given folders, one templates/*.html for each page.
func ParsePages(folders ...fs.FS) (*Pages, error) {
	if _, err := catalogues(); err != nil {
		return nil, err
	}
	english, err := parsePages(folders, nil)
	return &Pages{folders: folders, parsed: map[*words]map[string]*template.Template{nil: english}, ready: map[pageKey]*template.Template{}}, err
}

// get returns the templates of a page in a format.
func (s *Pages) get(name string, format Format) (*template.Template, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := pageKey{name, format}
	if set := s.ready[key]; set != nil {
		return set, nil
	}
	pages := s.parsed[format.words]
	if pages == nil {
		var err error
		if pages, err = parsePages(s.folders, format.words); err != nil {
			return nil, err
		}
		s.parsed[format.words] = pages
	}
	parsed, ok := pages[name]
	if !ok {
		return nil, fmt.Errorf("there is no page %q", name)
	}
	set, err := parsed.Clone()
	if err != nil {
		return nil, fmt.Errorf("web: copy page: %w", err)
	}
	s.ready[key] = set.Funcs(format.functions())
	return set, nil
}

// address returns the address of a path with one parameter.
func address(path, name, value string) string { return Address(path, url.Values{name: {value}}) }

// parseDay returns the day of a message of the contract; the zero time for none.
func parseDay(day string) time.Time {
	t, _ := time.Parse(time.DateOnly, day)
	return t
}

// in returns a time in the zone with that name, for texts about the member's own settings.
func in(zone string, t time.Time) time.Time { return t.In(civil.Zone(zone)) }

func machine(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Render writes a page. Every page shows who is signed in. It returns nil, as Redirect does, so that a
// handler can end with it.
func (v *Request) Render(status int, name string, p Page) error {
	f := frame{
		Page: p, Demo: v.inDemo(), Base: v.Base, Stylesheet: v.assets.stylesheet.address(), Icon: v.assets.icon.address(),
		Language: v.Format().Language(), MailOn: v.MailOn, SignUpOpen: v.SignUpOpen, Now: v.LocalNow(),
	}
	f.Title = v.Text(p.Title)
	if len(p.Errors) > 0 {
		f.Title = v.Text("Error: %s", f.Title)
	}
	f.FormToken = v.FormToken()
	if v.Login != nil {
		f.Member, f.Zone, f.SessionToken = cmp.Or(v.Login.Name, v.Login.Username), v.Login.Timezone, formToken(v.SessionSecret(v.R))
	}
	if f.Notice == "" && !f.Demo {
		f.Notice, f.Undo = v.notice()
	}
	f.Told = v.told()
	v.addNavigation(&f)
	v.addScripts(&f)
	var buf bytes.Buffer
	set, err := v.pages.get(name, v.Format())
	if err == nil {
		err = set.ExecuteTemplate(&buf, "layout", f)
	}
	if err != nil {
		return v.Broken(err)
	}
	document := buf.Bytes()
	if f.Demo {
		document = turnOff(document, v.Text("Nothing can be changed in the demo."))
	}
	v.W.WriteHeader(status)
	_, _ = v.W.Write(document) // the browser may have disconnected
	return nil
}

// FormToken returns the token of the page's forms; empty if it has none.
func (v *Request) FormToken() string {
	if v.Secret == "" {
		return ""
	}
	return formToken(v.Secret)
}

// RenderPart writes one part of a page, which a script puts in place of the old one.
func (v *Request) RenderPart(name, part string, content any) error {
	var buf bytes.Buffer
	set, err := v.pages.get(name, v.Format())
	if err == nil {
		err = set.ExecuteTemplate(&buf, part, content)
	}
	if err != nil {
		return v.Broken(err)
	}
	_, _ = v.W.Write(buf.Bytes()) // the browser may have disconnected
	return nil
}

// addScripts adds the scripts of a page: its own, and that of the shell, which installs the
// service worker on pages of members, and the one that keeps their unsaved texts.
func (v *Request) addScripts(f *frame) {
	var names []string
	if len(f.Areas) > 0 {
		names = append(names, scriptShell)
		if !f.Demo {
			f.Manifest = v.assets.manifest.address()
		}
		if !f.Demo && v.Login != nil {
			names, f.Drafts = append(names, scriptDrafts), string(v.Login.MemberID)
		}
	}
	if f.Script != "" {
		names = append(names, f.Script)
	}
	if f.Script == ScriptPerson || f.Script == ScriptCapture { // they have fields that name people
		names = append(names, scriptSuggest)
	}
	for _, name := range names {
		f.Scripts = append(f.Scripts, v.assets.scripts[name].in(v.Format().words).address())
	}
	if len(names) > 0 {
		allowScripts(v.W.Header(), f.Manifest != "")
	}
}

// Broken responds when a template cannot be executed, which is a bug. It returns nil.
func (v *Request) Broken(err error) error {
	v.Logger.ErrorContext(v.R.Context(), "render page", "error", err)
	v.W.Header().Set("Content-Type", "text/plain; charset=utf-8")
	v.W.WriteHeader(http.StatusInternalServerError)
	_, _ = v.W.Write([]byte("Something went wrong on our side. Try again in a moment.\n"))
	return nil
}
