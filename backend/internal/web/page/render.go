package page

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
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
	// Notice says what was just done.
	Notice string
	// Errors are the form fields with errors.
	Errors []FieldError
	// Script is the name of the script that the page may run; empty for none.
	Script string
	// Content is the data of the page's own template.
	Content any
}

// frame is the data of a template.
type frame struct {
	Page

	// Base comes before the paths of the areas of the site.
	Base             string
	Stylesheet, Icon string
	// ScriptAddress is the address of the page's script; empty if it has none.
	ScriptAddress string
	// Username is the signed-in member; empty if not signed in.
	Username string
	// FormToken is for the page's forms, SessionToken for those that end the session.
	FormToken, SessionToken string
	// Areas of the site and Sections of the settings.
	Areas, Sections []Section
	// MailOn is set if emails can be sent; SignUpOpen if people can create an account
	// themselves.
	MailOn, SignUpOpen bool
}

// Section is a page of the settings, or an area of the site.
type Section struct{ Path, Title string }

// areas returns the areas of the site, in the order of their navigation.
func areas() []Section {
	return []Section{{PathPeople, "People"}, {PathGroups, "Groups"}, {PathActivity, "Activity"}, {PathSettings, "Settings"}}
}

// Sections returns the pages of the settings, in the order of their navigation.
func Sections() []Section {
	return []Section{
		{PathProfile, "Profile"}, {PathMCP, "Agents"}, {PathImports, "Imports"}, {PathSearch, "Search"},
		{PathTime, "Time zone"}, {PathSecurity, "Security"}, {PathAccount, "Account"},
	}
}

// parsePages returns a set of templates for each page: the layout, the shared parts and
// the page's own.
func parsePages(folders []fs.FS) (map[string]*template.Template, error) {
	base, err := template.New("layout").Funcs(template.FuncMap{"day": dayOf, "moment": moment, "machine": machine, "clock": clock}).
		ParseFS(templateFiles, "templates/layout.html", "templates/parts.html")
	if err != nil {
		return nil, fmt.Errorf("web: parse layout: %w", err)
	}
	pages := map[string]*template.Template{}
	for _, folder := range folders {
		files, err := fs.Glob(folder, "*.html")
		if err != nil {
			return nil, fmt.Errorf("web: list pages: %w", err)
		}
		for _, file := range files {
			set, err := base.Clone()
			if err == nil {
				set, err = set.ParseFS(folder, file)
			}
			if err != nil {
				return nil, fmt.Errorf("web: parse page: %w", err)
			}
			pages[strings.TrimSuffix(path.Base(file), ".html")] = set
		}
	}
	return pages, nil
}

func dayOf(t time.Time) string   { return t.UTC().Format("2 January 2006") }
func moment(t time.Time) string  { return t.UTC().Format("2 January 2006, 15:04 UTC") }
func machine(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Clock formats a time in its time zone, for texts that are not of a template.
func Clock(t time.Time) string { return clock(t) }

// clock formats a time in its time zone. A zone without a name is shown as its offset
// from UTC.
func clock(t time.Time) string {
	zone, _ := t.Zone()
	if strings.HasPrefix(zone, "+") || strings.HasPrefix(zone, "-") {
		zone = "UTC" + zone
	}
	return t.Format("2 January 2006, 15:04 ") + zone
}

// render writes a page. Every page shows who is signed in.
func (v *Request) Render(status int, name string, p Page) {
	f := frame{
		Page: p, Base: v.Base, Stylesheet: v.assets.stylesheet.address(), Icon: v.assets.icon.address(), Areas: areas(), Sections: Sections(),
		MailOn: v.MailOn, SignUpOpen: v.SignUpOpen,
	}
	if p.Script != "" {
		f.ScriptAddress = v.assets.scripts[p.Script].address()
		allowScript(v.W.Header(), p.Script)
	}
	if len(p.Errors) > 0 {
		f.Title = "Error: " + f.Title
	}
	if v.Secret != "" {
		f.FormToken = formToken(v.Secret)
	}
	if v.Login != nil {
		f.Username, f.SessionToken = v.Login.Username, formToken(v.SessionSecret(v.R))
	}
	if f.Area == "" && f.Section != "" {
		f.Area = PathSettings
	}
	if f.Notice == "" {
		f.Notice = notice(v.R)
	}
	var buf bytes.Buffer
	set, ok := v.pages[name]
	if !ok {
		v.Broken(fmt.Errorf("there is no page %q", name))
		return
	}
	if err := set.ExecuteTemplate(&buf, "layout", f); err != nil {
		v.Broken(err)
		return
	}
	v.W.WriteHeader(status)
	_, _ = v.W.Write(buf.Bytes()) // the browser may have gone
}

// broken responds when a template cannot be executed, which is a bug.
func (v *Request) Broken(err error) {
	v.Logger.ErrorContext(v.R.Context(), "render page", "error", err)
	v.W.Header().Set("Content-Type", "text/plain; charset=utf-8")
	v.W.WriteHeader(http.StatusInternalServerError)
	_, _ = v.W.Write([]byte("Something went wrong on our side. Try again in a moment.\n"))
}

const noticeParameter = "done"

// notice returns the message for the name in a redirect. Any other text in the
// parameter is not shown.
func notice(r *http.Request) string {
	return map[string]string{
		"signed-out":            "You are signed out.",
		"signed-out-everywhere": "You are signed out of every browser.",
		"welcome":               "Welcome to Kith. This is your page: nobody sees any of it until you say so.",
		"reset":                 "Your password is changed, and every browser is signed out. No agent or personal token works any more: connect again those that you trust.",
		"verified":              "Your e-mail address is confirmed.",
		"verify-sent":           "We have sent you a link to confirm your address. It works for 30 minutes.",
		"provider-linked":       "The two are connected: from now on you can sign in without your password.",
		"provider-unlinked":     "Your identity provider is disconnected. Sign in with your password.",
		"import-started":        "The import has begun.",
		"import-kept":           "The file is kept for a day. Your agent can import it now.",
		"import-cancelled":      "The import stops. What it did so far stays until you take it back.",
		"import-undone":         "The import is being taken back.",
		"saved":                 "Your profile is saved.",
		"time-saved":            "Your time zone and your language are saved.",
		"password-changed":      "Your password is changed, and every other browser is signed out.",
		"token-revoked":         "The token is revoked. It stopped working at once.",
		"sending-allowed":       "Texts may be sent now. Have an agent start embed_objects.",
		"sending-stopped":       "Nothing is sent any more.",
		"agent-revoked":         "The agent is disconnected. Its access ended at once.",
		"undone":                "The change is undone. If you did not mean it, you can undo that too.",
		"undone-several":        "The changes are undone. Each undo is in the list, and you can undo it too.",
		"restored":              "The person is restored, with everything that was deleted with them.",
		"bin-deleted":           "The person is deleted for good.",
		"bin-emptied":           "The bin is emptied. Those people are deleted for good.",
		"bin-nothing":           "Nothing was deleted: the person was not in the bin any more.",
		"undone-already":        "That was undone already. Nothing more was changed.",
	}[r.URL.Query().Get(noticeParameter)]
}
