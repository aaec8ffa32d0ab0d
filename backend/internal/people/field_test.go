package people_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/kinds"
	"github.com/kith-crm/kith/backend/internal/people"
)

// fielded is a member with custom fields.
type fielded struct {
	*db.Tenant

	t *testing.T
}

func eachFielded(t *testing.T, test func(f fielded)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		test(fielded{s.Tenant(dbtest.Member(t, s, "maria"), false), t})
	})
}

func (f fielded) define(e people.FieldEdit) (done people.Defined, err error) {
	err = f.Write(f.t.Context(), db.Actor{}, func(ctx context.Context, tx *db.Tx) error {
		done, err = people.DefineField(ctx, tx, e)
		return err
	})
	return done, err
}

func (f fielded) mustDefine(e people.FieldEdit) people.Defined {
	f.t.Helper()
	done, err := f.define(e)
	if err != nil {
		f.t.Fatal(err)
	}
	return done
}

// add adds a person with values.
func (f fielded) add(name string, values map[string]string) (id string) {
	f.t.Helper()
	err := f.Write(f.t.Context(), db.Actor{}, func(ctx context.Context, tx *db.Tx) error {
		written, err := people.Create(ctx, tx, people.Draft{Name: name, Fields: values})
		if err == nil {
			id = written.Connection.ID
		}
		return err
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return id
}

func (f fielded) set(id string, values map[string]string) error {
	return f.Write(f.t.Context(), db.Actor{}, func(ctx context.Context, tx *db.Tx) error {
		_, err := people.Update(ctx, tx, people.Patch{ID: id, Fields: values})
		return err
	})
}

// want compares the values of a person, as Name (type): value.
func (f fielded) want(id string, want ...string) {
	f.t.Helper()
	c, err := people.GetConnection(f.t.Context(), f.Tenant, id)
	if err != nil {
		f.t.Fatal(err)
	}
	got := people.IDs(c.Fields, func(v people.FieldValue) string { return fmt.Sprintf("%s (%s): %s", v.Name, v.Type, v.Value) })
	if diff := cmp.Diff(strings.Join(want, "\n"), strings.Join(got, "\n")); diff != "" {
		f.t.Errorf("(-want +got):\n%s", diff)
	}
}

func (f fielded) undo(changeID string) history.Undone {
	f.t.Helper()
	done, err := history.UndoChange(f.t.Context(), f.Tenant, kinds.All(), "test", changeID, false)
	if err != nil {
		f.t.Fatal(err)
	}
	return done
}

// Values follow their field when it is renamed, gets another type or is removed, and an undo brings all back.
func TestDefineField(t *testing.T) {
	t.Parallel()
	eachFielded(t, func(f fielded) {
		made := f.mustDefine(people.FieldEdit{Name: " Shoe  size", Type: people.FieldNumber})
		f.mustDefine(people.FieldEdit{Name: "Club", Type: people.FieldChoice, Choices: []string{"Lions", "Rotary", " lions"}})
		ana, bo := f.add("Ana", map[string]string{"shoe SIZE": "42", "Club": "rotary"}), f.add("Bo", map[string]string{"Shoe size": "39.5"})
		f.want(ana, "Club (choice): Rotary", "Shoe size (number): 42")

		renamed := f.mustDefine(people.FieldEdit{Name: "Shoe size", NewName: "Foot"})
		if renamed.People != 2 || renamed.Field.Name != "Foot" || made.Field.ID != renamed.Field.ID {
			t.Errorf("%+v", renamed)
		}
		f.want(ana, "Club (choice): Rotary", "Foot (number): 42")
		f.mustDefine(people.FieldEdit{Name: "foot", Type: people.FieldText})
		f.want(bo, "Foot (text): 39.5")

		removed := f.mustDefine(people.FieldEdit{Name: "Foot", Remove: true})
		f.want(ana, "Club (choice): Rotary")
		f.want(bo)
		f.undo(removed.ChangeID)
		f.want(ana, "Club (choice): Rotary", "Foot (text): 42")
		f.want(bo, "Foot (text): 39.5")
		if err := f.set(bo, map[string]string{"Foot": "40"}); err != nil {
			t.Errorf("the field is not back: %v", err)
		}

		// A choice that is taken off the list stays with who has it, and nobody else can have it.
		f.mustDefine(people.FieldEdit{Name: "Club", Choices: []string{"Lions"}})
		if err := f.set(ana, map[string]string{"Club": "Rotary"}); err != nil {
			t.Errorf("the stored choice: %v", err)
		}
		f.want(ana, "Club (choice): Rotary", "Foot (text): 42")
		if err := f.set(bo, map[string]string{"Club": "Rotary"}); err == nil || !strings.Contains(err.Error(), `"Lions"`) {
			t.Errorf("a choice that is gone: %v", err)
		}
		if err := f.set(ana, map[string]string{"Club": ""}); err != nil {
			t.Error(err)
		}
		f.want(ana, "Foot (text): 42")
		if done := f.mustDefine(people.FieldEdit{Name: "Foot"}); done.ChangeID != "" {
			t.Errorf("nothing was asked: %+v", done)
		}
	})
}

// A field that was made is not undone while people have values in it.
func TestUndoOfAFieldInUse(t *testing.T) {
	t.Parallel()
	eachFielded(t, func(f fielded) {
		made := f.mustDefine(people.FieldEdit{Name: "Club"})
		ana := f.add("Ana", map[string]string{"Club": "Lions"})
		if done := f.undo(made.ChangeID); len(done.Conflicts) != 1 || !strings.Contains(done.Conflicts[0].Reason, ana) {
			t.Errorf("%+v", done)
		}
		f.want(ana, "Club (text): Lions")
		if err := f.set(ana, map[string]string{"Club": ""}); err != nil {
			t.Fatal(err)
		}
		if done := f.undo(made.ChangeID); len(done.Conflicts) != 0 {
			t.Errorf("%+v", done)
		}
		if fields, err := people.ListFields(t.Context(), f.Tenant); err != nil || len(fields) != 0 {
			t.Errorf("%+v, %v", fields, err)
		}
	})
}

// Wrong definitions and values have an error that says what is right, and write nothing.
func TestWrongFields(t *testing.T) {
	t.Parallel()
	eachFielded(t, func(f fielded) {
		for _, field := range []people.FieldEdit{
			{Name: "Number", Type: people.FieldNumber}, {Name: "Date", Type: people.FieldDate}, {Name: "Yes", Type: people.FieldYesNo},
			{Name: "Choice", Type: people.FieldChoice, Choices: []string{"A", "B"}}, {Name: "Link", Type: people.FieldLink}, {Name: "Text"},
		} {
			f.mustDefine(field)
		}
		ana := f.add("Ana", map[string]string{"Text": "many words"})
		for _, c := range []struct{ name, value, want string }{
			{"Number", "1,5", "write it like -12.5"}, {"Number", "1e3", "no number"}, {"Number", "12345678901234567890", "no number"},
			{"Date", "5 May", "no date"}, {"Date", "2024-02-30", "no date"}, {"Yes", "perhaps", "yes or no"}, {"Choice", "C", `"A", "B"`},
			{"Link", "javascript:alert(1)", "https://"}, {"Text", strings.Repeat("x", people.MaxFieldValue+1), "1000 characters"},
			{"Txt", "a", `nearest: "Text"`}, {"Zebra", "a", "define_field makes one"},
		} {
			err := f.set(ana, map[string]string{c.name: c.value})
			if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s %.20q: %v", c.name, c.value, err)
			}
		}
		for want, e := range map[string]people.FieldEdit{
			"another custom field": {Name: "Text", NewName: "dATE"}, "choices": {Name: "New", Type: people.FieldChoice}, "does not fit": {Name: "Text", Type: people.FieldNumber},
			"visible": {Name: "\u200b"}, "no custom field": {Name: "Other", Remove: true},
		} {
			if _, err := f.define(e); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: %v", e, err)
			}
		}
		for i := 6; i < people.MaxFields; i++ {
			f.mustDefine(people.FieldEdit{Name: fmt.Sprint("Field ", i)})
		}
		if _, err := f.define(people.FieldEdit{Name: "The 51st"}); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "50 custom fields") {
			t.Errorf("the 51st: %v", err)
		}
		f.want(ana, "Text (text): many words")
	})
}

