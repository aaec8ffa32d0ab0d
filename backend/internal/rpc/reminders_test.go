package rpc_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	listDue          = "/kith.reminders.v1.ReminderService/ListDue"
	createReminder   = "/kith.reminders.v1.ReminderService/CreateReminder"
	completeReminder = "/kith.reminders.v1.ReminderService/CompleteReminder"
	updateReminder   = "/kith.reminders.v1.ReminderService/UpdateReminder"
	setCadence       = "/kith.reminders.v1.ReminderService/SetCadence"
)

// inDays is the day so many days from today, UTC.
func inDays(n int) string { return time.Now().UTC().AddDate(0, 0, n).Format(time.DateOnly) }

// Of a person with never, nobody is reminded: neither by their own interval nor by that of a group.
func TestNeverRemind(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		ana := b.made(t, `{"name":"Ana Lopez"}`)
		b.call(t, logCall, `{"connection_ids":`+idsOf(t, ana)+`,"kind":"call","occurred_at":"2026-01-05"}`)
		b.call(t, saveGroup, `{"name":"Friends","cadence_days":7}`)
		b.call(t, updateMembership, `{"connection_ids":`+idsOf(t, ana)+`,"add_groups":["Friends"]}`)
		reminded := func(want bool) {
			t.Helper()
			due, one := b.call(t, listDue, `{}`), b.call(t, listDue, `{"connection_id":"`+ana+`"}`)
			overdue := b.call(t, searchPath, `{"cadence_overdue":true}`)
			having := b.call(t, searchPath, `{"has":["cadence"]}`)
			for name, n := range map[string]int{"due": due.size("items"), "of her": one.size("items"), "overdue": overdue.size("hits"), "with an interval": having.size("hits")} {
				if (n > 0) != want {
					t.Errorf("%s: %d, want any: %t", name, n, want)
				}
			}
		}
		reminded(true)
		done := b.call(t, setCadence, `{"connection_ids":`+idsOf(t, ana)+`,"never":true}`)
		if done.at("changed") != 1.0 || done.at("next_due") != nil {
			t.Fatal(done.body)
		}
		reminded(false)
		if got := b.call(t, get, `{"id":"`+ana+`"}`); got.at("connection", "cadence_days") != -1.0 {
			t.Errorf("the person: %v", got.body)
		}
		b.call(t, undoChange, fmt.Sprintf(`{"change_id":%q}`, done.at("change_id")))
		reminded(true)
		b.call(t, setCadence, `{"connection_ids":`+idsOf(t, ana)+`,"never":true}`)
		b.call(t, setCadence, `{"connection_ids":`+idsOf(t, ana)+`,"days":0}`)
		reminded(true)
		for _, wrong := range []string{`"never":true,"days":3`, `"never":false`} {
			if got := b.call(t, setCadence, `{"connection_ids":`+idsOf(t, ana)+`,`+wrong+`}`); got.code() != "invalid_argument" {
				t.Errorf("%s: %v", wrong, got.body)
			}
		}
	})
}

