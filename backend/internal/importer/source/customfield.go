package source

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/text"
)

// fieldSet is the custom fields that take values of a file: the member's, and those that the file brings.
type fieldSet struct{ fields []people.Field }

func newFieldSet(defined []people.Field) *fieldSet {
	s := &fieldSet{slices.Clone(defined)}
	for i := range s.fields {
		s.fields[i].FoldedName = text.Fold(s.fields[i].Name)
	}
	return s
}

// named returns the field with a name. A new one has a type, or is a text; it is nil if there is no room for one.
func (s *fieldSet) named(name, kind string) *people.Field {
	if f := people.FindField(s.fields, name); f != nil {
		return f
	}
	if len(s.fields) >= people.MaxFields {
		return nil
	}
	if !slices.ContainsFunc(people.FieldTypes(), func(t [2]string) bool { return t[0] == kind }) {
		kind = people.FieldText
	}
	s.fields = append(s.fields, people.Field{Name: name, FoldedName: text.Fold(name), Type: kind})
	return &s.fields[len(s.fields)-1]
}

// isDefined reports whether the member has defined a field with the name.
func (s *fieldSet) isDefined(name string) bool {
	f := people.FindField(s.fields, name)
	return f != nil && f.ID != ""
}

// customField adds the value of a custom field. What the field does not take is kept in the import note.
func (d *draft) customField(name, kind, value string) {
	name, value = d.line("name of a custom field", name, people.MaxFieldName), strings.TrimSpace(value)
	if !text.Visible(value) {
		return
	}
	if !text.Visible(name) {
		d.keepInNote("custom field", value, "it has no name")
		return
	}
	f := d.fields.named(name, kind)
	if f == nil {
		d.keepInNote(name, value, fmt.Sprintf("there are %d custom fields, and no more can be made", people.MaxFields))
		return
	}
	if f.ID == "" && f.Type == people.FieldChoice && len(f.Choices) < people.MaxChoices && !slices.Contains(f.Choices, text.Line(value)) {
		f.Choices = append(f.Choices, text.Line(value)) // the file says no more about its choices
	}
	said := value
	if f.Type == people.FieldDate {
		if day, err := readDate(value, d.days); err == nil {
			said = day
		}
	}
	parsed, err := f.Parse(said)
	if err != nil {
		d.unreadable(f.Name, value, err.Error())
		return
	}
	at := slices.IndexFunc(d.Fields, func(v people.FieldValue) bool { return v.Name == f.Name })
	if at >= 0 {
		d.keepSecond(f.Name, d.Fields[at].Value, parsed)
		return
	}
	d.Fields = people.PutField(d.Fields, people.FieldValue{Name: f.Name, Type: f.Type, Value: parsed})
}
