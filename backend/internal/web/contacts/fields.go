package contacts

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/kith-crm/kith/backend/internal/web/page"
	connectionsv1 "github.com/kith-crm/kith/proto/gen/kith/connections/v1"
	"google.golang.org/protobuf/types/known/structpb"
)

const pathFields = page.PathPeople + "/fields"

// fieldsTool is the name under which changes of custom fields are recorded.
const fieldsTool = "people/fields"

// fieldsContent is the content of the page of custom fields. The last form makes a field, unless there is no room for one.
type fieldsContent struct {
	Forms []fieldForm
	// Full is how many fields there are if no more can be made, else 0.
	Full int
}

// fieldForm is the form of a field; ID is empty for a new one.
type fieldForm struct {
	ID, Title     string
	Name, Choices page.Field
	Type          page.Select
	// Open is set for a form with errors.
	Open bool
}

func (v *request) showFields() error { return v.renderFields("", nil) }

// renderFields shows the forms. That of the field with an id, empty for the new one, has what was typed, and its errors.
func (v *request) renderFields(typed string, wrong []page.FieldError) error {
	fields, err := people.ListFields(v.Ctx, v.Data())
	if err != nil {
		return err
	}
	content := fieldsContent{}
	if len(fields) < people.MaxFields {
		fields = append(fields, people.Field{Type: people.FieldText})
	} else {
		content.Full = people.MaxFields
	}
	for i := range fields {
		f := &fields[i]
		title := f.Name
		m := page.Mistakes{}
		if f.ID == typed && len(wrong) > 0 {
			f.Name, f.Type, f.Choices = v.Line("name"+typed), v.Line("type"+typed), lines(v.R.PostForm.Get("choices"+typed))
			m.List = wrong
		}
		content.Forms = append(content.Forms, formOf(f, title, &m))
	}
	for i := range wrong {
		wrong[i].Name += typed
	}
	return v.Render(page.StatusOf(wrong), "people-fields", page.Page{Title: "Custom fields", Area: page.PathPeople, Errors: wrong, Content: content})
}

// formOf returns the form of a field. The names of its inputs end with the field's id.
func formOf(f *people.Field, title string, m *page.Mistakes) fieldForm {
	form := fieldForm{
		ID: f.ID, Title: title, Open: len(m.List) > 0,
		Name: page.Field{Name: "name" + f.ID, Label: "Name", Value: f.Name, Required: true, Autocomplete: "off", Error: m.Of("name")},
		Choices: page.Field{
			Name: "choices" + f.ID, Label: "Choices", Value: strings.Join(f.Choices, "\n"), Rows: 3, Error: m.Of("choices"),
			Hint: "For the type Choice: one per line. People keep a value that you take off the list.",
		},
		Type: page.Select{Name: "type" + f.ID, Label: "Type", Error: m.Of("type")},
	}
	for _, t := range people.FieldTypes() {
		form.Type.Options = append(form.Type.Options, page.Option{Value: t[0], Label: t[1]})
	}
	page.Choose(f.Type, form.Type.Options...)
	return form
}

// saveField makes a custom field, or changes one.
func (v *request) saveField() error {
	before, err := v.fieldOfForm()
	if err != nil {
		return err
	}
	id := v.Line("field")
	name := v.Line("name" + id)
	req := &connectionsv1.DefineFieldRequest{Name: name, Type: optional(v.Line("type" + id)), Choices: lines(v.R.PostForm.Get("choices" + id))}
	if !text.Visible(name) {
		return v.renderFields(id, []page.FieldError{{Name: "name", Message: "Enter a name."}})
	}
	if before != nil {
		req.NewName, req.Name = &name, before.Name
	}
	done, wrong, err := page.Write(v.Member, fieldsTool, req, func(ctx context.Context, tx *db.Tx, req *connectionsv1.DefineFieldRequest) (*connectionsv1.DefineFieldResponse, error) {
		if before == nil {
			fields, err := people.ListFields(ctx, tx)
			if err != nil {
				return nil, err
			}
			if people.FindField(fields, req.GetName()) != nil {
				return nil, fault.New(fault.AlreadyExists, "you have a field with this name")
			}
		}
		return v.People.DefineField(ctx, tx, req)
	})
	var coded *fault.Error
	switch {
	case errors.As(err, &coded) && coded.Code == fault.AlreadyExists:
		wrong = []page.FieldError{{Name: "name", Message: "You have a field with this name already."}}
	case err != nil:
		return err
	}
	if len(wrong) > 0 {
		for i := range wrong {
			wrong[i].Name = strings.TrimPrefix(fieldOf(wrong[i].Name), "new_")
		}
		return v.renderFields(id, wrong)
	}
	return v.RedirectUndoable(v.To(pathFields), "field-saved", done.GetChangeId())
}