// A reminder about several people is shown with all of them and on the list of each, follows a merge and
// a deletion, and returns with their undo. Several reminders are moved with one call.
func TestRemindersAboutSeveral(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		ana, ben, cy := b.made(t, `{"name":"Ana Lopez"}`), b.made(t, `{"name":"Ben Okri"}`), b.made(t, `{"name":"Cy Dahl"}`)
		made := b.call(t, createReminder, `{"text":"Dinner","due_on":"`+inDays(2)+`","recurrence":"weekly","connection_ids":`+idsOf(t, ana, ben)+`}`)
		id, _ := made.at("reminder", "id").(string)
		if made.at("summary") != "Added a reminder: Dinner (Ana Lopez, Ben Okri)" && made.at("summary") != "Added a reminder: Dinner (Ben Okri, Ana Lopez)" || made.size("reminder", "connection_ids") != 2 {
			t.Fatal(made.body)
		}
		alone, _ := b.call(t, createReminder, `{"text":"Alone","due_on":"`+inDays(3)+`"}`).at("reminder", "id").(string)
		due := func(who string) answer { return b.call(t, listDue, `{"connection_id":"`+who+`"}`) }
		want := func(who string, names ...string) {
			t.Helper()
			got := due(who)
			var is []string
			if got.size("items") > 0 {
				is = append(is, fmt.Sprint(got.at("items", 0, "connection_name")))
			}
			for i := range got.size("items", 0, "others") {
				is = append(is, fmt.Sprint(got.at("items", 0, "others", i, "name")))
			}
			if !slices.Equal(is, names) || len(names) > 0 && (got.at("items", 0, "recurrence") != "weekly" || got.at("items", 0, "connection_id") != who) {
				t.Errorf("due for %s: %v, want %v", who, got.body, names)
			}
		}
		want(ana, "Ana Lopez", "Ben Okri")
		want(ben, "Ben Okri", "Ana Lopez")
		want(cy)
		if all := b.call(t, listDue, `{}`); all.at("counts", "reminders") != 2.0 || all.size("items") != 2 || all.at("items", 1, "recurrence") != nil {
			t.Errorf("all: %v", all.body)
		}

		merged := b.call(t, mergePeople, `{"into_id":"`+cy+`","from_ids":`+idsOf(t, ben)+`,"dry_run":false}`)
		want(cy, "Cy Dahl", "Ana Lopez")
		b.call(t, undoChange, fmt.Sprintf(`{"change_id":%q}`, merged.at("change_id")))
		gone := b.call(t, deletePerson, `{"id":"`+ana+`","confirm_name":"Ana Lopez"}`)
		want(ben, "Ben Okri")
		b.call(t, undoChange, fmt.Sprintf(`{"change_id":%q}`, gone.at("change_id")))
		want(ben, "Ben Okri", "Ana Lopez")
		b.call(t, archivePeople, `{"ids":`+idsOf(t, ana)+`}`)
		want(ben, "Ben Okri")
		b.call(t, archivePeople, `{"ids":`+idsOf(t, ben)+`}`)
		if all := b.call(t, listDue, `{}`); all.at("counts", "reminders") != 1.0 || all.size("items") != 1 {
			t.Errorf("without archived people: %v", all.body)
		}

		moved := b.call(t, updateReminder, fmt.Sprintf(`{"ids":[%q,%q],"shift_days":7}`, id, alone))
		if moved.size("reminders") != 2 || moved.at("reminders", 0, "due_on") != inDays(9) || moved.at("reminders", 1, "due_on") != inDays(10) || moved.at("reminder") != nil ||
			!strings.HasPrefix(fmt.Sprint(moved.at("summary")), "Changed 2 reminders") {
			t.Errorf("moved: %v", moved.body)
		}
		if wrong := b.call(t, updateReminder, fmt.Sprintf(`{"ids":[%q,%q],"shift_days":-10}`, alone, id)); wrong.code() != "invalid_argument" || !strings.Contains(fmt.Sprint(wrong.at("message")), id) {
			t.Errorf("before today: %v", wrong.body)
		}
		b.call(t, undoChange, fmt.Sprintf(`{"change_id":%q}`, moved.at("change_id")))
		if one := b.call(t, updateReminder, fmt.Sprintf(`{"id":%q,"text":"Lunch"}`, alone)); one.at("reminder", "due_on") != inDays(3) {
			t.Errorf("after the undo: %v", one.body)
		}
	})
}

