package integration_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/groups"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/reminders"
	"github.com/kith-crm/kith/backend/internal/sources"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/timeline"
	"pgregory.net/rapid"
)

func latestChange(t *testing.T, s *db.DB, owner tenant.ID) history.Change {
	t.Helper()
	changes, err := history.ListChanges(t.Context(), s.Tenant(owner, true), history.Query{Limit: 1})
	if err != nil || len(changes) != 1 {
		t.Fatalf("%+v, %v", changes, err)
	}
	return changes[0]
}

func addReminder(t *testing.T, s *db.DB, owner tenant.ID, r reminders.Reminder) (out *reminders.Reminder) {
	t.Helper()
	err := write(t, s, owner, func(ctx context.Context, u *db.Tx) (err error) {
		out, _, err = reminders.Create(ctx, u, r, u.Now().AddDate(0, -1, 0)) // some are overdue by now
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
	dbtest.Databases(t, func(t *testing.T, url string) {
		s := dbtest.Open(t, url, func() time.Time { return now })
		owner := dbtest.Member(t, s, "maria")
		ana := create(t, s, owner, people.Draft{Name: "Ana", Dates: []people.DateDraft{{Kind: "birthday", Date: "1992-02-29"}, {Kind: "anniversary", Date: "--03-05"}}})
		ben := create(t, s, owner, people.Draft{Name: "Ben", Dates: []people.DateDraft{{Kind: "birthday", Date: "1990-02"}, {Kind: "birthday", Date: "1990"}}})
		gone := create(t, s, owner, people.Draft{Name: "Gone", Dates: []people.DateDraft{{Kind: "birthday", Date: "--02-26"}}})
		addReminder(t, s, owner, reminders.Reminder{Text: "Alone", DueOn: "2026-02-26"})
		addReminder(t, s, owner, reminders.Reminder{Text: "Late", DueOn: "2026-02-01", ConnectionIDs: []string{ben.ID}})
		addReminder(t, s, owner, reminders.Reminder{Text: "Later", DueOn: "2026-03-12"})
		addReminder(t, s, owner, reminders.Reminder{Text: "Archived", DueOn: "2026-02-26", ConnectionIDs: []string{gone.ID}})
		done := addReminder(t, s, owner, reminders.Reminder{Text: "Done", DueOn: "2026-02-26"})
		err := write(t, s, owner, func(ctx context.Context, u *db.Tx) error {
			if _, err := reminders.Complete(ctx, u, reminders.Completion{ID: done.ID, Outcome: reminders.Done, Zone: time.UTC, Today: now.Truncate(24 * time.Hour)}); err != nil {
				return err
			}
			for id, days := range map[string]int{ana.ID: 1, gone.ID: 1} {
				if _, err := people.SetCadence(ctx, u, people.CadencePatch{IDs: []string{id}, Days: new(days)}); err != nil {
					return err
				}
			}
			if _, err := timeline.LogInteractions(ctx, u, timeline.Interaction{Kind: "call", OccurredAt: now.AddDate(0, 0, -9), ConnectionIDs: []string{ana.ID, ben.ID}}); err != nil {
				return err
			}
			_, err := groups.Save(ctx, u, groups.Patch{Name: new("Weekly"), CadenceDays: new(7)})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		updateMembership(t, s, owner, groups.MembershipPatch{ConnectionIDs: []string{ana.ID, ben.ID, gone.ID}, AddGroups: []string{"Weekly"}})
		archive(t, s, owner, true, gone.ID)

		q := reminders.DueQuery{Today: now.Truncate(24 * time.Hour), Zone: time.UTC, Limit: 50}
		list := func(days int, of string) []string {
			t.Helper()
			q.Until, q.ConnectionID = q.Today.AddDate(0, 0, days), of
			due, _, err := reminders.List(t.Context(), s.Tenant(owner, true), searchIndex(t, s, owner), q)
			if err != nil {
				t.Fatal(err)
			}
			out := []string{}
			for _, d := range due {
				out = append(out, strings.TrimSuffix(d.DueOn+" "+d.Name+": "+d.Text, " "))
			}
			return out
		}
		late, cadenceAna, cadenceBen := "2026-02-01 Ben: Late", "2026-02-17 Ana: Every day, last contact 9 days ago", "2026-02-23 Ben: Every 7 days, last contact 9 days ago"
		leap, alone := "2026-02-28 Ana: Birthday, turns 34", "2026-02-26 : Alone"
		for name, c := range map[string]struct {
			got, want []string
		}{
			"today":       {list(0, ""), []string{late, cadenceAna, cadenceBen}},
			"three days":  {list(3, ""), []string{late, cadenceAna, cadenceBen, alone, leap}},
			"two days":    {list(2, ""), []string{late, cadenceAna, cadenceBen, alone}},
			"a fortnight": {list(14, ""), []string{late, cadenceAna, cadenceBen, alone, leap, "2026-03-05 Ana: Anniversary"}},
			"a year":      {list(366, ""), []string{late, cadenceAna, cadenceBen, alone, leap, "2026-03-05 Ana: Anniversary", "2026-03-12 : Later"}},
			"one person":  {list(3, ana.ID), []string{cadenceAna, leap}},
			"another":     {list(3, ben.ID), []string{late, cadenceBen}},
		} {
			if !slices.Equal(c.got, c.want) {
				t.Errorf("%s:\n%s\nwant\n%s", name, strings.Join(c.got, "\n"), strings.Join(c.want, "\n"))
			}
		}
		q.ConnectionID = gone.ID
		if _, _, err := reminders.List(t.Context(), s.Tenant(owner, true), searchIndex(t, s, owner), q); !fault.Is(err, fault.Conflict) {
			t.Errorf("an archived person: %v", err)
		}
	})
}

// Meetings of calendars that are ahead are listed by their time, once for two calendars, on any page.
func TestMeetingsAreDue(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 2, 25, 15, 0, 0, 0, time.UTC)
	dbtest.Databases(t, func(t *testing.T, url string) {
		s := dbtest.Open(t, url, func() time.Time { return now })
		owner := dbtest.Member(t, s, "maria")
		ana, ben := create(t, s, owner, people.Draft{Name: "Ana"}), create(t, s, owner, people.Draft{Name: "Ben"})
		addReminder(t, s, owner, reminders.Reminder{Text: "Call", DueOn: "2026-02-26"})
		zone := time.FixedZone("ahead", 3600)
		err := write(t, s, owner, func(ctx context.Context, u *db.Tx) error {
			for _, calendar := range []string{"src_a", "src_b"} {
				src := &sources.Source{TenantID: owner, ID: calendar, Name: calendar, State: sources.On, Since: now, ImportID: "imp_" + calendar, NextAt: now, CreatedAt: now}
				if _, err := u.NewInsert().Model(src).Exec(ctx); err != nil {
					return err
				}
				meet := func(key, title string, after time.Duration, allDay bool, logged string, who ...string) error {
					_, err := u.NewInsert().Model(&sources.Meeting{
						TenantID: owner, SourceID: calendar, Key: key, StartsAt: now.Add(after), EndsAt: now.Add(after + time.Hour), AllDay: allDay, Title: title, ConnectionIDs: who, InteractionID: logged,
					}).Exec(ctx)
					return err
				}
				if err := errors.Join(
					meet("begun", "Begun", -time.Minute, false, "", ana.ID), meet("logged", "Logged", time.Hour, false, "int_1", ana.ID),
					meet("b", "Plans", time.Hour, false, "", ana.ID, ben.ID), meet("a", "Same time", time.Hour, false, "", ben.ID),
					meet("late", "Tomorrow there", 8*time.Hour+30*time.Minute, false, "", ben.ID), meet("day", "Trip", 32*time.Hour, true, "", ana.ID), meet("far", "Far", 240*time.Hour, false, "", ana.ID),
				); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{
			"2026-02-25 Ben Meets you at 17:00: Same time", "2026-02-25 Ana Meets you at 17:00: Plans", "2026-02-26 Ben Meets you at 00:30: Tomorrow there", "2026-02-26  Call", "2026-02-27 Ana Meets you: Trip",
		}
		for limit := 1; limit <= 6; limit++ {
			q := reminders.DueQuery{Today: now.Truncate(24 * time.Hour), Until: now.Truncate(24*time.Hour).AddDate(0, 0, 7), Now: now, Zone: zone, Limit: limit}
			var got []string
			for range 9 {
				due, counts, err := reminders.List(t.Context(), s.Tenant(owner, true), searchIndex(t, s, owner), q)
				if err != nil || counts.Meetings != 4 {
					t.Fatalf("%+v, %v", counts, err)
				}
				for _, d := range due {
					got = append(got, d.DueOn+" "+d.Name+" "+d.Text)
				}
				if len(due) < limit {
					break
				}
				after := due[limit-1].Cursor()
				q.After = &after
			}
			if !slices.Equal(got, want) {
				t.Errorf("pages of %d:\n%s\nwant\n%s", limit, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
		q := reminders.DueQuery{Today: now.Truncate(24 * time.Hour), Until: now.Truncate(24 * time.Hour), Now: now, Zone: zone, Limit: 50, ConnectionID: ben.ID, Kinds: []string{reminders.KindMeeting}}
		due, counts, err := reminders.List(t.Context(), s.Tenant(owner, true), searchIndex(t, s, owner), q)
		if err != nil || len(due) != 2 || counts.Meetings != 2 || due[1].Name != "Ben" || len(due[1].Others) != 1 || due[1].Others[0].Name != "Ana" {
			t.Errorf("of Ben: %+v, %+v, %v", due, counts, err)
		}
	})
}

// Over the turn of a year and on leap days, the database finds the dates that the
// rule finds among all.
func TestDatesDueAreThoseOfTheRule(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "maria")
		var all []people.ImportantDate
		err := write(t, s, owner, func(ctx context.Context, u *db.Tx) error {
			for n := range 74 {
				on := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, 5*n)
				made, err := people.Create(ctx, u, people.Draft{Name: fmt.Sprint("Person ", n), Dates: []people.DateDraft{
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
		ix := searchIndex(t, s, owner)
		rapid.Check(t, func(rt *rapid.T) {
			q := reminders.DueQuery{Zone: time.UTC, Kinds: []string{"date"}, Limit: 1000}
			q.Today = time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, rapid.IntRange(0, 2000).Draw(rt, "today"))
			q.Until = q.Today.AddDate(0, 0, rapid.IntRange(0, 366).Draw(rt, "days"))
			want := 0
			for _, d := range all {
				if on, ok := d.Next(q.Today); ok && !on.After(q.Until) {
					want++
				}
			}
			due, counts, err := reminders.List(context.Background(), s.Tenant(owner, true), ix, q)
			if err != nil || len(due) != want || counts.Dates != want {
				rt.Fatalf("from %v to %v: %d of %d, %v", q.Today, q.Until, len(due), want, err)
			}
		})
	})
}

// Two concurrent completions of a recurring reminder move it once.
func TestCompleteUnderConcurrency(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "maria")
		today := time.Now().UTC().Truncate(24 * time.Hour)
		r := addReminder(t, s, owner, reminders.Reminder{Text: "x", DueOn: today.Format(time.DateOnly), Recurrence: "weekly"})
		errs := together(6, func(int) error {
			return s.Tenant(owner, false).Write(t.Context(), db.Actor{}, func(ctx context.Context, u *db.Tx) error {
				_, err := reminders.Complete(ctx, u, reminders.Completion{ID: r.ID, DueOn: r.DueOn, Outcome: "done", Zone: time.UTC, Today: today})
				return err
			})
		})
		for _, err := range errs {
			if err != nil {
				t.Error(err)
			}
		}
		err := write(t, s, owner, func(ctx context.Context, u *db.Tx) error {
			got, err := reminders.GetReminder(ctx, u, r.ID)
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

// Nobody is reminded of a person who died, until that is undone.
func TestNobodyIsRemindedOfTheDead(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 2, 25, 15, 0, 0, 0, time.UTC)
	dbtest.Databases(t, func(t *testing.T, url string) {
		s := dbtest.Open(t, url, func() time.Time { return now })
		owner := dbtest.Member(t, s, "maria")
		ove := create(t, s, owner, people.Draft{Name: "Ove", Dates: []people.DateDraft{{Kind: "birthday", Date: "1932-02-26"}}})
		create(t, s, owner, people.Draft{Name: "Ana", Dates: []people.DateDraft{{Kind: "birthday", Date: "--02-27"}}})
		addReminder(t, s, owner, reminders.Reminder{Text: "Call him", DueOn: "2026-02-26", ConnectionIDs: []string{ove.ID}})
		if err := write(t, s, owner, func(ctx context.Context, u *db.Tx) error {
			_, err := people.SetCadence(ctx, u, people.CadencePatch{IDs: []string{ove.ID}, Days: new(1)})
			return err
		}); err != nil {
			t.Fatal(err)
		}
		due := func(of string) (out []string) {
			t.Helper()
			q := reminders.DueQuery{Today: now.Truncate(24 * time.Hour), Zone: time.UTC, Limit: 50, ConnectionID: of}
			q.Until = q.Today.AddDate(0, 0, 7)
			list, counts, err := reminders.List(t.Context(), s.Tenant(owner, true), searchIndex(t, s, owner), q)
			if err != nil || of == "" && counts.Reminders+counts.Dates+counts.Cadences != len(list) {
				t.Fatalf("%d entries, counted %+v: %v", len(list), counts, err)
			}
			for _, d := range list {
				out = append(out, d.Name+" "+d.Kind)
			}
			return out
		}
		want := func(what string, all, ofOve []string) {
			t.Helper()
			if got, his := due(""), due(ove.ID); !slices.Equal(got, all) || !slices.Equal(his, ofOve) {
				t.Errorf("%s: %q, of him %q; want %q, %q", what, got, his, all, ofOve)
			}
		}
		his := []string{"Ove reminder", "Ove date", "Ove cadence"}
		want("alive", append(his, "Ana date"), his)
		var written people.Written
		if err := write(t, s, owner, func(ctx context.Context, u *db.Tx) (err error) {
			written, err = people.Update(ctx, u, people.Patch{ID: ove.ID, DeceasedOn: new("2026-02-20")})
			return err
		}); err != nil {
			t.Fatal(err)
		}
		want("dead", []string{"Ana date"}, nil)
		addReminder(t, s, owner, reminders.Reminder{Text: "Write to his wife", DueOn: "2026-02-26", ConnectionIDs: []string{ove.ID}})
		want("a new reminder", []string{"Ove reminder", "Ana date"}, []string{"Ove reminder"})
		undo(t, s, owner, written.ChangeID)
		his = []string{"Ove reminder", "Ove reminder", "Ove date", "Ove cadence"}
		want("undone", append(his, "Ana date"), his)
	})
}
