package page

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/fault"
)

// Field is one labelled input of a form.
type Field struct {
	Name, Label, Hint string
	// Kind is the input's type; empty means text. A KindHidden field has only a name and a value.
	Kind         string
	Value        string
	Autocomplete string
	// List is the id of a datalist with values to choose from.
	List string
	// Own is set if the label is of the member, such as the name of a group: it is not translated.
	Own bool
	// People is set if the value names people, whom the page suggests.
	People bool
	// Rows makes it a text area.
	Rows     int
	Required bool
	// Plain is for names and addresses: no automatic capitals or corrections.
	Plain bool
	Error string
}

// Labelled is an input, an option or a fact with a label, which may be the member's own.
type Labelled interface {
	Labelling() (label string, own bool)
}

// Labelling implements Labelled.
func (f Field) Labelling() (label string, own bool) { return f.Label, f.Own }

// Labelling implements Labelled.
func (o Option) Labelling() (label string, own bool) { return o.Label, o.Own }

// Labelling implements Labelled.
func (s Select) Labelling() (label string, own bool) { return s.Label, false }

// KindHidden is the type of an input that is not shown.
const KindHidden = "hidden"

// DescribedBy returns the ids of the elements that describe the input.
func (f Field) DescribedBy() string {
	var ids []string
	if f.Hint != "" {
		ids = append(ids, f.Name+"-hint")
	}
	if f.Error != "" {
		ids = append(ids, f.Name+"-error")
	}
	return strings.Join(ids, " ")
}

// Option is a value of a list to choose from.
type Option struct {
	Value, Label string
	Selected     bool
	// Own is set if the label is of the member: it is not translated.
	Own bool
}

// Choose returns the options with the one selected that has a value.
func Choose(value string, options ...Option) []Option {
	for i := range options {
		options[i].Selected = options[i].Value == value
	}
	return options
}

// HasOption reports whether a value is one of the options.
func HasOption(options []Option, value string) bool {
	return slices.ContainsFunc(options, func(o Option) bool { return o.Value == value })
}

// Select is a list to choose one from, for the templates "select" and "chooser".
type Select struct {
	Name, Label, Error string
	// Hidden is a part of the label for screen readers only.
	Hidden  string
	Options []Option
}

// FieldError is one line of the summary above a form with errors.
type FieldError struct{ Name, Message string }

// StatusOf returns the status of a page that shows what was asked for, or what is wrong with that.
func StatusOf(wrong []FieldError) int {
	if len(wrong) > 0 {
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// Mistakes collects the errors of a form, one sentence for each field.
// Its zero value has none.
type Mistakes struct{ List []FieldError }

// Add adds the error of a field: one sentence.
func (m *Mistakes) Add(name, message string) { m.List = append(m.List, FieldError{name, message}) }

// Take adds a validation error under a field's name, and returns any other error.
func (m *Mistakes) Take(name string, err error) error {
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
	m.Add(name, Sentence(message))
	return nil
}

// TakeAll adds the error of every invalid field, and returns any other error.
func (m *Mistakes) TakeAll(err error) error {
	var coded *fault.Error
	if err == nil || !errors.As(err, &coded) || coded.Code != fault.Invalid {
		return err
	}
	for _, f := range coded.Fields {
		m.Add(f.Name, Sentence(f.Message))
	}
	return nil
}

// Of returns the error of a field.
func (m *Mistakes) Of(name string) string {
	for _, e := range m.List {
		if e.Name == name {
			return e.Message
		}
	}
	return ""
}

// Sentence returns a message with a capital at the beginning and a full stop at the
// end.
func Sentence(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	s = string(unicode.ToUpper(first)) + s[size:]
	if !strings.HasSuffix(s, ".") {
		s += "."
	}
	return s
}
