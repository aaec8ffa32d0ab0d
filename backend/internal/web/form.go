package web

import (
	"errors"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/account/password"
	"github.com/kith-crm/kith/backend/internal/fault"
)

// field is one labelled input of a form.
type field struct {
	Name, Label, Hint string
	// Kind is the input's type; empty means text.
	Kind         string
	Value        string
	Autocomplete string
	// Rows makes it a text area.
	Rows     int
	Required bool
	// Plain is for names and addresses: no automatic capitals or corrections.
	Plain bool
	Error string
}

// DescribedBy returns the ids of the elements that describe the input.
func (f field) DescribedBy() string {
	var ids []string
	if f.Hint != "" {
		ids = append(ids, f.Name+"-hint")
	}
	if f.Error != "" {
		ids = append(ids, f.Name+"-error")
	}
	return strings.Join(ids, " ")
}

// fieldError is one line of the summary above a form with errors.
type fieldError struct{ Name, Message string }

// mistakes collects the errors of a form, one sentence for each field.
type mistakes struct{ list []fieldError }

func (m *mistakes) add(name, message string) { m.list = append(m.list, fieldError{name, message}) }

// take adds a validation error under a field's name, and returns any other error.
func (m *mistakes) take(name string, err error) error {
	var coded *fault.Error
	if err == nil {
		return nil
	}
	if !errors.As(err, &coded) || coded.Code != fault.Invalid {
		return err
	}
	message := coded.Message
	if len(coded.Fields) > 0 {
		message = coded.Fields[0].Message
	}
	m.add(name, sentence(message))
	return nil
}

// of returns the error of a field.
func (m *mistakes) of(name string) string {
	for _, e := range m.list {
		if e.Name == name {
			return e.Message
		}
	}
	return ""
}

// newPassword checks a new password, which was typed twice.
func (m *mistakes) newPassword(r *http.Request, names ...string) (string, error) {
	chosen := r.PostForm.Get(fieldNewPassword)
	err := m.take(fieldNewPassword, password.Check(chosen, names...))
	if m.of(fieldNewPassword) == "" && chosen != r.PostForm.Get(fieldRepeat) {
		m.add(fieldRepeat, "The two passwords are not the same.")
	}
	return chosen, err
}

// Names of the fields that several forms have.
const (
	fieldLogin       = "login"
	fieldUsername    = "username"
	fieldEmail       = "email"
	fieldPassword    = "password"
	fieldNewPassword = "new_password"
	fieldRepeat      = "repeat_password"
	fieldLink        = "link"
)

func passwordField(label string, m *mistakes) field {
	return field{Name: fieldPassword, Label: label, Kind: "password", Autocomplete: "current-password", Required: true, Error: m.of(fieldPassword)}
}

func newPasswordFields(label string, m *mistakes) []field {
	return []field{
		{
			Name: fieldNewPassword, Label: label, Kind: "password", Autocomplete: "new-password", Required: true,
			Hint: "At least 10 characters. A few words that do not belong together are good.", Error: m.of(fieldNewPassword),
		},
		{
			Name: fieldRepeat, Label: "The same password again", Kind: "password", Autocomplete: "new-password", Required: true,
			Error: m.of(fieldRepeat),
		},
	}
}

// sentence returns a message with a capital at the beginning and a full stop at the
// end.
func sentence(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	s = string(unicode.ToUpper(first)) + s[size:]
	if !strings.HasSuffix(s, ".") {
		s += "."
	}
	return s
}
