package sandbox_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kith-crm/kith/sandbox"
)

var update = flag.Bool("update", false, "rewrite testdata/dataset.sha256")

func encode(t *testing.T, d *sandbox.Dataset) []byte {
	t.Helper()
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestGoldenHash(t *testing.T) {
	t.Parallel()
	sum := sha256.Sum256(encode(t, sandbox.Build(someDay)))
	got := hex.EncodeToString(sum[:]) + "\n"
	golden := filepath.Join("testdata", "dataset.sha256")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the dataset has changed: got %swant %sIf that was meant, run go test -update", got, want)
	}
}

func TestSameDaySameBytes(t *testing.T) {
	t.Parallel()
	want := encode(t, sandbox.Build(someDay))
	elsewhere := time.FixedZone("elsewhere", -9*60*60)
	var wg sync.WaitGroup
	for _, moment := range []time.Time{
		someDay, someDay.Add(24*time.Hour - time.Nanosecond), someDay.Add(time.Hour).In(elsewhere),
	} {
		wg.Go(func() {
			if got := sandbox.Build(moment); !bytes.Equal(encode(t, got), want) {
				t.Errorf("%v gives another account", moment)
			}
		})
	}
	wg.Wait()
}

// TestAnotherDayMovesDates compares two days: times move by their distance, and nothing
// but dates differs.
func TestAnotherDayMovesDates(t *testing.T) {
	t.Parallel()
	const distance = 777 * 24 * time.Hour
	early, late := sandbox.Build(someDay), sandbox.Build(someDay.Add(distance))
	for i := range early.Interactions {
		if moved := late.Interactions[i].OccurredAt.Sub(early.Interactions[i].OccurredAt); moved != distance {
			t.Fatalf("interaction %d moved by %v", i, moved)
		}
	}
	for i := range early.Reminders {
		if early.Reminders[i].DueOn == late.Reminders[i].DueOn {
			t.Errorf("reminder %d did not move", i)
		}
	}
	eraseDates(reflect.ValueOf(early).Elem())
	eraseDates(reflect.ValueOf(late).Elem())
	if !bytes.Equal(encode(t, early), encode(t, late)) {
		t.Error("more than dates differ between two days")
	}
}

// eraseDates zeroes the fields that may depend on the day.
func eraseDates(v reflect.Value) {
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			eraseDates(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if strings.HasSuffix(name, "On") || name == "Date" || v.Type().Field(i).Type == reflect.TypeFor[time.Time]() {
				v.Field(i).SetZero()
				continue
			}
			eraseDates(v.Field(i))
		}
	default: // a plain value
	}
}

func TestFourHundredDays(t *testing.T) {
	t.Parallel()
	first := time.Date(2027, time.September, 1, 0, 0, 0, 0, time.UTC) // 29 February 2028 is among them
	step := 1
	if testing.Short() {
		step = 7
	}
	for n := 0; n < 400; n += step {
		day := first.AddDate(0, 0, n)
		d := sandbox.Build(day)
		checkBirthdays(t, d)
		checkReminders(t, d)
		checkCadences(t, d, day)
		checkCadences(t, d, day.Add(24*time.Hour-time.Second))
		checkPast(t, d)
		if t.Failed() {
			t.Fatalf("on %s", day.Format(time.DateOnly))
		}
	}
}

func checkBirthdays(t *testing.T, d *sandbox.Dataset) {
	t.Helper()
	leap := d.Day.Month() == time.February && d.Day.Day() == 29
	var today, leaplings int
	for _, c := range d.Connections {
		for _, x := range c.ImportantDates {
			if x.Kind == "birthday" && strings.HasSuffix(x.Date, d.Day.Format("-01-02")) {
				today++
			}
			if strings.HasSuffix(x.Date, "-02-29") {
				leaplings++
			}
			yearly, noYear := strings.CutPrefix(x.Date, "--")
			if !isPartialDate(x.Date) && (!noYear || !isPartialDate("2024-"+yearly)) {
				t.Errorf("there is no such day: %+v", x)
			}
			if !noYear && x.Date >= d.Day.Format("2006") {
				t.Errorf("%+v is not in the past", x)
			}
		}
	}
	want := 1
	if leap {
		want = 2
	}
	if today != want || leaplings != want {
		t.Errorf("%d birthdays today, %d on 29 February", today, leaplings)
	}
}

