package web

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

	"github.com/kith-crm/kith/backend/internal/oauth"
)

//go:embed templates
var templateFiles embed.FS

// page is the result of a handler; frame adds what every page shows.
type page struct {
	Title string
	// Section is the path of the settings page; empty on other pages.
	Section string
	// Notice says what was just done.
	Notice string
	// Errors are the form fields with errors.
	Errors []fieldError
	// Script lets the page run the script of the imports.
	Script bool
	// Content is the data of the page's own template.
	Content any
}

// frame is the data of a template.
type frame struct {
	page

	Stylesheet, Icon string
	// ScriptAddress is the address of the page's script; empty if it has none.
	ScriptAddress string
	// Username is the signed-in member; empty if not signed in.
	Username string
	// FormToken is for the page's forms, SessionToken for those that end the session.
	FormToken, SessionToken string
	// Sections of the settings.
	Sections []section
	// MailOn is set if emails can be sent; SignUpOpen if people can create an account
	// themselves.
	MailOn, SignUpOpen bool
}

type section struct{ Path, Title string }

func sections() []section {
	return []section{
		{pathProfile, "Profile"}, {pathMCP, "Agents"}, {pathActivity, "Activity"}, {pathBin, "Bin"}, {pathImports, "Imports"}, {pathSearch, "Search"},
		{pathSecurity, "Security"}, {pathAccount, "Account"},
	}
}

// parsePages returns a set of templates for each page: the layout, the shared parts and
// the page's own.
func parsePages() (map[string]*template.Template, error) {
	base, err := template.New("layout").Funcs(template.FuncMap{"day": dayOf, "moment": moment, "machine": machine, "clock": clock}).
		ParseFS(templateFiles, "templates/layout.html", "templates/parts.html")
	if err != nil {
		return nil, fmt.Errorf("web: parse layout: %w", err)
	}
	files, err := fs.Glob(templateFiles, "templates/pages/*.html")
	if err != nil {
		return nil, fmt.Errorf("web: list pages: %w", err)
	}
	pages := map[string]*template.Template{}
	for _, file := range files {
		set, err := base.Clone()
		if err == nil {
			set, err = set.ParseFS(templateFiles, file)
		}
		if err != nil {
			return nil, fmt.Errorf("web: parse page: %w", err)
		}
		pages[strings.TrimSuffix(path.Base(file), ".html")] = set
	}
	return pages, nil
}

func dayOf(t time.Time) string   { return t.UTC().Format("2 January 2006") }
func moment(t time.Time) string  { return t.UTC().Format("2 January 2006, 15:04 UTC") }
func machine(t time.Time) string { return t.UTC().Format(time.RFC3339) }

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
func (v *request) render(status int, name string, p page) {
	f := frame{
		page: p, Stylesheet: v.assets.stylesheet.address(), Icon: v.assets.icon.address(), Sections: sections(),
		MailOn: v.Mailer != nil, SignUpOpen: v.SignUpOpen,
	}
	if p.Script {
		f.ScriptAddress = v.assets.imports.address()
		allowScript(v.w.Header())
	}
	if len(p.Errors) > 0 {
		f.Title = "Error: " + f.Title
	}
	if v.secret != "" {
		f.FormToken = formToken(v.secret)
	}
	if v.login != nil {
		f.Username, f.SessionToken = v.login.Username, formToken(v.sessionSecret(v.r))
	}
	if f.Notice == "" {
		f.Notice = notice(v.r)
	}
	var buf bytes.Buffer
	set, ok := v.pages[name]
	if !ok {
		v.broken(fmt.Errorf("there is no page %q", name))
		return
	}
	if err := set.ExecuteTemplate(&buf, "layout", f); err != nil {
		v.broken(err)
		return
	}
	v.w.WriteHeader(status)
	_, _ = v.w.Write(buf.Bytes()) // the browser may have gone
}

// broken responds when a template cannot be executed, which is a bug.
func (v *request) broken(err error) {
	v.Logger.ErrorContext(v.r.Context(), "render page", "error", err)
	v.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	v.w.WriteHeader(http.StatusInternalServerError)
	_, _ = v.w.Write([]byte("Something went wrong on our side. Try again in a moment.\n"))
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
		"password-changed":      "Your password is changed, and every other browser is signed out.",
		"token-revoked":         "The token is revoked. It stopped working at once.",
		"sending-allowed":       "Texts may be sent now. Have an agent start embed_objects.",
		"sending-stopped":       "Nothing is sent any more.",
		"agent-revoked":         "The agent is disconnected. Its access ended at once.",
		"undone":                "The change is undone. If you did not mean it, you can undo that too.",
		"restored":              "The person is restored, with everything that was deleted with them.",
		"bin-deleted":           "The person is deleted for good.",
		"bin-emptied":           "The bin is emptied. Those people are deleted for good.",
		"bin-nothing":           "Nothing was deleted: the person was not in the bin any more.",
		"undone-already":        "That was undone already. Nothing more was changed.",
	}[r.URL.Query().Get(noticeParameter)]
}

// Problem implements oauth.Pages.
func (web *Web) Problem(w http.ResponseWriter, r *http.Request, status int, title, text string) {
	v := web.guest(w, r)
	v.renderProblem(status, title, text, link{})
}

var _ oauth.Pages = (*Web)(nil)

// guest returns a request for a page that another handler renders. It shows who is
// signed in, if that can be found out.
func (web *Web) guest(w http.ResponseWriter, r *http.Request) *request {
	v := &request{Web: web, w: w, r: r}
	setHeaders(w.Header())
	if login, err := web.Current(r); err == nil && login != nil {
		v.login, v.secret = login, web.sessionSecret(r)
	}
	return v
}
