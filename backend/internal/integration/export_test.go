package integration_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/groups"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/reminders"
	"github.com/kith-crm/kith/backend/internal/timeline"
)

func TestListChanges(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "maria")
		for n := range 5 {
			create(t, s, owner, people.Draft{Name: fmt.Sprintf("Person %d", n), Emails: []string{fmt.Sprintf("p%d@x.example", n)}})
		}
		changes, err := history.ListChanges(t.Context(), s.Tenant(owner, true), history.Query{Limit: 3})
		if err != nil || len(changes) != 3 {
			t.Fatalf("got %v, %v", changes, err)
		}
		for i, c := range changes {
			if i > 0 && c.Number >= changes[i-1].Number || c.Tool != "test" || len(c.Effects) != 1 || c.Effects[0].Kind != history.Connection || c.CreatedAt.IsZero() {
				t.Errorf("change %d: %+v", i, c)
			}
		}
	})
}

func TestExport(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner, other := dbtest.Member(t, s, "maria"), dbtest.Member(t, s, "other")
		create(t, s, other, people.Draft{Name: "Not mine"})
		const persons = 501 // one more than is read at a time
		err := write(t, s, owner, func(ctx context.Context, u *db.Tx) error {
			for n := range persons {
				made, err := people.Create(ctx, u, people.Draft{
					Name: fmt.Sprintf("Person %d", n), Organization: "Helios", Title: "Founder", Tags: []string{"Friend"},
					Emails: []string{fmt.Sprintf("p%d@x.example", n), fmt.Sprintf("q%d@x.example", n)},
				})
				if err != nil || n > 0 {
					continue
				}
				about := []string{made.Connection.ID}
				if _, _, err := timeline.AddNote(ctx, u, timeline.Note{Body: "note", ConnectionIDs: about}); err != nil {
					return err
				}
				if _, err := timeline.LogInteractions(ctx, u, timeline.Interaction{Kind: "call", Summary: "call", ConnectionIDs: about}); err != nil {
					return err
				}
				if _, err := arrange(ctx, u, about[0], "arranged"); err != nil {
					return err
				}
				if _, err := bring(ctx, u, about[0], "upload"); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		counts := map[string]int{}
		err = export.Export(t.Context(), s.Tenant(owner, true), func(object any) error {
			counts[fmt.Sprintf("%T", object)]++
			checkExported(t, object)
			return nil
		})
		want := map[string]int{
			"*people.Connection": persons + 1, "*people.Organization": 1, "*timeline.Note": 1, "*timeline.Interaction": 1,
			"*groups.Group": 1, "*views.View": 1, "*people.Field": 1, "*people.Relationship": 1, "*people.DistinctPair": 1, "*reminders.Reminder": 1, "*history.Change": persons + 10,
		}
		if err != nil || fmt.Sprint(counts) != fmt.Sprint(want) {
			t.Errorf("got %v, %v", counts, err)
		}
	})
}

func checkExported(t *testing.T, object any) {
	t.Helper()
	switch o := object.(type) {
	case *people.DistinctPair:
		if o.FirstID == "" || o.FirstID >= o.SecondID {
			t.Errorf("not whole: %+v", o)
		}
	case *groups.Group:
		if o.Name != "arranged" || o.CadenceDays != 1 {
			t.Errorf("not whole: %+v", o)
		}
	case *reminders.Reminder:
		if o.Text != "arranged" || len(o.ConnectionIDs) == 0 {
			t.Errorf("not whole: %+v", o)
		}
	case *people.Connection:
		if o.Name == "arranged too" {
			return
		}
		if o.Name == "Person 0" {
			if fmt.Sprint(o.Groups, o.Dates[0], o.Tags) != "[arranged] --05-17 [arranged Friend]" {
				t.Errorf("not whole: %+v", o)
			}
			return
		}
		if len(o.Handles) != 2 || o.CurrentPosition().Headline() != "Founder at Helios" || len(o.Tags) != 1 {
			t.Errorf("not whole: %+v", o)
		}
	case *timeline.Note:
		if len(o.ConnectionIDs) != 1 || o.Body != "note" {
			t.Errorf("not whole: %+v", o)
		}
	case *timeline.Interaction:
		if len(o.ConnectionIDs) != 1 || o.Summary != "call" {
			t.Errorf("not whole: %+v", o)
		}
	case *history.Change:
		if string(o.Effects[0].After) == "" {
			t.Errorf("not whole: %+v", o)
		}
	}
}

func TestExportStopsWhenTheReaderDoes(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "maria")
		create(t, s, owner, people.Draft{Name: "One"})
		create(t, s, owner, people.Draft{Name: "Two"})
		gone, calls := errors.New("gone"), 0
		err := export.Export(t.Context(), s.Tenant(owner, true), func(any) error {
			calls++
			return gone
		})
		if !errors.Is(err, gone) || calls != 1 {
			t.Errorf("%d calls, %v", calls, err)
		}
	})
}