// removeField removes a custom field with its values.
func (v *request) removeField() error {
	f, err := v.fieldOfForm()
	if err != nil {
		return err
	}
	if f == nil {
		return fault.New(fault.NotFound, "there is no such field")
	}
	changeID, err := page.Change(v.Member, fieldsTool, func(ctx context.Context, tx *db.Tx) (string, error) {
		done, err := people.DefineField(ctx, tx, people.FieldEdit{Name: f.Name, Remove: true})
		return done.ChangeID, err
	})
	if fault.Is(err, fault.Invalid) {
		return page.Refuse(http.StatusConflict, "The field stays", page.Sentence(err.Error()))
	}
	if err != nil {
		return err
	}
	return v.RedirectUndoable(v.To(pathFields), "field-removed", changeID)
}

// fieldOfForm returns the field that a form is about; nil for a new one. It fails with fault.NotFound.
func (v *request) fieldOfForm() (*people.Field, error) {
	id := v.Line("field")
	if id == "" {
		return nil, nil
	}
	fields, err := people.ListFields(v.Ctx, v.Data())
	if err != nil {
		return nil, err
	}
	for i := range fields {
		if fields[i].ID == id {
			return &fields[i], nil
		}
	}
	return nil, fault.New(fault.NotFound, "there is no such field")
}

// The parameters of the list for custom fields: filters end with the id of a field, as does the value of an order.
const (
	fieldFilterPrefix = "fields."
	fieldSortPrefix   = "field."
)

// fieldFilters returns the filters of custom fields; nil for none.
func fieldFilters(fields []people.Field) []filterGroup {
	if len(fields) == 0 {
		return nil
	}
	group := filterGroup{Title: "Custom fields"}
	for _, f := range fields {
		hint := "A part of it. * stands for any value."
		switch f.Type {
		case people.FieldNumber:
			hint = "A number, or 10..20, 10.. or ..20. * stands for any value."
		case people.FieldDate:
			hint = "Such as 2024, or 2024-05..2025. * stands for any value."
		}
		own := textFilter(fieldFilterPrefix+f.ID, f.Name, hint)
		own.Own = true
		group.Filters = append(group.Filters, own)
	}
	return []filterGroup{group}
}

// setFields adds the filters and the order by custom fields to a request. Those of a field that is gone are left out.
func setFields(req *connectionsv1.SearchConnectionsRequest, search url.Values, fields []people.Field) {
	sort := strings.TrimPrefix(search.Get(sortParameter), fieldSortPrefix)
	for _, f := range fields {
		if asked := search.Get(fieldFilterPrefix + f.ID); asked != "" {
			if req.Fields == nil {
				req.Fields = &structpb.Struct{Fields: map[string]*structpb.Value{}}
			}
			req.Fields.Fields[f.Name] = structpb.NewStringValue(asked)
		}
		if f.ID == sort {
			req.Sort, req.SortField = nil, &f.Name
		}
	}
	if strings.HasPrefix(req.GetSort(), fieldSortPrefix) {
		req.Sort = nil
	}
}

// filterOfField returns the name of the filter that an error of a request is about: fields["Club"] is that of Club.
func filterOfField(name string, fields []people.Field) string {
	quoted := strings.TrimSuffix(strings.TrimPrefix(name, "fields["), "]")
	if unquoted, err := strconv.Unquote(quoted); err == nil {
		if f := people.FindField(fields, unquoted); f != nil {
			return fieldFilterPrefix + f.ID
		}
	}
	return name
}

// FieldsOf are the values of custom fields that a hit has.
func (listContent) FieldsOf(hit *connectionsv1.ConnectionHit) [][2]string {
	return sortedFields(hit.GetFields())
}

// newFieldName and newFieldValue are the inputs of a field that is defined on the page of a person.
const (
	newFieldName  = "new_field"
	newFieldValue = "new_value"
)

