package people

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/call"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
	connectionsv1 "github.com/kith-crm/kith/proto/gen/kith/connections/v1"
	"github.com/uptrace/bun"
	"google.golang.org/protobuf/types/known/structpb"
)

// The types of a custom field.
const (
	FieldText   = "text"
	FieldNumber = "number"
	FieldDate   = "date"
	FieldYesNo  = "yes_no"
	FieldChoice = "choice"
	FieldLink   = "link"
)

// FieldTypes lists the types with what forms call them.
func FieldTypes() [][2]string {
	return [][2]string{
		{FieldText, "Text"}, {FieldNumber, "Number"}, {FieldDate, "Date"}, {FieldYesNo, "Yes or no"}, {FieldChoice, "Choice"}, {FieldLink, "Link"},
	}
}

// The bounds on custom fields. Lengths are in characters.
const (
	// MaxFields is how many fields a member defines at most.
	MaxFields = 50
	// MaxChoices is how many choices a field has at most.
	MaxChoices = 50
	// MaxFieldName bounds the name of a field and of a choice.
	MaxFieldName = 80
	// MaxFieldValue bounds a value.
	MaxFieldValue = 1000
)

// Field is a custom field: one that a member defined for people, and its database row.
type Field struct {
	bun.BaseModel `bun:"table:custom_fields,alias:field"`

	TenantID tenant.ID `bun:",pk" json:"-"`
	ID       string    `bun:",pk" json:"id"`
	Name     string    `json:"name"`
	// FoldedName is Name, folded for comparison; it is unique within the tenant.
	FoldedName string `json:"-"`
	// Type is one of the Field constants.
	Type string `json:"type"`
	// Choices are those of the type choice, in a column with JSON.
	Choices   []string  `bun:",nullzero" json:"choices"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// FieldValue is the value of a custom field on a person, in a list that is ordered by folded names. It names its field,
// so that a card says what it holds without the member's fields; renaming a field rewrites its values.
type FieldValue struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	Value string `json:"value"`
}

// compare orders values by the names of their fields.
func (v FieldValue) compare(other FieldValue) int {
	return strings.Compare(text.Fold(v.Name), text.Fold(other.Name))
}

// numeral is a number that every format and database can hold.
var numeral = regexp.MustCompile(`^-?[0-9]{1,15}(\.[0-9]{1,9})?$`)

// Parse returns a value of the field in its stored form. The error names the field.
func (f *Field) Parse(value string) (string, error) {
	value = text.Clean(value)
	if f.Type != FieldText {
		value = text.Line(value)
	}
	wrong := func(format string, args ...any) (string, error) {
		return "", fault.InvalidField(f.Name, format, args...)
	}
	if utf8.RuneCountInString(value) > MaxFieldValue {
		return wrong("has more than %d characters", MaxFieldValue)
	}
	switch f.Type {
	case FieldNumber:
		if !numeral.MatchString(value) {
			return wrong("%s is no number; write it like -12.5", text.Quote(value))
		}
	case FieldDate:
		if CheckPartialDate("", value) != nil {
			return wrong("%s is no date; use YYYY, YYYY-MM or YYYY-MM-DD", text.Quote(value))
		}
	case FieldYesNo:
		switch text.Fold(value) {
		case "yes", "true", "1":
			return "yes", nil
		case "no", "false", "0":
			return "no", nil
		}
		return wrong("takes yes or no, not %s", text.Quote(value))
	case FieldChoice:
		if slices.Contains(f.Choices, value) {
			return value, nil
		}
		for _, choice := range f.Choices {
			if text.Fold(choice) == text.Fold(value) {
				return choice, nil
			}
		}
		return wrong("%s is none of its choices: %s", text.Quote(value), quoted(f.Choices))
	case FieldLink:
		if link := strings.ToLower(value); !strings.HasPrefix(link, "https://") && !strings.HasPrefix(link, "http://") || strings.Contains(value, " ") {
			return wrong("%s is no link; it begins with https://", text.Quote(value))
		}
	}
	return value, nil
}

// quoted lists the first names.
func quoted(names []string) string {
	const most = 12
	list := strings.Join(IDs(names[:min(len(names), most)], text.Quote), ", ")
	if len(names) > most {
		list += " …"
	}
	return list
}

// ListFields returns the member's custom fields by their folded names.
func ListFields(ctx context.Context, q db.Reader) ([]Field, error) {
	var fields []Field
	err := q.From(&fields).Order("folded_name").Scan(ctx)
	return fields, err
}

// FindField returns the field with a name, in any spelling; nil if there is none.
func FindField(fields []Field, name string) *Field {
	folded := text.Fold(text.Line(name))
	at := slices.IndexFunc(fields, func(f Field) bool { return f.FoldedName == folded })
	if at < 0 {
		return nil
	}
	return &fields[at]
}

// UnknownField returns the error of an argument that names a custom field that the member did not define.
func UnknownField(argument string, fields []Field, name string) error {
	if len(fields) == 0 {
		return fault.InvalidField(argument, "there is no custom field %s, nor any other; define_field makes one", text.Quote(name))
	}
	return fault.InvalidField(argument, "there is no custom field %s%s; list_groups lists the fields, and define_field makes one",
		text.Quote(name), text.Nearest(context.Background(), IDs(fields, fieldName), name))
}

func fieldName(f Field) string { return f.Name }

// editFields sets the values of an argument with custom fields, by the names of the fields. An empty value removes one.
func (c *Connection) editFields(ctx context.Context, q db.Reader, argument string, values map[string]string) error {
	if len(values) == 0 {
		return nil
	}
	defined, err := ListFields(ctx, q)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(values)) { // in order, so that an error is the same each time
		value, f := values[name], FindField(defined, name)
		held := func(v FieldValue) bool { return text.Fold(v.Name) == text.Fold(text.Line(name)) }
		if !text.Visible(value) { // a value may have outlived its field
			if f == nil && !slices.ContainsFunc(c.Fields, held) {
				return UnknownField(argument, defined, name)
			}
			c.Fields = slices.DeleteFunc(c.Fields, held)
			continue
		}
		if f == nil {
			return UnknownField(argument, defined, name)
		}
		if slices.ContainsFunc(c.Fields, func(v FieldValue) bool { return held(v) && v.Value == value }) {
			continue // it is stored already, even if it is no choice any more
		}
		parsed, err := f.Parse(value)
		if err != nil {
			return err
		}
		c.putField(FieldValue{f.Name, f.Type, parsed})
	}
	if len(c.Fields) == 0 {
		c.Fields = nil
	}
	return nil
}

// putField sets a value in its place.
func (c *Connection) putField(v FieldValue) { c.Fields = PutField(c.Fields, v) }

// PutField sets the value of a field in a list, which is sorted by the folded names of fields, and returns the list.
func PutField(list []FieldValue, v FieldValue) []FieldValue {
	at, found := slices.BinarySearchFunc(list, v, FieldValue.compare)
	if !found {
		return slices.Insert(list, at, v)
	}
	list[at] = v
	return list
}

// absorbField adds the value of a merged person. If there is another value, that one stays, or with take
// the new one. absorbField returns which value stays and which does not; both are empty when nothing is lost.
func (c *Connection) absorbField(v FieldValue, take bool) (kept, dropped string) {
	at, found := slices.BinarySearchFunc(c.Fields, v, FieldValue.compare)
	if !found {
		c.putField(v)
		return "", ""
	}
	had := c.Fields[at]
	if had.Value == v.Value {
		return "", ""
	}
	if take {
		c.putField(v)
		return v.Value, had.Value
	}
	return had.Value, v.Value
}

// customFields adds the values of a file.
func (b *blend) customFields(from []FieldValue) {
	for _, v := range from {
		at, found := slices.BinarySearchFunc(b.Fields, v, FieldValue.compare)
		if !found {
			b.putField(v)
			b.changed = true
			continue
		}
		set(b, v.Name, &b.Fields[at].Value, v.Value)
	}
}

// FieldEdit says what to define, or to change of a field.
type FieldEdit struct {
	// Name is the field's; a new name defines a field.
	Name string
	// NewName renames it unless empty.
	NewName string
	// Type is its type; empty leaves it, or means text for a new field.
	Type string
	// Choices replace the choices unless empty. People keep a value that is no choice any more.
	Choices []string
	// Remove removes the field and its values.
	Remove bool
}

// Defined is the result of DefineField.
type Defined struct {
	// Field is nil if it was removed.
	Field *Field
	// People is how many people have a value that changed with it.
	People int
	// ChangeID is empty if nothing was written.
	ChangeID string
}

// DefineField defines a custom field, or changes, renames or removes one. Values change with their field, and one change
// records all. It fails with fault.Invalid for a value that does not fit the new type, and for a removal that
// touches more people than one write may change.
func DefineField(ctx context.Context, tx *db.Tx, e FieldEdit) (Defined, error) {
	fields, err := ListFields(ctx, tx)
	if err != nil {
		return Defined{}, err
	}
	before := FindField(fields, e.Name)
	after, summary, err := e.apply(fields, before, tx.Now())
	if err != nil || after != nil && before != nil && after.same(before) {
		return Defined{Field: after}, err
	}
	effect := history.EffectDraft{Kind: history.Field}
	var effects []history.EffectDraft
	if before != nil {
		if effects, err = rewriteFields(ctx, tx, before, after); err != nil {
			return Defined{}, err
		}
		effect.ID, effect.Before = before.ID, before
		if err := tx.Delete(ctx, (*Field)(nil), "id = ?", before.ID); err != nil {
			return Defined{}, err
		}
	}
	if after != nil {
		if err := insertField(ctx, tx, after); err != nil {
			return Defined{}, err
		}
		effect.ID, effect.After = after.ID, after
	}
	changeID, err := history.Record(ctx, tx, history.Draft{Summary: summary, Effects: append(effects, effect)})
	return Defined{Field: after, People: len(effects), ChangeID: changeID}, err
}

// same reports whether two versions of a field say the same.
func (f *Field) same(other *Field) bool {
	return f.Name == other.Name && f.Type == other.Type && slices.Equal(f.Choices, other.Choices)
}

// apply returns the field after the edit, nil if it is removed, and what is done in one line.
func (e FieldEdit) apply(fields []Field, before *Field, now time.Time) (after *Field, summary string, err error) {
	if before == nil {
		if e.Remove || e.NewName != "" {
			return nil, "", UnknownField("name", fields, e.Name)
		}
		if len(fields) >= MaxFields {
			return nil, "", fault.InvalidField("name", "there are %d custom fields already, and no more can be made", MaxFields)
		}
		after = &Field{Name: text.Line(e.Name), Type: FieldText, CreatedAt: now}
		summary = "Defined the field " + after.Name
	} else {
		if e.Remove {
			return nil, "Removed the field " + before.Name, nil
		}
		after = new(*before)
		if e.NewName != "" {
			after.Name = text.Line(e.NewName)
		}
		summary = "Changed the field " + after.Name
		if other := FindField(fields, after.Name); other != nil && other.ID != before.ID {
			return nil, "", fault.New(fault.AlreadyExists, "another custom field is called %s", text.Quote(other.Name))
		}
	}
	after.FoldedName, after.UpdatedAt = text.Fold(after.Name), now
	if !text.Visible(after.Name) {
		return nil, "", fault.InvalidField("name", "must hold at least one visible character")
	}
	after.Type = cmp.Or(e.Type, after.Type)
	if len(e.Choices) > 0 {
		after.Choices = nil
	}
	for _, choice := range Distinct(IDs(e.Choices, text.Line)) {
		if text.Visible(choice) {
			after.Choices = append(after.Choices, choice)
		}
	}
	if after.Type != FieldChoice {
		after.Choices = nil
	} else if len(after.Choices) == 0 {
		return nil, "", fault.InvalidField("choices", "is missing: say what there is to choose from")
	}
	return after, summary, nil
}

// insertField inserts a field, and sets its id unless it has one.
func insertField(ctx context.Context, tx *db.Tx, f *Field) error {
	f.TenantID, f.FoldedName = tx.TenantID(), text.Fold(f.Name)
	id.Fill(&f.ID, id.Field)
	_, err := tx.NewInsert().Model(f).Exec(ctx)
	return err
}

// fieldValues is the part of a person's state that a change of a field changes.
type fieldValues struct {
	Fields []FieldValue `json:"fields"`
}

// fieldHolder is a person with values of custom fields.
type fieldHolder struct {
	bun.BaseModel `bun:"table:connections,alias:connection"`

	ID     string
	Name   string
	Fields []FieldValue
}

// holdersOf returns the people who have a value of a field, in the order of their ids, with the place of the value.
func holdersOf(ctx context.Context, q db.Reader, folded string) (holders []fieldHolder, at []int, err error) {
	var all []fieldHolder
	if err := q.From(&all).Column("id", "name", "fields").Where("fields IS NOT NULL").Order("id").Scan(ctx); err != nil {
		return nil, nil, err
	}
	for _, h := range all {
		if i := slices.IndexFunc(h.Fields, func(v FieldValue) bool { return text.Fold(v.Name) == folded }); i >= 0 {
			holders, at = append(holders, h), append(at, i)
		}
	}
	return holders, at, nil
}

// rewriteFields changes the values of a field as the field changes; after is nil if it goes. It returns the effects.
func rewriteFields(ctx context.Context, tx *db.Tx, before, after *Field) ([]history.EffectDraft, error) {
	if after != nil && after.Name == before.Name && after.Type == before.Type {
		return nil, nil
	}
	holders, places, err := holdersOf(ctx, tx, before.FoldedName)
	if err != nil {
		return nil, err
	}
	err = history.CheckEffects(len(holders)+1, "empty the field of some people first")
	if err != nil {
		return nil, err
	}
	var effects []history.EffectDraft
	for i := range holders {
		h := &holders[i]
		was := fieldValues{h.Fields}
		changed := Connection{Fields: slices.Delete(slices.Clone(h.Fields), places[i], places[i]+1)}
		if after != nil {
			value := h.Fields[places[i]].Value
			if after.Type != before.Type {
				if value, err = after.Parse(value); err != nil {
					return nil, fault.InvalidField("type", "%s has a value that does not fit: %s", text.Quote(h.Name), err)
				}
			}
			changed.putField(FieldValue{after.Name, after.Type, value})
		}
		h.Fields = changed.Fields
		effects = append(effects, history.EffectDraft{Kind: history.Connection, ID: h.ID, Before: was, After: fieldValues{h.Fields}})
	}
	return effects, storeFields(ctx, tx, holders)
}

// storeFields stores the values of people, some hundred people a statement.
func storeFields(ctx context.Context, tx *db.Tx, holders []fieldHolder) error {
	for some := range slices.Chunk(holders, 400) {
		var args []any
		var ids []string
		for _, h := range some {
			var stored any
			if len(h.Fields) > 0 {
				values, err := json.Marshal(h.Fields)
				if err != nil {
					return fmt.Errorf("encode custom fields: %w", err)
				}
				stored = string(values)
			}
			args, ids = append(args, h.ID, stored), append(ids, h.ID)
		}
		rows := strings.TrimSuffix(strings.Repeat("(?, ?), ", len(some)), ", ")
		_, err := tx.NewRaw("WITH v (id, fields) AS (VALUES "+rows+`) UPDATE connections SET fields = v.fields, version = version + 1, updated_at = ?