// isPartialDate reports whether text is a year, a month or a day of the calendar.
func isPartialDate(text string) bool {
	for _, layout := range []string{"2006", "2006-01", time.DateOnly} {
		if _, err := time.Parse(layout, text); err == nil {
			return true
		}
	}
	return false
}

func checkReminders(t *testing.T, d *sandbox.Dataset) {
	t.Helper()
	today, nextWeek := d.Day.Format(time.DateOnly), d.Day.AddDate(0, 0, 7).Format(time.DateOnly)
	var soon, overdue int
	for _, r := range d.Reminders {
		switch {
		case r.State != "open":
		case r.DueOn < today:
			overdue++
		case r.DueOn < nextWeek:
			soon++
		}
	}
	if soon != 7 || overdue != 5 {
		t.Errorf("%d reminders this week and %d overdue, want 7 and 5", soon, overdue)
	}
}

// checkCadences counts overdue cadences as the product does: own cadence, else the
// shortest of the groups.
func checkCadences(t *testing.T, d *sandbox.Dataset, now time.Time) {
	t.Helper()
	groupCadence := map[string]int{}
	for _, g := range d.Groups {
		groupCadence[g.Name] = g.CadenceDays
	}
	var overdue, due, snoozed int
	for _, c := range d.Connections {
		days := c.CadenceDays
		for _, name := range c.Groups {
			if inherited := groupCadence[name]; c.CadenceDays == 0 && inherited > 0 && (days == 0 || inherited < days) {
				days = inherited
			}
		}
		if days == 0 {
			continue
		}
		cadence, elapsed := time.Duration(days)*24*time.Hour, now.Sub(c.LastInteractionAt)
		switch {
		case c.LastInteractionAt.IsZero():
			t.Errorf("%s has a cadence and was never seen", c.ID)
		case elapsed > cadence*3/2:
			overdue++
			if c.CadenceDays == 0 || !c.SnoozedUntil.IsZero() {
				t.Errorf("%s is overdue without a cadence of its own, or snoozed", c.ID)
			}
		case elapsed > cadence:
			due++
		}
		if c.SnoozedUntil.After(now) {
			snoozed++
		}
	}
	if overdue != 12 || due != 8 || snoozed != 3 {
		t.Errorf("%d cadences overdue, %d due, %d snoozed; want 12, 8 and 3", overdue, due, snoozed)
	}
}

func checkPast(t *testing.T, d *sandbox.Dataset) {
	t.Helper()
	latest := map[string]time.Time{}
	oldest := d.Day.AddDate(-3, 0, 0)
	previous := oldest
	for _, i := range d.Interactions {
		if !i.OccurredAt.Before(d.Day) || i.OccurredAt.Before(previous) {
			t.Errorf("interaction %s at %v is out of order or not of the last three years", i.ID, i.OccurredAt)
		}
		previous = i.OccurredAt
		for _, id := range i.ConnectionIDs {
			latest[id] = i.OccurredAt
		}
	}
	today := d.Day.Format(time.DateOnly)
	for _, c := range d.Connections {
		if !c.LastInteractionAt.Equal(latest[c.ID]) {
			t.Errorf("%s: LastInteractionAt is %v, want %v", c.ID, c.LastInteractionAt, latest[c.ID])
		}
		if c.UpdatedAt.Before(c.CreatedAt) || !c.UpdatedAt.Before(d.Day) || c.MetOn > today {
			t.Errorf("%s was created %v, updated %v, met %s", c.ID, c.CreatedAt, c.UpdatedAt, c.MetOn)
		}
		for _, p := range c.Positions {
			if p.StartedOn > today || p.EndedOn > today {
				t.Errorf("position %+v is in the future", p)
			}
		}
	}
	for _, n := range d.Notes {
		if !n.CreatedAt.Before(d.Day) {
			t.Errorf("note %s is of %v", n.ID, n.CreatedAt)
		}
	}
	for _, m := range d.Members {
		if !m.UpdatedAt.Before(d.Day) {
			t.Errorf("member %s is of %v", m.Username, m.UpdatedAt)
		}
	}
}
