package page

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/kith-crm/kith/observability/logging"
	"github.com/kith-crm/kith/proto/connectheader"
)

// maxBody limits a form, in bytes. The longest is the profile: 4,000 characters of
// biography may take 48,000 bytes on the wire.
const maxBody = 256 << 10

// Request is one browser request while it is handled.
type Request struct {
	*Site

	W http.ResponseWriter
	R *http.Request
	// Login is the browser's session; nil if not signed in.
	Login *account.LoginSession
	// Owner is the member whose data the page shows; empty if it shows none.
	Owner tenant.ID
	// Base is the prefix of the paths of the areas of the site; empty for a signed-in member.
	Base string
	// locale is the member's.
	locale string
	// Secret is the secret, from a cookie, that this page's form tokens are derived
	// from.
	Secret string
	// Agent is set if a bearer token authenticates the member instead of a browser's session.
	Agent bool
	// PasswordConfirmed is set if this request proved that the member knows the password.
	PasswordConfirmed bool
	// route is the one that is served.
	route Route
	// began is the id of the session that the request began.
	began string
}

// Handler answers a request, or returns an error, which is shown on a page.
type Handler func(v *Request) error

// Entrance prepares a request and returns whether to call the handler.
type Entrance func(v *Request) (goOn bool, err error)

// Route is one path and its handler.
type Route struct {
	// Pattern is one of http.ServeMux.
	Pattern string
	// Enter is nil for MembersOnly.
	Enter  Entrance
	Handle Handler
	// Upload reads a form with a file; nil means that the path takes none.
	Upload Handler
	// Tokenless is set for a POST that has no form token: one that writes nothing, such as a system's share sheet
	// sends, or one whose address has a secret that allows just what it does.
	Tokenless bool
	// Fresh is set if the member must have proved within account.FreshFor who they are. Otherwise
	// the request does nothing, and its answer is a page that asks for a proof.
	Fresh bool
	// Password is the field with the member's password in the form of a Fresh route, which
	// counts as such a proof; empty if it has none.
	Password string
	// Enrolling is set on the routes that a member may use before setting up a required second factor.
	Enrolling bool
}

// Mount registers routes on a mux.
func (s *Site) Mount(mux *http.ServeMux, routes ...Route) {
	for _, route := range routes {
		mux.HandleFunc(route.Pattern, func(w http.ResponseWriter, r *http.Request) {
			v := &Request{Site: s, W: w, R: r, route: route}
			SetHeaders(w.Header())
			goOn, err := v.admit(route)
			if err == nil && goOn {
				err = route.Handle(v)
			}
			if err != nil {
				v.fail(err)
			}
		})
	}
}

// FormAddresses returns a route for GET for the address of each form that has none: an address that is
// typed, linked or reloaded leads to the page with the form. That is the nearest page above the
// address.
func FormAddresses(routes []Route) []Route {
	pages := map[string]bool{}
	for _, r := range routes {
		if path, ok := strings.CutPrefix(r.Pattern, http.MethodGet+" "); ok {
			pages[path] = true
		}
	}
	var out []Route
	for _, r := range routes {
		path, ok := strings.CutPrefix(r.Pattern, http.MethodPost+" ")
		if !ok || pages[path] {
			continue
		}
		levels := 0
		for above := path; above != "" && (levels == 0 || !pages[above]); levels++ {
			above = above[:strings.LastIndexByte(above, '/')]
		}
		out = append(out, Route{Pattern: http.MethodGet + " " + path, Enter: func(v *Request) (bool, error) {
			to := v.R.URL.EscapedPath()
			for range levels {
				to = to[:strings.LastIndexByte(to, '/')]
			}
			return false, v.Redirect(cmp.Or(to, PathStart))
		}})
	}
	return out
}

