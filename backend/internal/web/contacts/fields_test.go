package contacts_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

const fieldsPath = "/people/fields"

// customFields returns the member's custom fields.
func customFields(t *testing.T, s *webtest.Site, b *webtest.Browser) []people.Field {
	t.Helper()
	fields, err := people.ListFields(t.Context(), s.Store.Tenant(b.Owner, true))
	if err != nil {
		t.Fatal(err)
	}
	return fields
}

// wantUndoable fails unless a form was saved, and the notice about it can undo it.
func wantUndoable(t *testing.T, p *webtest.Page, notice string) {
	t.Helper()
	if to := p.Header.Get("Location"); p.Status != http.StatusSeeOther || !strings.Contains(to, "change=chg_") || !strings.Contains(to, "done="+notice) {
		t.Fatalf("status %d to %q, not %s:\n%s", p.Status, to, notice, p.Body)
	}
}

func wantBody(t *testing.T, p *webtest.Page, html string) {
	t.Helper()
	if !strings.Contains(p.Body, html) {
		t.Errorf("no %s in:\n%s", html, p.Body)
	}
}

// Fields are defined, changed and removed on their page; people are filtered and sorted by them, and have them on their pages.
func TestCustomFields(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		ada := add(t, s, b.Owner, people.Draft{Name: "Ada Stone"}, "")
		add(t, s, b.Owner, people.Draft{Name: "Ben Okafor"}, "")
		token := b.Get(fieldsPath).Form(fieldsPath + "/save").Get("form_token")
		post := func(id string, values url.Values) *webtest.Page {
			form := url.Values{"field": {id}, "form_token": {token}}
			for name, value := range values {
				form[name+id] = value
			}
			return b.Post(fieldsPath+"/save", form)
		}
		wantPage(t, post("", url.Values{"name": {"Club"}, "type": {"choice"}}), http.StatusBadRequest, "is missing")
		wantPage(t, post("", url.Values{"name": {""}, "type": {"text"}}), http.StatusBadRequest, "Enter a name.")
		wantUndoable(t, post("", url.Values{"name": {"Club"}, "type": {"choice"}, "choices": {"Lions\nRotary"}}), "field-saved")
		wantPage(t, post("", url.Values{"name": {"club"}, "type": {"text"}}), http.StatusBadRequest, "You have a field with this name already.")
		club := customFields(t, s, b)[0]

		person := "/people/" + ada
		form := b.Get(person + "?edit=fields").Form(person + "/edit")
		form.Set(club.ID, "Rotary")
		form.Set("new_field", "Shoe size")
		form.Set("new_value", "38 <wide>")
		wantUndoable(t, b.Post(person+"/edit", form), "person-saved")
		wantPage(t, b.Get(person), http.StatusOK, "Club", "Rotary", "Shoe size", "38 <wide>")
		form = b.Get(person + "?edit=fields").Form(person + "/edit")
		form.Set("new_value", "x")
		wantPage(t, b.Post(person+"/edit", form), http.StatusBadRequest, "Give the field a name.")

		list := b.Get("/people?fields." + club.ID + "=rot&sort=field." + club.ID)
		wantPage(t, list, http.StatusOK, "Ada Stone", "Club: rot", "Rotary")
		wantBody(t, list, `<option value="field.`+club.ID+`" selected>Club</option>`)
		without(t, list, "Ben Okafor")
		wantPage(t, b.Get("/people?sort=field.fld_gone"), http.StatusOK, "Ben Okafor")

		wantUndoable(t, post(club.ID, url.Values{"name": {"Society"}, "type": {"choice"}, "choices": {"Lions"}}), "field-saved")
		wantPage(t, b.Get(person), http.StatusOK, "Society", "Rotary")
		wantBody(t, b.Get(person+"?edit=fields"), `<option value="Rotary" selected>Rotary</option>`)
		wantPage(t, post(club.ID, url.Values{"name": {"Society"}, "type": {"number"}}), http.StatusBadRequest, "has a value that does not fit")

		remove := url.Values{"field": {club.ID}, "form_token": {token}}
		wantUndoable(t, b.Post(fieldsPath+"/remove", remove), "field-removed")
		without(t, b.Get(person), "Society", "Rotary")
		if p := b.Post(fieldsPath+"/remove", remove); p.Status != http.StatusNotFound {
			t.Errorf("removed twice: %d", p.Status)
		}
		wantPage(t, b.Get("/activity?connection_id="+ada), http.StatusOK, "Rotary")
		if left := customFields(t, s, b); len(left) != 1 || !strings.EqualFold(left[0].Name, "shoe size") {
			t.Errorf("%+v", left)
		}
	})
}

// The page of a German member shows the names of their own fields as they wrote them.
func TestOwnNamesStay(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	id, _ := webtest.Added(t, s, b.Owner, "Ada Stone")
	if p := b.Follow(b.Submit(b.Get("/settings/time"), "/settings/time", webtest.Values("locale", "de-DE"))); p.Status != http.StatusOK {
		t.Fatal(p.Text())
	}
	webtest.By(t, s, b.Owner, "define_field", func(ctx context.Context, tx *db.Tx) (people.Defined, error) {
		return people.DefineField(ctx, tx, people.FieldEdit{Name: "Work"})
	})
	p := b.Get("/people/" + id + "?edit=fields")
	if !strings.Contains(p.Text(), "Work") || strings.Contains(p.Text(), "Arbeit") {
		t.Errorf("the field has another name:\n%s", p.Text())
	}
}