func TestReminders(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		ana := b.made(t, `{"name":"Ana","important_dates":[{"kind":"birthday","date":"--`+inDays(1)[5:]+`"}]}`)
		made := b.call(t, createReminder, `{"text":"Call Ana","due_on":"`+inDays(0)+`","connection_id":"`+ana+`","recurrence":"weekly"}`)
		id, _ := made.at("reminder", "id").(string)
		if id == "" || made.at("reminder", "state") != "open" || made.at("change_id") == nil {
			t.Fatalf("made: %v", made.body)
		}
		b.call(t, createReminder, `{"text":"Far off","due_on":"`+inDays(8)+`"}`)
		cadence := b.call(t, setCadence, `{"connection_ids":["`+ana+`"],"days":3}`)
		if cadence.at("changed") != 1.0 || cadence.at("next_due") != inDays(3) || cadence.at("change_id") == nil {
			t.Errorf("cadence: %v", cadence.body)
		}
		due := b.call(t, listDue, `{}`)
		if due.at("items", 0, "text") != "Call Ana" || due.at("items", 0, "overdue") != nil || due.at("items", 0, "connection_name") != "Ana" ||
			due.at("items", 1, "kind") != "date" || due.at("items", 2, "kind") != "cadence" || due.at("items", 3) != nil ||
			due.at("counts", "overdue") != 0.0 || due.at("counts", "reminders") != 1.0 || due.at("today") != inDays(0) || due.at("has_more") != false {
			t.Errorf("due: %v", due.body)
		}
		first := b.call(t, listDue, `{"limit":1}`)
		next, _ := first.at("next_cursor").(string)
		second := b.call(t, listDue, `{"limit":2,"cursor":"`+next+`"}`)
		if first.at("has_more") != true || second.at("items", 0, "kind") != "date" || second.at("items", 1, "kind") != "cadence" || second.at("has_more") != false ||
			second.at("counts", "reminders") != 1.0 {
			t.Errorf("pages: %v, %v", first.body, second.body)
		}
		for range 2 {
			done := b.call(t, completeReminder, `{"id":"`+id+`","due_on":"`+inDays(0)+`"}`)
			if done.at("next_due") != inDays(7) || done.at("reminder", "due_on") != inDays(7) {
				t.Errorf("completed: %v", done.body)
			}
		}
		if got := b.call(t, listDue, `{"kinds":["reminder"],"days":5}`); len(got.at("items").([]any)) != 0 {
			t.Errorf("completed, yet due: %v", got.body)
		}
		logged := b.call(t, logCall, `{"connection_ids":["`+ana+`"],"kind":"meeting"}`)
		if logged.at("next_due") != inDays(3) {
			t.Errorf("logged: %v", logged.body)
		}
		if got := b.call(t, get, `{"id":"`+ana+`"}`); got.at("connection", "strength") != 53.0 || got.at("connection", "cadence_days") != 3.0 ||
			got.at("connection", "important_dates", 0, "kind") != "birthday" {
			t.Errorf("person: %v", got.body)
		}
		snoozed := b.call(t, setCadence, `{"connection_ids":["`+ana+`"],"snooze_until":"`+inDays(5)+`"}`)
		if snoozed.at("next_due") != inDays(5) {
			t.Errorf("snoozed: %v", snoozed.body)
		}
		if got := b.call(t, listDue, `{"kinds":["cadence"]}`); len(got.at("items").([]any)) != 0 {
			t.Errorf("snoozed, yet due: %v", got.body)
		}
		same := b.call(t, setCadence, `{"connection_ids":["`+ana+`"],"days":3,"snooze_until":"`+inDays(5)+`"}`)
		if same.code() != "" || same.at("change_id") != nil {
			t.Errorf("the same again: %v", same.body)
		}
	})
}

// Without an interval of their own, people have the shortest of their groups.
func TestCadenceOfGroups(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		ana := b.made(t, `{"name":"Ana"}`)
		b.call(t, saveGroup, `{"name":"Monthly","cadence_days":30}`)
		b.call(t, saveGroup, `{"name":"Weekly","cadence_days":7}`)
		b.call(t, saveGroup, `{"name":"Never"}`)
		b.call(t, updateMembership, `{"connection_ids":["`+ana+`"],"add_groups":["Monthly","Weekly","Never"]}`)
		if got := b.call(t, logCall, `{"connection_ids":["`+ana+`"],"kind":"call"}`); got.at("next_due") != inDays(7) {
			t.Errorf("logged: %v", got.body)
		}
		if got := b.call(t, listDue, `{"kinds":["cadence"]}`); got.at("items", 0, "text") != "Every 7 days, last contact today" {
			t.Errorf("due: %v", got.body)
		}
		if got := b.call(t, setCadence, `{"connection_ids":["`+ana+`"],"days":90}`); got.at("next_due") != inDays(90) {
			t.Errorf("own: %v", got.body)
		}
		if got := b.call(t, setCadence, `{"connection_ids":["`+ana+`"],"days":0}`); got.at("next_due") != inDays(7) {
			t.Errorf("of the group: %v", got.body)
		}
		b.call(t, updateMembership, `{"connection_ids":["`+ana+`"],"remove_groups":["Monthly","Weekly"]}`)
		if got := b.call(t, setCadence, `{"connection_ids":["`+ana+`"],"days":0}`); got.at("next_due") != nil || got.at("unchanged") != 1.0 || got.at("change_id") != nil {
			t.Errorf("none: %v", got.body)
		}
	})
}