// admit rejects anything but our own forms before other code reads it.
func (v *Request) admit(route Route) (bool, error) {
	if v.R.Method == http.MethodPost {
		if err := v.crossOrigin.Check(v.R); err != nil {
			return false, Refuse(http.StatusForbidden, "This form came from another site", "Nothing was done. Open the page on this site and try again.")
		}
		if err := v.readForm(route.Upload); err != nil {
			return false, err
		}
	}
	var err error
	if v.Login, err = v.Current(v.R); err != nil {
		return false, err
	}
	if v.Login != nil {
		v.W.Header().Set(connectheader.Placement, v.Login.MemberID.Placement())
	}
	v.locale = v.localeOf(v.Login)
	enter := route.Enter
	if enter == nil {
		enter = MembersOnly
	}
	goOn, err := enter(v)
	if err != nil || !goOn {
		return goOn, err
	}
	if v.R.Method == http.MethodPost && !route.Tokenless && !validToken(v.Secret, v.R.PostForm.Get(TokenField)) {
		const outOfDate = "This form is out of date"
		if v.Login != nil && v.Owner != "" && v.keepTyped(outOfDate) {
			return false, nil
		}
		return false, Refuse(http.StatusForbidden, outOfDate,
			"Nothing was done. Go back, reload the page and try again. If that does not help, let your browser accept cookies of this site.")
	}
	if !route.Fresh {
		return true, nil
	}
	return v.Proven(route.Password)
}

// Proven reports whether the member proved within account.FreshFor who they are, or does so with
// this form. Otherwise it answers with a page that asks for a proof, and the caller must do
// nothing. password is the field of the form with the member's password; empty if it has none.
func (v *Request) Proven(password string) (bool, error) {
	if v.Agent || v.Login != nil && v.Login.Fresh(v.Now()) {
		return true, nil
	}
	return v.Confirm(v, password)
}

func (v *Request) readForm(upload Handler) error {
	media, _, err := mime.ParseMediaType(v.R.Header.Get("Content-Type"))
	if err == nil && media == "multipart/form-data" && upload != nil {
		return upload(v)
	}
	if err != nil || media != "application/x-www-form-urlencoded" {
		return Refuse(http.StatusUnsupportedMediaType, "The form cannot be read", "Go back and try again.")
	}
	v.R.Body = http.MaxBytesReader(v.W, v.R.Body, maxBody)
	err = v.R.ParseForm()
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return Refuse(http.StatusRequestEntityTooLarge, "That is too much", "This form is too long. Go back and shorten it.")
	}
	if err != nil {
		return Refuse(http.StatusBadRequest, "The form cannot be read", "Go back and try again.")
	}
	return nil
}

// Anyone admits every visitor. The forms of these pages use a separate cookie, so that
// signing in on another tab does not make them out of date.
func Anyone(v *Request) (bool, error) {
	var err error
	v.Secret, err = v.FormSecret(v.W, v.R)
	return true, err
}

// MembersOnly admits signed-in browsers and sends others to sign in first.
func MembersOnly(v *Request) (bool, error) {
	if v.Login == nil {
		if v.R.Method == http.MethodPost && v.keepTyped("You are signed out") {
			return false, nil
		}
		return false, v.Redirect(v.SignIn(v.pageToReturnTo()))
	}
	if !v.route.Enrolling {
		if to := v.MustEnroll(v.Login); to != "" {
			return false, v.Redirect(to)
		}
	}
	SetAlone(v.W.Header())
	v.Owner = v.Login.MemberID
	v.Secret = v.SessionSecret(v.R)
	return true, nil
}

// pageToReturnTo returns the requested page, or for a form the page that contains it.
func (v *Request) pageToReturnTo() string {
	if v.R.Method != http.MethodPost {
		return v.R.URL.RequestURI()
	}
	if place, ok := PlaceOf(v.R.URL.Path); ok {
		return place.Path
	}
	return PathStart
}

// Redirect sends the browser to a path of this site, with GET. It returns nil.
func (v *Request) Redirect(path string) error {
	http.Redirect(v.W, v.R, path, http.StatusSeeOther)
	return nil
}

// To returns the address of a path of an area of the site.
func (v *Request) To(path string) string {
	if v.Base != "" && path == PathStart {
		return v.Base
	}
	return v.Base + path
}

// Address returns a path with parameters.
func Address(path string, parameters url.Values) string {
	if encoded := parameters.Encode(); encoded != "" {
		return path + "?" + encoded
	}
	return path
}

// Link returns the address of a path of an area of the site with one parameter.
func (v *Request) Link(path, name, value string) string {
	return Address(v.To(path), url.Values{name: {value}})
}

// Format returns how the page shows days, times and numbers.
func (v *Request) Format() Format { return FormatOf(v.locale) }

