package demo_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/reminders"
	"github.com/kith-crm/kith/backend/internal/search"
	"github.com/kith-crm/kith/backend/internal/search/index"
	"github.com/kith-crm/kith/sandbox"
)

//nolint:gochecknoglobals // a flag of the test binary
var updateGolden = flag.Bool("update", false, "rewrite the golden files")

// On any day, reminders, dates and people are due in the sandbox, some of them overdue.
func TestSandboxHasSomethingDue(t *testing.T) {
	t.Parallel()
	golden := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	dbtest.Databases(t, func(t *testing.T, url string) {
		for _, now := range []time.Time{golden, time.Date(2026, 12, 31, 6, 0, 0, 0, time.UTC), time.Date(2028, 2, 29, 23, 59, 0, 0, time.UTC)} {
			clock := func() time.Time { return now }
			s := dbtest.Open(t, url, clock)
			if _, err := seeder(t, s, clock).Seed(t.Context()); err != nil {
				t.Fatal(err)
			}
			p, err := oauth.Authenticate(t.Context(), s, sandbox.Token)
			if err != nil {
				t.Fatal(err)
			}
			ix := index.New()
			docs, err := search.LoadDocuments(t.Context(), s.Tenant(p.Tenant, true), -1)
			if err != nil {
				t.Fatal(err)
			}
			ix.Put(docs.Changed...)
			q := reminders.DueQuery{Zone: civil.Zone(p.Timezone), Limit: 100}
			q.Today = civil.Of(now, q.Zone)
			q.Until = q.Today.AddDate(0, 0, 7)
			due, counts, err := reminders.List(t.Context(), s.Tenant(p.Tenant, true), ix, q)
			if err != nil {
				t.Fatal(err)
			}
			if counts.Reminders < 10 || counts.Dates < 2 || counts.Cadences < 16 || counts.Overdue < 16 {
				t.Errorf("%v: %+v", now, counts)
			}
			if now.Equal(golden) {
				compareGolden(t, "due_2026-03-01.txt", dueText(p.Timezone, due, counts))
			}
		}
	})
}

// dueText returns a list as readable text.
func dueText(zone string, due []reminders.Due, counts reminders.Counts) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d reminders, %d dates, %d cadences; %d overdue\n", zone, counts.Reminders, counts.Dates, counts.Cadences, counts.Overdue)
	for _, d := range due {
		mark := " "
		if d.Overdue {
			mark = "!"
		}
		fmt.Fprintf(&b, "%s%s %-8s %s | %s | %s %s\n", d.DueOn, mark, d.Kind, d.Text, d.Name, d.ReminderID, d.ConnectionID)
	}
	return b.String()
}

func compareGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *updateGolden && strings.Contains(t.Name(), "sqlite") {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got), rewrite it with -update:\n%s", name, diff)
	}
}