func TestRefusalsOfReminders(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		ana := b.made(t, `{"name":"Ana"}`)
		id, _ := b.call(t, createReminder, `{"text":"x","due_on":"`+inDays(1)+`"}`).at("reminder", "id").(string)
		const unknownID, nothing = "con_ch541ck879", "rem_hl671kd125"
		for name, c := range map[string]struct{ procedure, body, code, says string }{
			"due of nobody":           {listDue, `{"connection_id":"` + unknownID + `"}`, "not_found", unknownID},
			"dates of nobody":         {listDue, `{"connection_id":"` + unknownID + `","kinds":["date"]}`, "not_found", unknownID},
			"far ahead":               {listDue, `{"days":367}`, "invalid_argument", "days"},
			"unknown kind":            {listDue, `{"kinds":["party"]}`, "invalid_argument", "kinds"},
			"a cursor of another":     {listDue, `{"cursor":"AAAAAAAAAAAAAAAAAAAA"}`, "invalid_argument", "cursor"},
			"no text":                 {createReminder, `{"due_on":"` + inDays(1) + `"}`, "invalid_argument", "text"},
			"blank text":              {createReminder, `{"text":" \u200b","due_on":"` + inDays(1) + `"}`, "invalid_argument", "text: "},
			"no day":                  {createReminder, `{"text":"x"}`, "invalid_argument", "due_on"},
			"yesterday":               {createReminder, `{"text":"x","due_on":"` + inDays(-1) + `"}`, "invalid_argument", "due_on: " + inDays(-1) + " is over; today is " + inDays(0)},
			"a word for a day":        {createReminder, `{"text":"x","due_on":"tomorrow"}`, "invalid_argument", "due_on must be a day such as 2026-11-20; today is " + inDays(0)},
			"no such day":             {createReminder, `{"text":"x","due_on":"2027-02-29"}`, "invalid_argument", "due_on: "},
			"in another millennium":   {createReminder, `{"text":"x","due_on":"3027-02-28"}`, "invalid_argument", "due_on: "},
			"change nothing stored":   {updateReminder, `{"id":"` + nothing + `","text":"y"}`, "not_found", nothing},
			"move to yesterday":       {updateReminder, `{"id":"` + id + `","due_on":"` + inDays(-1) + `"}`, "invalid_argument", "today is " + inDays(0)},
			"move to a word":          {updateReminder, `{"id":"` + id + `","due_on":"in 3 weeks"}`, "invalid_argument", "today is " + inDays(0)},
			"change to a blank":       {updateReminder, `{"id":"` + id + `","text":" ` + "\u200b" + `"}`, "invalid_argument", "text: "},
			"change to nobody":        {updateReminder, `{"id":"` + id + `","connection_id":"` + unknownID + `"}`, "not_found", unknownID},
			"unknown recurrence":      {createReminder, `{"text":"x","due_on":"` + inDays(1) + `","recurrence":"daily"}`, "invalid_argument", "recurrence"},
			"about nobody":            {createReminder, `{"text":"x","due_on":"` + inDays(1) + `","connection_id":"` + unknownID + `"}`, "not_found", unknownID},
			"complete nothing":        {completeReminder, `{"id":"` + nothing + `"}`, "not_found", nothing},
			"complete of another day": {completeReminder, `{"id":"` + id + `","due_on":"` + inDays(2) + `"}`, "aborted", inDays(1)},
			"unknown outcome":         {completeReminder, `{"id":"` + id + `","outcome":"late"}`, "invalid_argument", "outcome"},
			"cadence of nobody":       {setCadence, `{"connection_ids":["` + unknownID + `"],"days":1}`, "not_found", unknownID},
			"cadence of nothing":      {setCadence, `{"connection_ids":["` + ana + `"]}`, "invalid_argument", "snooze_until"},
			"long cadence":            {setCadence, `{"connection_ids":["` + ana + `"],"days":731}`, "invalid_argument", "days"},
			"snooze until today":      {setCadence, `{"connection_ids":["` + ana + `"],"snooze_until":"` + inDays(0) + `"}`, "invalid_argument", "snooze_until: "},
			"snooze until no day":     {setCadence, `{"connection_ids":["` + ana + `"],"snooze_until":"2027-02-30"}`, "invalid_argument", "snooze_until: "},
			"a date that is none":     {update, `{"id":"` + ana + `","important_dates":[{"kind":"birthday","date":"2023-02-29"}]}`, "invalid_argument", "important_dates[0].date: "},
			"a date of no kind":       {create, `{"name":"X","important_dates":[{"date":"1990"}]}`, "invalid_argument", "important_dates[0].kind"},
			"a date without a date":   {create, `{"name":"X","important_dates":[{"kind":"birthday"}]}`, "invalid_argument", "important_dates[0].date"},
		} {
			if got := b.call(t, c.procedure, c.body); got.code() != c.code || !strings.Contains(got.message(), c.says) {
				t.Errorf("%s: %v", name, got.body)
			}
		}
	})
}