FROM v WHERE connections.tenant_id = ? AND connections.id = v.id`, append(args, tx.Now(), tx.TenantID())...).Exec(ctx)
		if err != nil {
			return fmt.Errorf("store custom fields: %w", err)
		}
		tx.MarkDirty(ids...)
	}
	return nil
}

// EnsureFields defines the fields of people's values that the member has not defined, as far as there is room, and
// returns the effects. Values of the others stay with their people.
func EnsureFields(ctx context.Context, tx *db.Tx, people []*Connection) (effects []history.EffectDraft, err error) {
	if !slices.ContainsFunc(people, func(c *Connection) bool { return len(c.Fields) > 0 }) {
		return nil, nil
	}
	fields, err := ListFields(ctx, tx)
	if err != nil {
		return nil, err
	}
	for _, c := range people {
		for _, v := range c.Fields {
			if FindField(fields, v.Name) != nil || len(fields) >= MaxFields {
				continue
			}
			f := &Field{Name: v.Name, Type: cmp.Or(v.Type, FieldText), CreatedAt: tx.Now(), UpdatedAt: tx.Now()}
			if f.Type == FieldChoice {
				f.Choices = choicesOf(people, v.Name)
			}
			if err := insertField(ctx, tx, f); err != nil {
				return nil, err
			}
			fields = append(fields, *f)
			effects = append(effects, history.EffectDraft{Kind: history.Field, ID: f.ID, After: f})
		}
	}
	return effects, nil
}

// choicesOf returns the values that people have in a field.
func choicesOf(people []*Connection, name string) (choices []string) {
	for _, c := range people {
		for _, v := range c.Fields {
			if text.Fold(v.Name) == text.Fold(name) && len(choices) < MaxChoices && !slices.Contains(choices, v.Value) {
				choices = append(choices, v.Value)
			}
		}
	}
	return choices
}

// FieldTexts returns the values of an argument with custom fields, by the names of the fields: empty for null. It fails with
// fault.Invalid for a list or an object.
func FieldTexts(argument string, values *structpb.Struct) (map[string]string, error) {
	if len(values.GetFields()) > MaxFields {
		return nil, fault.InvalidField(argument, "has more than %d fields", MaxFields)
	}
	out := make(map[string]string, len(values.GetFields()))
	for name, value := range values.GetFields() {
		switch v := value.GetKind().(type) {
		case *structpb.Value_NullValue:
			out[name] = ""
		case *structpb.Value_StringValue:
			out[name] = v.StringValue
		case *structpb.Value_NumberValue:
			out[name] = strconv.FormatFloat(v.NumberValue, 'f', -1, 64)
		case *structpb.Value_BoolValue:
			out[name] = map[bool]string{true: "yes", false: "no"}[v.BoolValue]
		default:
			return nil, fault.InvalidField(argument, "%s takes a text, a number, true, false or null", text.Quote(name))
		}
	}
	return out, nil
}

// FieldsMessage returns the values by the names of their fields; nil for none.
func FieldsMessage(values []FieldValue) *structpb.Struct {
	if len(values) == 0 {
		return nil
	}
	out := &structpb.Struct{Fields: make(map[string]*structpb.Value, len(values))}
	for _, v := range values {
		value := structpb.NewStringValue(v.Value)
		if n, err := strconv.ParseFloat(v.Value, 64); err == nil && v.Type == FieldNumber {
			value = structpb.NewNumberValue(n)
		} else if v.Type == FieldYesNo {
			value = structpb.NewBoolValue(v.Value == "yes")
		}
		out.Fields[v.Name] = value
	}
	return out
}

// DefineField implements the RPC.
func (h *RPC) DefineField(ctx context.Context, tx *db.Tx, req *connectionsv1.DefineFieldRequest) (*connectionsv1.DefineFieldResponse, error) {
	done, err := DefineField(ctx, tx, FieldEdit{
		Name: req.GetName(), NewName: req.GetNewName(), Type: req.GetType(), Choices: req.GetChoices(), Remove: req.GetRemove(),
	})
	if err != nil {
		return nil, err
	}
	fields, err := ListFields(ctx, tx)
	res := &connectionsv1.DefineFieldResponse{People: int32(done.People), ChangeId: call.Optional(done.ChangeID)}
	res.Fields = FieldMessages(fields)
	return res, err
}

// FieldMessages returns fields as answers show them.
func FieldMessages(fields []Field) []*connectionsv1.CustomField {
	out := make([]*connectionsv1.CustomField, len(fields))
	for i, f := range fields {
		out[i] = &connectionsv1.CustomField{Name: f.Name, Type: f.Type, Choices: f.Choices}
	}
	return out
}

// putField sets a custom field, whose values are restored with the people, to a state; nil removes it.
func putField(ctx context.Context, tx *db.Tx, id string, f *Field) error {
	if f == nil {
		return removeField(ctx, tx, id)
	}
	f.ID = id
	namesake, err := tx.FirstID(ctx, "SELECT id FROM custom_fields WHERE tenant_id = ? AND folded_name = ? AND id <> ?", tx.TenantID(), text.Fold(f.Name), id)
	if err != nil {
		return err
	}
	if namesake != "" {
		return fault.New(fault.Conflict, "%s has its name now", namesake)
	}
	if err := tx.Delete(ctx, (*Field)(nil), "id = ?", id); err != nil {
		return err
	}
	return insertField(ctx, tx, f)
}

// removeField removes a field that was made, unless people have values in it.
func removeField(ctx context.Context, tx *db.Tx, id string) error {
	folded, err := tx.FirstID(ctx, "SELECT folded_name FROM custom_fields WHERE tenant_id = ? AND id = ?", tx.TenantID(), id)
	if err != nil || folded == "" {
		return err
	}
	holders, _, err := holdersOf(ctx, tx, folded)
	if err != nil {
		return err
	}
	if len(holders) > 0 {
		return fault.New(fault.Conflict, "%s has a value in it now", holders[0].ID)
	}
	return tx.Delete(ctx, (*Field)(nil), "id = ?", id)
}

// RestoreField returns the restorer of custom fields.
func RestoreField(tx *db.Tx) history.Restorer { return history.Row(tx, putField) }
