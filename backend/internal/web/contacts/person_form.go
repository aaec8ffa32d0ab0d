package contacts

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/importer/source"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// Form is a form on the page of a person, with what was typed. Its zero value is no form.
type Form struct {
	// Name is the section, or the id of the entry or the reminder, that the form
	// edits; or the name of the form of the bar.
	Name   string
	Fields []FormField
	// Seen are hidden inputs with digests of the values that were stored when the form was
	// shown.
	Seen []hiddenValue
	// Conflict is set if what was typed and what is stored now conflict.
	Conflict bool
	// Errors are the errors of fields.
	Errors []page.FieldError
}

// FormField is an input of a form.
type FormField struct {
	page.Field

	// Options makes it a choice.
	Options []page.Option
	// Check makes it a box to tick, which is ticked if Value is ticked.
	Check bool
	// Lines makes it a list with one entry a line.
	Lines bool
	// read returns a date that was typed as the contract has it, and shown the other way round; nil for other
	// fields.
	read, shown func(string) string
	// Stored is the value that is stored now. Differs is set if it conflicts with Value.
	Stored  string
	Differs bool
}

// ticked is the value of a box that is ticked.
const ticked = "true"

// Checked reports whether the box is ticked.
func (f FormField) Checked() bool { return f.Value == ticked }

func textField(name, label, hint string) FormField {
	return FormField{Field: page.Field{Name: name, Label: label, Hint: hint}}
}

// namesField is a text field that names people.
func namesField(name, label, hint string) FormField {
	f := textField(name, label, hint)
	f.People = true
	return f
}

func areaField(name, label, hint string, rows int) FormField {
	return FormField{Field: page.Field{Name: name, Label: label, Hint: hint, Rows: rows}}
}

func linesField(name, label, hint string) FormField {
	f := areaField(name, label, hint, 3)
	f.Lines, f.Plain = true, true
	return f
}

func dayField(name, label, hint string) FormField {
	return FormField{Field: page.Field{Name: name, Label: label, Hint: hint, Kind: "date"}}
}

// dateField is an input for a date of which the year, the month or the day may be missing. The member types it
// as their language writes dates, or in words; Value has it as the contract does.
func (v *request) dateField(name, label, hint string) FormField {
	format := v.Format()
	example := format.Text("Such as %s, %s, 1975 or last Friday.", format.PartialDay("1975-11-26"), format.PartialDay("--11-26"))
	f := textField(name, label, strings.TrimSpace(example+" "+format.Text(hint)))
	f.shown = format.PartialDay
	f.read = func(typed string) string {
		if day, ok := civil.SpokenDay(typed, v.Today()); ok {
			return day.Format(time.DateOnly)
		}
		if date, ok := format.ReadPartialDay(typed); ok {
			return date
		}
		if date, err := source.ReadDate(typed, source.Options{Locale: v.Locale(), Today: v.Today()}); err == nil {
			return date
		}
		return typed // the contract says what is wrong with it
	}
	return f
}

// Input is the input of the field, with its value as the member reads it.
func (f FormField) Input() page.Field {
	f.Value = f.Text(f.Value)
	return f.Field
}

// Text returns a value of the field as the member reads it.
func (f FormField) Text(value string) string {
	if f.shown != nil {
		return f.shown(value)
	}
	return value
}

func choiceField(name, label string, options ...page.Option) FormField {
	return FormField{Field: page.Field{Name: name, Label: label}, Options: options}
}

// with returns the field with a value.
func (f FormField) with(value string) FormField {
	f.Value = f.clean(value)
	if f.Options != nil {
		f.Options = page.Choose(f.Value, slices.Clone(f.Options)...)
	}
	return f
}

// typed returns the field with the value of a posted form.
func (f FormField) typed(posted url.Values) FormField { return f.with(posted.Get(f.Name)) }

// clean normalises a value for comparison.
func (f FormField) clean(value string) string {
	switch {
	case f.read != nil:
		return f.read(text.Line(value))
	case f.Lines:
		return strings.Join(lines(value), "\n")
	case f.Rows > 0:
		return text.Clean(value)
	}
	return text.Line(value)
}

// lines returns the lines that are not empty.
func lines(value string) []string {
	var out []string
	for line := range strings.Lines(value) {
		if line = text.Line(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// digest returns a digest of the values that a form was shown with.
func digest(values ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(values, "\x00")))
	return hex.EncodeToString(sum[:12])
}

// seenPrefix begins the names of the inputs with digests.
const seenPrefix = "seen."

func valuesOf(fields []FormField) map[string]string {
	values := make(map[string]string, len(fields))
	for _, f := range fields {
		values[f.Name] = f.Value
	}
	return values
}

// mark sets the errors at their fields. An error of no field of the form stays in the
// summary above it.
func (f *Form) mark(wrong []page.FieldError) {
	for _, e := range wrong {
		e.Name = fieldName(e.Name)
		for i := range f.Fields {
			field := &f.Fields[i]
			if field.Error == "" && (field.Name == e.Name || strings.HasPrefix(field.Name, e.Name+".") || strings.HasPrefix(e.Name, field.Name+".")) {
				if field.read != nil && field.Value != "" {
					e.Message = field.Label + ": couldn’t read “" + field.Value + "” as a date."
				}
				field.Error, e.Name = e.Message, field.Name
				break
			}
		}
		f.Errors = append(f.Errors, e)
	}
}

var listEntry = regexp.MustCompile(`^(\w+)\[(\d+)\](?:\.(\w+))?$`)

// fieldName returns the name of the input for a field of a request: emails[1] is in emails,
// and positions[1].title is title.1.
func fieldName(name string) string {
	m := listEntry.FindStringSubmatch(name)
	switch {
	case m == nil:
		return strings.TrimPrefix(strings.TrimPrefix(name, "add_"), "remove_")
	case m[1] == "positions" || m[1] == "important_dates" || m[1] == "addresses" || m[1] == "accounts":
		first := map[string]string{"positions": "organization", "important_dates": "date", "addresses": "street", "accounts": "service"}[m[1]]
		if m[3] != "" {
			first = m[3]
		}
		return first + "." + m[2]
	}
	return strings.TrimPrefix(strings.TrimPrefix(m[1], "add_"), "remove_")
}

// rowName returns the name of an input in a row of a form.
func rowName(name string, row int) string { return name + "." + strconv.Itoa(row) }

// hiddenValue is a hidden input of a form.
type hiddenValue struct{ Name, Value string }

// Rows returns the inputs in rows: those whose names end with the same number are one row,
// and all others are one row together.
func (f Form) Rows() [][]FormField {
	var out [][]FormField
	last := "none"
	for _, field := range f.Fields {
		_, number, _ := strings.Cut(field.Name, ".")
		if _, err := strconv.Atoi(number); err != nil {
			number = ""
		}
		if number != last {
			out, last = append(out, nil), number
		}
		out[len(out)-1] = append(out[len(out)-1], field)
	}
	return out
}

// Reminder reports whether the form edits a reminder.
func (f Form) Reminder() bool { return strings.HasPrefix(f.Name, id.Reminder+"_") }