func TestBirthdayLeavesOtherDatesAlone(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		ana := b.made(t, `{"name":"Ana","important_dates":[{"kind":"birthday","date":"1990-05-17"},{"kind":"anniversary","date":"--06-01"}]}`)
		got := b.call(t, update, `{"id":"`+ana+`","add_important_dates":[{"kind":"birthday","date":"1991-05-17"}]}`)
		if got.at("connection", "important_dates", 0, "kind") != "anniversary" || got.at("connection", "important_dates", 1, "date") != "1991-05-17" ||
			got.at("removed_important_dates", 0, "date") != "1990-05-17" || got.at("removed_important_dates", 1) != nil {
			t.Errorf("added: %v", got.body)
		}
		got = b.call(t, update, `{"id":"`+ana+`","important_dates":[{"kind":"birthday","date":"1990-05-17"}]}`)
		if got.at("removed_important_dates", 0, "kind") != "anniversary" || got.at("removed_important_dates", 1, "date") != "1991-05-17" {
			t.Errorf("replaced: %v", got.body)
		}
		got = b.call(t, update, `{"id":"`+ana+`","remove_important_dates":[{"kind":"birthday","date":"1990-05-17"}]}`)
		if dates, _ := got.at("connection", "important_dates").([]any); len(dates) != 0 || got.at("removed_important_dates", 0, "date") != "1990-05-17" {
			t.Errorf("removed: %v", got.body)
		}
	})
}

// A reminder is moved with one call, which can be undone.
func TestUpdateReminder(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		ana := b.made(t, `{"name":"Ana"}`)
		id, _ := b.call(t, createReminder, `{"text":"Write","due_on":"`+inDays(1)+`","recurrence":"weekly"}`).at("reminder", "id").(string)
		moved := b.call(t, updateReminder, `{"id":"`+id+`","due_on":"`+inDays(3)+`","text":"Call","connection_id":"`+ana+`"}`)
		if moved.at("reminder", "due_on") != inDays(3) || moved.at("reminder", "text") != "Call" || moved.at("reminder", "recurrence") != "weekly" ||
			moved.at("reminder", "version") != 2.0 || moved.at("change_id") == nil {
			t.Fatalf("moved: %v", moved.body)
		}
		if got := b.call(t, listDue, `{"connection_id":"`+ana+`"}`); got.at("items", 0, "due_on") != inDays(3) {
			t.Errorf("due: %v", got.body)
		}
		if got := b.call(t, updateReminder, `{"id":"`+id+`","due_on":"`+inDays(3)+`"}`); got.code() != "" || got.at("change_id") != nil {
			t.Errorf("the same again: %v", got.body)
		}
		if got := b.call(t, completeReminder, `{"id":"`+id+`"}`); got.at("next_due") != inDays(10) {
			t.Errorf("its weeks count from the new day: %v", got.body)
		}
		change, _ := b.call(t, completeReminder, `{"id":"`+id+`","outcome":"dismissed"}`).at("change_id").(string)
		if got := b.call(t, updateReminder, `{"id":"`+id+`","due_on":"`+inDays(5)+`"}`); got.code() != "aborted" || !strings.Contains(got.message(), "dismissed") {
			t.Errorf("one that is over: %v", got.body)
		}
		b.call(t, undoChange, `{"change_id":"`+change+`"}`)
		last, _ := b.call(t, updateReminder, `{"id":"`+id+`","recurrence":"none","text":"Visit"}`).at("change_id").(string)
		if got := b.call(t, undoChange, `{"change_id":"`+last+`"}`); got.at("restored", 0, "id") != id {
			t.Errorf("undone: %v", got.body)
		}
		if got := b.call(t, listDue, `{"days":30,"kinds":["reminder"]}`); got.at("items", 0, "text") != "Call" || got.at("items", 0, "due_on") != inDays(10) {
			t.Errorf("after the undo: %v", got.body)
		}
	})
}
