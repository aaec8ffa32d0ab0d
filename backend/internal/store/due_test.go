package store_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kith-crm/kith/backend/internal/change"
	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/organize"
	"github.com/kith-crm/kith/backend/internal/reminder"
	"github.com/kith-crm/kith/backend/internal/store"
	"github.com/kith-crm/kith/backend/internal/storetest"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/timeline"
)

func latestChange(t *testing.T, s *store.Store, owner tenant.ID) change.Change {
	t.Helper()
	changes, err := s.Tenant(owner, true).ListChanges(t.Context(), change.Query{Limit: 1})
	if err != nil || len(changes) != 1 {
		t.Fatalf("%+v, %v", changes, err)
	}
	return changes[0]
}

func addReminder(t *testing.T, s *store.Store, owner tenant.ID, r reminder.Reminder) (out *reminder.Reminder) {
	t.Helper()
	err := write(t, s, owner, func(ctx context.Context, u *store.Unit) (err error) {
		out, _, err = reminder.Create(ctx, u, r, u.Now())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestListDue(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 2, 25, 15, 0, 0, 0, time.UTC)
	storetest.Databases(t, func(t *testing.T, url string) {
		s := storetest.Open(t, url, func() time.Time { return now })
		owner := storetest.Member(t, s, "maria")
		ana := create(t, s, owner, connection.Draft{Name: "Ana", Dates: []connection.DateDraft{{Kind: "birthday", Date: "1992-02-29"}, {Kind: "anniversary", Date: "--03-05"}}})
		ben := create(t, s, owner, connection.Draft{Name: "Ben", Dates: []connection.DateDraft{{Kind: "birthday", Date: "1990-02"}, {Kind: "birthday", Date: "1990"}}})
		gone := create(t, s, owner, connection.Draft{Name: "Gone", Dates: []connection.DateDraft{{Kind: "birthday", Date: "--02-26"}}})
		addReminder(t, s, owner, reminder.Reminder{Text: "Alone", DueOn: "2026-02-26"})
		addReminder(t, s, owner, reminder.Reminder{Text: "Late", DueOn: "2026-02-01", ConnectionID: ben.ID})
		addReminder(t, s, owner, reminder.Reminder{Text: "Later", DueOn: "2026-03-12"})
		addReminder(t, s, owner, reminder.Reminder{Text: "Archived", DueOn: "2026-02-26", ConnectionID: gone.ID})
		done := addReminder(t, s, owner, reminder.Reminder{Text: "Done", DueOn: "2026-02-26"})
		err := write(t, s, owner, func(ctx context.Context, u *store.Unit) error {
			if _, err := reminder.Complete(ctx, u, reminder.Completion{ID: done.ID, Outcome: reminder.Done, Zone: time.UTC, Today: now.Truncate(24 * time.Hour)}); err != nil {
				return err
			}
			for id, days := range map[string]int{ana.ID: 1, gone.ID: 1} {
				if _, err := connection.SetCadence(ctx, u, connection.CadencePatch{ID: id, Days: new(days)}); err != nil {
					return err
				}
			}
			if _, err := timeline.LogInteraction(ctx, u, timeline.Interaction{Kind: "call", OccurredAt: now.AddDate(0, 0, -9), ConnectionIDs: []string{ana.ID, ben.ID}}); err != nil {
				return err
			}
			_, err := organize.Save(ctx, u, organize.Patch{Name: new("Weekly"), CadenceDays: new(7)})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		updateMembership(t, s, owner, organize.MembershipPatch{ConnectionIDs: []string{ana.ID, ben.ID, gone.ID}, AddGroups: []string{"Weekly"}})
		archive(t, s, owner, true, gone.ID)

		q := reminder.DueQuery{Today: now.Truncate(24 * time.Hour), Zone: time.UTC, Limit: 50}
		list := func(days int, of string) []string {
			t.Helper()
			q.Until, q.ConnectionID = q.Today.AddDate(0, 0, days), of
			due, _, err := reminder.List(t.Context(), s.Tenant(owner, true), q)
			if err != nil {
				t.Fatal(err)
			}
			out := []string{}
			for _, d := range due {
				out = append(out, strings.TrimSuffix(d.DueOn+" "+d.Name+": "+d.Text, " "))
			}
			return out
		}
		late, touchAna, touchBen := "2026-02-01 Ben: Late", "2026-02-17 Ana: Every day, last contact 9 days ago", "2026-02-23 Ben: Every 7 days, last contact 9 days ago"
		leap, alone := "2026-02-28 Ana: Birthday, turns 34", "2026-02-26 : Alone"
		for name, c := range map[string]struct {
			got, want []string
		}{
			"today":       {list(0, ""), []string{late, touchAna, touchBen}},
			"three days":  {list(3, ""), []string{late, touchAna, touchBen, alone, leap}},
			"two days":    {list(2, ""), []string{late, touchAna, touchBen, alone}},
			"a fortnight": {list(14, ""), []string{late, touchAna, touchBen, alone, leap, "2026-03-05 Ana: Anniversary"}},
			"a year":      {list(366, ""), []string{late, touchAna, touchBen, alone, leap, "2026-03-05 Ana: Anniversary", "2026-03-12 : Later"}},
			"one person":  {list(3, ana.ID), []string{touchAna, leap}},
			"another":     {list(3, ben.ID), []string{late, touchBen}},
		} {
			if !slices.Equal(c.got, c.want) {
				t.Errorf("%s:\n%s\nwant\n%s", name, strings.Join(c.got, "\n"), strings.Join(c.want, "\n"))
			}
		}
		q.ConnectionID = gone.ID
		if _, _, err := reminder.List(t.Context(), s.Tenant(owner, true), q); !fault.Is(err, fault.NotFound) {
			t.Errorf("an archived person: %v", err)
		}
	})
}

// Over the turn of a year and on leap days, the database finds the dates that the
// rule finds among all.
func TestDatesDueAreThoseOfTheRule(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		owner := storetest.Member(t, s, "maria")
		var all []connection.ImportantDate
		err := write(t, s, owner, func(ctx context.Context, u *store.Unit) error {
			for n := range 74 {
				on := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, 5*n)
				made, err := connection.Create(ctx, u, connection.Draft{Name: fmt.Sprint("Person ", n), Dates: []connection.DateDraft{
					{Kind: "birthday", Date: "--" + on.Format("01-02")}, {Kind: "anniversary", Date: "--02-29"}, {Kind: "other", Date: "1999-03"},
				}})
				if err != nil {
					return err
				}
				all = append(all, made.Connection.Dates...)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		rapid.Check(t, func(rt *rapid.T) {
			q := reminder.DueQuery{Zone: time.UTC, Kinds: []string{"date"}, Limit: 1000}
			q.Today = time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, rapid.IntRange(0, 2000).Draw(rt, "today"))
			q.Until = q.Today.AddDate(0, 0, rapid.IntRange(0, 366).Draw(rt, "days"))
			want := 0
			for _, d := range all {
				if on, ok := d.Next(q.Today); ok && !on.After(q.Until) {
					want++
				}
			}
			due, counts, err := reminder.List(context.Background(), s.Tenant(owner, true), q)
			if err != nil || len(due) != want || counts.Dates != want {
				rt.Fatalf("from %v to %v: %d of %d, %v", q.Today, q.Until, len(due), want, err)
			}
		})
	})
}

// Two who complete a recurring reminder at once move it once.
func TestCompleteUnderConcurrency(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		owner := storetest.Member(t, s, "maria")
		today := time.Now().UTC().Truncate(24 * time.Hour)
		r := addReminder(t, s, owner, reminder.Reminder{Text: "x", DueOn: today.Format(time.DateOnly), Recurrence: "weekly"})
		errs := together(6, func(int) error {
			return s.Tenant(owner, false).Write(t.Context(), store.Actor{}, func(ctx context.Context, u *store.Unit) error {
				_, err := reminder.Complete(ctx, u, reminder.Completion{ID: r.ID, DueOn: r.DueOn, Outcome: "done", Zone: time.UTC, Today: today})
				return err
			})
		})
		for _, err := range errs {
			if err != nil {
				t.Error(err)
			}
		}
		err := write(t, s, owner, func(ctx context.Context, u *store.Unit) error {
			got, err := u.GetReminder(ctx, r.ID)
			if err == nil && (got.DueOn != today.AddDate(0, 0, 7).Format(time.DateOnly) || got.Version != 2) {
				t.Errorf("%+v", got)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
}
