package web

import (
	"bytes"
	"fmt"
	htmltemplate "html/template"
	"net/url"
	"strings"
	texttemplate "text/template"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/mail"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// emails writes the emails that are sent. Every email consists of lines of text, one of
// which is a link; the HTML has the same content.
type emails struct {
	baseURL string
	text    *texttemplate.Template
	html    *htmltemplate.Template
}

// email is the content of an email: English texts, which are translated, or texts in the language of the email.
type email struct {
	Subject string
	// Lines are paragraphs; Button and Link come after them, Close at the end.
	Lines        []string
	Button, Link string
	Close        string
	// Language is the one of the texts, which write sets.
	Language string
}

const (
	emailText = `{{range .Lines}}{{.}}

{{end}}{{if .Link}}{{.Button}}:
{{.Link}}

{{end}}{{.Close}}

Kith
`
	emailHTML = `<!doctype html><html lang="{{.Language}}"><body style="font-family:sans-serif;line-height:1.5;color:#1c2b2a">` +
		`{{range .Lines}}<p>{{.}}</p>{{end}}{{if .Link}}<p><a href="{{.Link}}">{{.Button}}</a></p>{{end}}<p>{{.Close}}</p><p>Kith</p></body></html>`
)

func parseEmails(baseURL string) (*emails, error) {
	text, err := texttemplate.New("text").Parse(emailText)
	if err != nil {
		return nil, fmt.Errorf("web: parse emails: %w", err)
	}
	html, err := htmltemplate.New("html").Parse(emailHTML)
	if err != nil {
		return nil, fmt.Errorf("web: parse emails: %w", err)
	}
	return &emails{baseURL: baseURL, text: text, html: html}, nil
}

// write writes an email in a language.
func (e *emails) write(to string, f page.Format, content email) (*mail.Message, error) {
	content.Language = f.Language()
	for _, part := range []*string{&content.Subject, &content.Button, &content.Close} {
		*part = f.Text(*part)
	}
	for i, line := range content.Lines {
		content.Lines[i] = f.Text(line)
	}
	var text strings.Builder
	var html bytes.Buffer
	if err := e.text.Execute(&text, content); err != nil {
		return nil, fmt.Errorf("write email: %w", err)
	}
	if err := e.html.Execute(&html, content); err != nil {
		return nil, fmt.Errorf("write email: %w", err)
	}
	return &mail.Message{To: to, Subject: content.Subject, Text: text.String(), HTML: html.String()}, nil
}

// link returns the address of a page that takes a mailed secret.
func (e *emails) link(path, secret string) string {
	return e.baseURL + path + "?" + url.Values{fieldLink: {secret}}.Encode()
}

const (
	lifetimeWords = "The link works once, for 30 minutes."
	notYou        = "If this was not you, there is nothing to do: without the link nothing happens."
)

func (e *emails) reset(m *account.Member, secret string) (*mail.Message, error) {
	f := page.FormatOf(m.Locale)
	return e.write(m.Email, f, email{
		Subject: "Choose a new password for Kith",
		Lines:   []string{f.Text("Somebody, hopefully you, has forgotten the password of the Kith account %s.", m.Username), lifetimeWords},
		Button:  "Choose a new password", Link: e.link(page.PathReset, secret), Close: notYou,
	})
}

func (e *emails) verify(m *account.Member, secret string) (*mail.Message, error) {
	f := page.FormatOf(m.Locale)
	return e.write(m.Email, f, email{
		Subject: "Confirm your e-mail address for Kith",
		Lines:   []string{f.Text("Please confirm that this is the address of the Kith account %s.", m.Username), lifetimeWords},
		Button:  "Confirm the address", Link: e.link(page.PathVerify, secret), Close: notYou,
	})
}

func (e *emails) finishSignUp(s *account.SignUp, f page.Format, secret string) (*mail.Message, error) {
	return e.write(s.Email, f, email{
		Subject: "Finish your Kith account",
		Lines:   []string{f.Text("Somebody, hopefully you, wants to open the Kith account %s with this address.", s.Username), lifetimeWords},
		Button:  "Finish the account", Link: e.link(page.PathVerify, secret), Close: notYou,
	})
}

func (e *emails) alreadyMember(m *account.Member) (*mail.Message, error) {
	f := page.FormatOf(m.Locale)
	return e.write(m.Email, f, email{
		Subject: "You have a Kith account already",
		Lines: []string{
			f.Text("Somebody, hopefully you, wanted to open a Kith account with this address. It has one already: %s.", m.Username),
			"If you have forgotten its password, choose a new one on the sign-in page.",
		},
		Button: "Sign in", Link: e.baseURL + page.PathSignIn, Close: "If this was not you, there is nothing to do.",
	})
}

func (e *emails) confirmChange(m *account.Member, address, secret string) (*mail.Message, error) {
	f := page.FormatOf(m.Locale)
	return e.write(address, f, email{
		Subject: "Confirm your new e-mail address for Kith",
		Lines: []string{
			f.Text("Please confirm that this becomes the address of the Kith account %s. You have to be signed in to it.", m.Username), lifetimeWords,
		},
		Button: "Confirm the new address", Link: e.link(pathEmailConfirm, secret), Close: notYou,
	})
}

func (e *emails) addressTaken(m *account.Member) (*mail.Message, error) {
	f := page.FormatOf(m.Locale)
	return e.write(m.Email, f, email{
		Subject: "This is the address of your Kith account",
		Lines: []string{
			f.Text("Somebody, hopefully you, wanted to use this address for another Kith account. It belongs to one already: %s.", m.Username),
		},
		Button: "Sign in", Link: e.baseURL + page.PathSignIn, Close: "If this was not you, there is nothing to do. Nothing was changed.",
	})
}