// customFieldInputs returns an input for each custom field, and two for a new one.
func customFieldInputs(v *request, p *person) ([]FormField, error) {
	fields, err := people.ListFields(v.Ctx, v.Data())
	if err != nil {
		return nil, err
	}
	values, err := people.FieldTexts("fields", p.GetConnection().GetFields())
	if err != nil {
		return nil, err
	}
	var inputs []FormField
	for _, f := range fields {
		input := v.inputOf(f, values[f.Name])
		input.Own = true
		inputs = append(inputs, input)
	}
	return append(inputs,
		textField(newFieldName, "Another field", "A name, such as Shoe size. It is then on everybody's page; change it under People, Custom fields."),
		textField(newFieldValue, "Its value", ""),
	), nil
}

func (v *request) inputOf(f people.Field, value string) FormField {
	switch f.Type {
	case people.FieldNumber:
		return textField(f.ID, f.Name, "A number.").with(value)
	case people.FieldDate:
		return v.dateField(f.ID, f.Name, "").with(value)
	case people.FieldLink:
		return textField(f.ID, f.Name, "It begins with https://.").with(value)
	case people.FieldYesNo, people.FieldChoice:
		choices := f.Choices
		if f.Type == people.FieldYesNo {
			choices = []string{"yes", "no"}
		}
		options := []page.Option{{Value: "", Label: "Not known"}}
		for _, choice := range choices {
			options = append(options, page.Option{Value: choice, Label: choice, Own: f.Type == people.FieldChoice})
		}
		if value != "" && !page.HasOption(options, value) { // it was taken off the list
			options = append(options, page.Option{Value: value, Label: value, Own: true})
		}
		return choiceField(f.ID, f.Name, options...).with(value)
	}
	return areaField(f.ID, f.Name, "", 1).with(value)
}

// saveCustomFields writes the values that changed, and defines a new field.
func saveCustomFields(v *request, p *person, f *Form, changed map[string]bool) ([]page.FieldError, string, error) {
	fields, err := people.ListFields(v.Ctx, v.Data())
	if err != nil {
		return nil, "", err
	}
	ids, values := map[string]string{}, map[string]string{}
	for _, field := range fields {
		ids[field.Name] = field.ID
	}
	given := valuesOf(f.Fields)
	for name, id := range ids {
		if changed[id] {
			values[name] = given[id]
		}
	}
	name, value := given[newFieldName], given[newFieldValue]
	switch {
	case name == "" && value != "":
		return []page.FieldError{{Name: newFieldName, Message: "Give the field a name."}}, "", nil
	case name != "" && value == "":
		return []page.FieldError{{Name: newFieldValue, Message: "Enter a value for this person."}}, "", nil
	case name != "":
		values[name], ids[name] = value, newFieldValue
	}
	req := &connectionsv1.UpdateConnectionRequest{Id: p.GetConnection().GetId(), ExpectedVersion: &p.Connection.Version}
	written, wrong, err := page.Write(v.Member, pageName, req, func(ctx context.Context, tx *db.Tx, req *connectionsv1.UpdateConnectionRequest) (people.Written, error) {
		if name != "" && people.FindField(fields, name) == nil {
			if _, err := people.DefineField(ctx, tx, people.FieldEdit{Name: name}); err != nil {
				return people.Written{}, err
			}
		}
		return people.Update(ctx, tx, people.Patch{ID: req.GetId(), ExpectedVersion: req.ExpectedVersion, Fields: values})
	})
	for i, w := range wrong {
		if id, ok := ids[w.Name]; ok {
			wrong[i].Name = id
		} else {
			wrong[i].Name = newFieldName
		}
	}
	return wrong, written.ChangeID, err
}

// customFieldRows are the values of custom fields, by name.
func customFieldRows(c *connectionsv1.Connection) (out []partRow) {
	for _, f := range sortedFields(c.GetFields()) {
		out = append(out, partRow{Label: f[0], Own: true, Values: linked([]string{f[1]}, linkOnly), Long: strings.Contains(f[1], "\n")})
	}
	return out
}

// linkOnly is the address of a value that is a link.
func linkOnly(value string) string {
	if !strings.Contains(value, "://") {
		return ""
	}
	return webAddress(value)
}

// sortedFields returns the names and texts of values of custom fields, by name.
func sortedFields(values *structpb.Struct) (out [][2]string) {
	texts, err := people.FieldTexts("fields", values)
	if err != nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		out = append(out, [2]string{name, texts[name]})
	}
	return out
}