// A merge keeps the values of both people, and says which ones differ.
func TestMergeOfFields(t *testing.T) {
	t.Parallel()
	into := &people.Connection{Name: "Ana", Fields: []people.FieldValue{{Name: "Club", Type: people.FieldText, Value: "Lions"}}, CreatedAt: time.Now()}
	from := &people.Connection{Name: "Ana", Fields: []people.FieldValue{
		{Name: "Club", Type: people.FieldText, Value: "Rotary"}, {Name: "Size", Type: people.FieldNumber, Value: "42"},
	}}
	after, changed, unused, err := into.MergeFrom(from, false)
	if err != nil || !changed || len(unused) != 1 || unused[0] != (people.Unused{Field: "Club", Stored: "Lions", Said: "Rotary"}) {
		t.Errorf("%v, %+v, %v", changed, unused, err)
	}
	if diff := cmp.Diff([]people.FieldValue{into.Fields[0], from.Fields[1]}, after.Fields); diff != "" {
		t.Error(diff)
	}
	after, _, unused, err = into.MergeFrom(from, true)
	if err != nil || len(unused) != 0 {
		t.Errorf("%+v, %v", unused, err)
	}
	if diff := cmp.Diff(from.Fields, after.Fields); diff != "" {
		t.Error(diff)
	}
}
