package webtest

import (
	"context"
	"net/url"
	"testing"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/kinds"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/timeline"
)

// UndoForm is the address of the form that undoes changes.
const UndoForm = "/activity/undo"

// UndoPath returns the address of the page that undoes a change.
func UndoPath(changeID string) string {
	return UndoForm + "?" + url.Values{"change": {changeID}}.Encode()
}

// By makes a change with a tool, as an agent named Claude.
func By[T any](t testing.TB, s *Site, owner tenant.ID, tool string, fn func(context.Context, *db.Tx) (T, error)) T {
	t.Helper()
	var out T
	actor := db.Actor{CredentialID: "grt_1", CredentialName: "Claude", Tool: tool}
	err := s.Store.Tenant(owner, false).Write(t.Context(), actor, func(ctx context.Context, u *db.Tx) (err error) {
		out, err = fn(ctx, u)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Added adds a person, as an agent.
func Added(t testing.TB, s *Site, owner tenant.ID, name string) (id, changeID string) {
	t.Helper()
	made := By(t, s, owner, "create_connection", func(ctx context.Context, u *db.Tx) (people.Written, error) {
		return people.Create(ctx, u, people.Draft{Name: name})
	})
	return made.Connection.ID, made.ChangeID
}

// Changed changes a person, as an agent, and returns the change.
func Changed(t testing.TB, s *Site, owner tenant.ID, p people.Patch) string {
	t.Helper()
	return By(t, s, owner, "update_connection", func(ctx context.Context, u *db.Tx) (people.Written, error) {
		return people.Update(ctx, u, p)
	}).ChangeID
}

// Noted adds a note about a person, as an agent, and returns the change.
func Noted(t testing.TB, s *Site, owner tenant.ID, about, body string) string {
	t.Helper()
	return By(t, s, owner, "add_note", func(ctx context.Context, u *db.Tx) (string, error) {
		_, changeID, err := timeline.AddNote(ctx, u, timeline.Note{Body: body, ConnectionIDs: []string{about}})
		return changeID, err
	})
}

// Changes returns a member's changes, the latest first.
func Changes(t testing.TB, s *Site, owner tenant.ID) []history.Change {
	t.Helper()
	changes, err := history.ListChanges(t.Context(), s.Store.Tenant(owner, true), history.Query{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return changes
}

// FindPerson returns a person, or nil if there is no such person.
func FindPerson(t testing.TB, s *Site, owner tenant.ID, id string) *people.Connection {
	t.Helper()
	names, err := people.ListNames(t.Context(), s.Store.Tenant(owner, true), []string{id})
	if err != nil {
		t.Fatal(err)
	}
	if names[id] == "" {
		return nil
	}
	c, err := people.GetConnection(t.Context(), s.Store.Tenant(owner, true), id)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Deleted deletes a person, as an agent, and returns the change.
func Deleted(t testing.TB, s *Site, owner tenant.ID, id string) string {
	t.Helper()
	return By(t, s, owner, "delete_connection", func(ctx context.Context, u *db.Tx) (people.Deleted, error) {
		c, err := people.GetConnection(ctx, u, id)
		if err != nil {
			return people.Deleted{}, err
		}
		return people.Delete(ctx, u, kinds.All(), id, c.Name)
	}).ChangeID
}

// LinkTo returns the address of the link with a text; empty if there is none.
func LinkTo(p *Page, name string) string {
	for _, a := range p.All("a") {
		if TextOf(a) == name {
			return Attr(a, "href")
		}
	}
	return ""
}
