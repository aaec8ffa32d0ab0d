package contacts

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/web/page"
	connectionsv1 "github.com/kith-crm/kith/proto/gen/kith/connections/v1"
)

// pageName is the name under which the changes of this page are recorded.
const pageName = "people"

// checkedID checks the id in the address: a malformed one is fault.NotFound.
func (v *request) checkedID() error {
	if !id.Valid(id.Connection, v.personID()) {
		return fault.New(fault.NotFound, "there is no such person")
	}
	return nil
}

// personID returns the id in the address, which checkedID has checked.
func (v *request) personID() string { return v.R.PathValue("id") }

// person reads the person of the address, or returns fault.NotFound.
func (v *request) person() (*person, error) {
	if err := v.checkedID(); err != nil {
		return nil, err
	}
	return v.Insights.GetConnection(v.Ctx, &connectionsv1.GetConnectionRequest{Id: new(v.personID()), Include: []string{"positions"}})
}

// openSection returns the form of a section with what is stored.
func (v *request) openSection(p *person, name string) (Form, error) {
	s, ok := sectionOf(name)
	if !ok {
		return Form{Name: name}, nil // such as the relations, whose forms need no values
	}
	stored, err := s.fields(v, p)
	if err != nil {
		return Form{}, err
	}
	f := Form{Name: name, Fields: stored}
	s.finish(v, &f, stored)
	return f, nil
}

// finish adds the digests of what is stored, and an empty row.
func (s section) finish(v *request, f *Form, stored []FormField) {
	if s.row != nil {
		f.Seen = []hiddenValue{{seenPrefix + s.name, rowsDigest(stored)}}
		size := len(s.row(v, 0))
		rows := len(f.Fields) / size
		if rows == 0 || slices.ContainsFunc(f.Fields[(rows-1)*size:], func(field FormField) bool { return field.Options == nil && field.Value != "" }) {
			f.Fields = append(f.Fields, s.row(v, rows)...)
		}
		return
	}
	for _, field := range stored {
		f.Seen = append(f.Seen, hiddenValue{seenPrefix + field.Name, digest(field.Value)})
	}
}

// rowsDigest returns a digest of the rows that are not empty.
func rowsDigest(fields []FormField) string {
	var values []string
	for _, f := range fields {
		values = append(values, f.Value)
	}
	return digest(values...)
}

// typed returns the inputs of the section with what was typed. Empty rows are left out.
func (s section) typed(v *request, stored []FormField, posted url.Values) []FormField {
	var fields []FormField
	if s.row == nil {
		for _, f := range stored {
			fields = append(fields, f.typed(posted))
		}
		return fields
	}
	for i := range maxRows {
		row := s.row(v, len(fields)/len(s.row(v, 0)))
		if !posted.Has(s.row(v, i)[0].Name) {
			break
		}
		empty := true
		for j, f := range s.row(v, i) {
			row[j] = row[j].with(f.typed(posted).Value)
			empty = empty && (f.Options != nil || f.Check || row[j].Value == "")
		}
		if !empty {
			fields = append(fields, row...)
		}
	}
	return fields
}

// maxRows limits the rows that a form may have.
const maxRows = 60

// maxAttempts is how often a form is saved again when something else changed the person
// while it was being saved.
const maxAttempts = 3

// editSection saves the form of a section. A field that was changed elsewhere since the form
// was shown keeps that value unless it was changed in the form too: then the page shows both
// values, and nothing is written.
func (v *request) editSection() error {
	s, ok := sectionOf(v.R.PostForm.Get("section"))
	if !ok {
		return fault.New(fault.NotFound, "there is no such section")
	}
	for attempt := 1; ; attempt++ {
		p, err := v.person()
		if err != nil {
			return err
		}
		stored, err := s.fields(v, p)
		if err != nil {
			return err
		}
		form := Form{Name: s.name, Fields: s.typed(v, stored, v.R.PostForm)}
		changed := form.merge(s, stored, v.R.PostForm)
		s.finish(v, &form, stored)
		if form.Conflict {
			return v.showForm(http.StatusConflict, p, form)
		}
		if len(changed) == 0 {
			return v.Redirect(v.shown())
		}
		wrong, changeID, err := s.save(v, p, &form, changed)
		switch {
		case fault.Is(err, fault.Conflict) && attempt < maxAttempts && p.GetConnection().GetArchivedAt() == nil:
		case err != nil:
			return err
		case len(wrong) > 0:
			form.mark(wrong)
			return v.showForm(http.StatusBadRequest, p, form)
		default:
			return v.done("person-saved", changeID)
		}
	}
}

// merge compares three states: what was typed, what is stored, and what the form was shown with. It
// returns the names of the fields to write. For rows, it returns the name of the section.
func (f *Form) merge(s section, stored []FormField, posted url.Values) map[string]bool {
	changed := map[string]bool{}
	if s.row != nil {
		seen, is, typed := posted.Get(seenPrefix+s.name), rowsDigest(stored), rowsDigest(f.Fields)
		switch mine, theirs := typed != seen, is != seen; {
		case typed == is || !mine:
		case theirs:
			f.conflictRows(stored)
		default:
			changed[s.name] = true
		}
		return changed
	}
	for i := range f.Fields {
		field, is := &f.Fields[i], stored[i].Value
		seen := posted.Get(seenPrefix + field.Name)
		switch mine, theirs := digest(field.Value) != seen, digest(is) != seen; {
		case field.Value == is:
		case !mine:
			*field = stored[i]
		case theirs:
			field.Stored, field.Differs, f.Conflict = is, true, true
			f.Errors = append(f.Errors, page.FieldError{Name: field.Name, Message: field.Label + ": changed while you were typing."})
		default:
			changed[field.Name] = true
		}
	}
	return changed
}

// conflictRows marks a form with rows as in conflict with what is stored.
func (f *Form) conflictRows(stored []FormField) {
	f.Conflict = true
	f.Errors = append(f.Errors, page.FieldError{Name: "edit-" + f.Name, Message: "This list was changed while you were typing."})
	for i := range f.Fields {
		f.Fields[i].Differs = true
		if i < len(stored) {
			f.Fields[i].Stored = stored[i].Value
		}
	}
}