// LocalNow returns the time in the zone of who is signed in, or in UTC.
func (v *Request) LocalNow() time.Time {
	if v.Login == nil {
		return v.Now().UTC()
	}
	return v.Now().In(civil.Zone(v.Login.Timezone))
}

// localeOf returns the locale of a page: the member's, or of a visitor the one that the browser asks for.
func (v *Request) localeOf(login *account.LoginSession) string {
	if login == nil {
		return preferred(v.R.Header.Get("Accept-Language"))
	}
	return login.Locale
}

// Text returns a text of the pages in the language of the page: see Format.Text.
func (v *Request) Text(english string, values ...any) string {
	return v.Format().Text(english, values...)
}

// SetLocale sets the locale of a page of a member whose session is not read here.
func (v *Request) SetLocale(locale string) { v.locale = locale }

// Locale returns the locale of who is signed in, as a BCP 47 tag.
func (v *Request) Locale() string { return v.locale }

// Line returns a form value as one clean line.
func (v *Request) Line(name string) string { return text.Line(v.R.PostForm.Get(name)) }

// Refusal is an error that is shown on its own page.
type Refusal struct {
	Status      int
	Title, Text string
	// Next is where to continue; the zero link means that it depends on the current
	// page.
	Next Link
}

func (e *Refusal) Error() string { return e.Title }

// Refuse returns a refusal that leads to where the visitor may continue.
func Refuse(status int, title, text string) *Refusal {
	return &Refusal{Status: status, Title: title, Text: text}
}

// statusClientClosed is the status of a request whose client disconnected before the answer. It
// is widely used but not registered.
const statusClientClosed = 499

// disconnected reports whether an error comes from a client that disconnected. Nobody reads the
// answer, and nothing is wrong on this side.
func (v *Request) disconnected(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(v.R.Context().Err(), context.Canceled)
}

// fail answers with a page that says what went wrong. An internal error is logged in
// full and shown as one general sentence.
func (v *Request) fail(err error) {
	refused, ok := errors.AsType[*Refusal](err)
	err = db.Coded(err) // a connection may break while rows are read
	switch {
	case ok:
	case errors.Is(err, account.ErrAccessEnded):
		refused = Refuse(http.StatusForbidden, "You were signed out in the meantime",
			"The sign-in to your account was changed while this was under way, so nothing was done. Sign in if you are asked to, and try again.")
	case fault.Is(err, fault.NotFound):
		refused = Refuse(http.StatusNotFound, "There is nothing here", "It does not exist, or it was deleted.")
	case fault.Is(err, fault.Invalid) && v.R.Method == http.MethodPost: // about no field of the form
		refused = Refuse(http.StatusBadRequest, "Nothing was changed", Sentence(err.Error()))
	case fault.Is(err, fault.Invalid): // forms show such errors at their fields: this is an address
		refused = Refuse(http.StatusBadRequest, "This address is wrong", "Go back and try again, or begin at the start of the list.")
	case fault.Is(err, fault.Full):
		refused = Refuse(http.StatusForbidden, "Your account is full", "Its photos, uploaded files and recorded changes use all the space that an account may have, so nothing was saved. "+
			"Delete people whom you no longer need and empty the bin, or ask the owner of this server for more.")
		refused.Next = Link{v.To(PathBin), "Open the bin"}
	case fault.Is(err, fault.ReadOnly):
		refused = Refuse(http.StatusForbidden, "This account is read-only", "Nothing was changed.")
	case v.disconnected(err):
		logging.Fail(v.R.Context(), v.Logger, slog.LevelWarn, "page abandoned", err.Error())
		refused = Refuse(statusClientClosed, "Kith cannot answer right now", "The connection was closed.")
	case fault.Is(err, fault.Unavailable):
		v.W.Header().Set("Retry-After", "1")
		logging.Fail(v.R.Context(), v.Logger, slog.LevelWarn, "page unavailable", err.Error())
		refused = Refuse(http.StatusServiceUnavailable, "Kith cannot answer right now", "Nothing was lost. Try again in a moment.")
	default:
		logging.Fail(v.R.Context(), v.Logger, slog.LevelError, "page failed", err.Error())
		refused = Refuse(http.StatusInternalServerError, "Something went wrong on our side", "It has been noted. Try again in a moment.")
	}
	_ = v.RenderProblem(refused.Status, refused.Title, refused.Text, refused.Next)
}
