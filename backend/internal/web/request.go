package web

import (
	"context"
	"errors"
	"mime"
	"net/http"
	"net/url"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/text"
)

// maxBody limits a form, in bytes. The longest is the profile: 4,000 characters of
// biography may take 48,000 bytes on the wire.
const maxBody = 256 << 10

// request is one browser request while it is handled.
type request struct {
	*Web

	w http.ResponseWriter
	r *http.Request
	// login is the browser's session; nil if not signed in.
	login *account.LoginSession
	// secret is the secret, from a cookie, that this page's form tokens are derived
	// from.
	secret string
}

// handler answers a request, or returns an error.
type handler func(v *request) error

// entrance prepares a request and returns whether to call the handler.
type entrance func(v *request) (goOn bool, err error)

func (web *Web) page(enter entrance, handle handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v := &request{Web: web, w: w, r: r}
		setHeaders(w.Header())
		goOn, err := v.admit(enter)
		if err == nil && goOn {
			err = handle(v)
		}
		if err != nil {
			v.fail(err)
		}
	}
}

// admit rejects anything but our own forms before other code reads it.
func (v *request) admit(enter entrance) (bool, error) {
	if v.r.Method == http.MethodPost {
		if err := v.crossOrigin.Check(v.r); err != nil {
			return false, refuse(http.StatusForbidden, "This form came from another site", "Nothing was done. Open the page on this site and try again.")
		}
		if err := v.readForm(); err != nil {
			return false, err
		}
	}
	var err error
	if v.login, err = v.Current(v.r); err != nil {
		return false, err
	}
	goOn, err := enter(v)
	if err != nil || !goOn || v.r.Method != http.MethodPost {
		return goOn, err
	}
	if !validToken(v.secret, v.r.PostForm.Get(tokenField)) {
		return false, refuse(http.StatusForbidden, "This form is out of date",
			"Nothing was done. Go back, reload the page and try again. If that does not help, let your browser accept cookies of this site.")
	}
	return true, nil
}

func (v *request) readForm() error {
	media, _, err := mime.ParseMediaType(v.r.Header.Get("Content-Type"))
	if err == nil && media == "multipart/form-data" && v.r.URL.Path == pathImports {
		return v.readUpload()
	}
	if err != nil || media != "application/x-www-form-urlencoded" {
		return refuse(http.StatusUnsupportedMediaType, "The form cannot be read", "Go back and try again.")
	}
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, maxBody)
	err = v.r.ParseForm()
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return refuse(http.StatusRequestEntityTooLarge, "That is too much", "The form holds more than this page takes. Go back and shorten it.")
	}
	if err != nil {
		return refuse(http.StatusBadRequest, "The form cannot be read", "Go back and try again.")
	}
	return nil
}

// anyone admits every visitor. The forms of these pages use a separate cookie, so that
// signing in on another tab does not make them out of date.
func anyone(v *request) (bool, error) {
	var err error
	v.secret, err = v.formSecret(v.w, v.r)
	return true, err
}

// membersOnly admits signed-in browsers and sends others to sign in first.
func membersOnly(v *request) (bool, error) {
	if v.login == nil {
		v.redirect(v.SignIn(v.pageToReturnTo()))
		return false, nil
	}
	setAlone(v.w.Header())
	v.secret = v.sessionSecret(v.r)
	return true, nil
}

// pageToReturnTo returns the requested page, or for a form the page that contains it.
func (v *request) pageToReturnTo() string {
	if v.r.Method != http.MethodPost {
		return v.r.URL.RequestURI()
	}
	if s, ok := sectionOf(v.r.URL.Path); ok {
		return s.Path
	}
	return pathProfile
}

// redirect sends the browser to a path of this site, with GET.
func (v *request) redirect(path string) { http.Redirect(v.w, v.r, path, http.StatusSeeOther) }

// redirectDone redirects to a page that shows the notice with that name.
func (v *request) redirectDone(path, notice string) {
	v.redirect(path + "?" + url.Values{noticeParameter: {notice}}.Encode())
}

// line returns a form value as one clean line.
func (v *request) line(name string) string { return text.Line(v.r.PostForm.Get(name)) }

// refusal is an error that is shown on its own page.
type refusal struct {
	status      int
	title, text string
	// next is where to continue; the zero link means that it depends on the current
	// page.
	next link
}

func (e *refusal) Error() string { return e.title }

// refuse returns a refusal that leads to where the visitor may continue.
func refuse(status int, title, text string) *refusal {
	return &refusal{status: status, title: title, text: text}
}

// fail answers with a page that says what went wrong. An internal error is logged in
// full and shown as one general sentence.
func (v *request) fail(err error) {
	refused, ok := errors.AsType[*refusal](err)
	err = db.Coded(err) // a connection may break while rows are read
	switch {
	case ok:
	case fault.Is(err, fault.NotFound):
		refused = refuse(http.StatusNotFound, "There is nothing here", "What you asked for does not exist, or not any more.")
	case fault.Is(err, fault.ReadOnly):
		refused = refuse(http.StatusForbidden, "This account is read-only", "Nothing was changed.")
	case fault.Is(err, fault.Unavailable), errors.Is(err, context.Canceled): // or the client has disconnected
		v.w.Header().Set("Retry-After", "1")
		v.Logger.WarnContext(v.r.Context(), "page unavailable", "error", err)
		refused = refuse(http.StatusServiceUnavailable, "Kith cannot answer right now", "Nothing was lost. Try again in a moment.")
	default:
		v.Logger.ErrorContext(v.r.Context(), "page failed", "error", err)
		refused = refuse(http.StatusInternalServerError, "Something went wrong on our side", "It has been noted. Try again in a moment.")
	}
	v.renderProblem(refused.status, refused.title, refused.text, refused.next)
}
