package integration_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/groups"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/insights"
	"github.com/kith-crm/kith/backend/internal/kinds"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/reminders"
	"github.com/kith-crm/kith/backend/internal/search"
	"github.com/kith-crm/kith/backend/internal/search/index"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/timeline"
	"pgregory.net/rapid"
)

// searchIndex returns the search index of a member's network.
func searchIndex(t testing.TB, s *db.DB, owner tenant.ID) *index.Index {
	t.Helper()
	n := summarised{s: s, owner: owner, ix: index.New(), version: -1}
	n.refresh(t)
	return n.ix
}

// summarised is a network, and its search index as a process keeps it.
type summarised struct {
	s       *db.DB
	owner   tenant.ID
	ix      *index.Index
	version int64
	ids     []string
}

// refresh brings the index up to date.
func (n *summarised) refresh(t testing.TB) {
	t.Helper()
	docs, err := search.LoadDocuments(t.Context(), n.s.Tenant(n.owner, true), n.version)
	if err != nil {
		t.Fatal(err)
	}
	if docs.Whole {
		n.ix.Reset(docs.Changed...)
	} else {
		n.ix.Put(docs.Changed...)
	}
	n.version = docs.Version
}

// After any writes, the index and the counters give the same results as statements over all rows of
// a network.
func TestSummaryIsThatOfTheRows(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		now := time.Date(2028, 2, 20, 9, 30, 0, 0, time.UTC)
		s := dbtest.Open(t, url, func() time.Time { return now })
		n := &summarised{s: s, owner: dbtest.Member(t, s, "maria"), ix: index.New(), version: -1}
		for i, days := range []int{0, 20, 60} {
			if _, err := saveGroup(t, s, n.owner, groups.Patch{Name: new(fmt.Sprint("Group ", i)), CadenceDays: new(days)}); err != nil {
				t.Fatal(err)
			}
		}
		rapid.Check(t, func(rt *rapid.T) {
			for range rapid.IntRange(1, 4).Draw(rt, "writes") {
				now = now.Add(time.Duration(rapid.IntRange(0, 100).Draw(rt, "hours")) * time.Hour)
				n.write(t, rt, now)
			}
			n.refresh(t)
			n.compareCounts(t, rt)
			n.compareStats(t, rt, now)
			n.compareDue(t, rt, now)
			n.comparePeopleAt(t, rt, now)
		})
	})
}

// write makes one random write. A refused one changes nothing.
func (n *summarised) write(t *testing.T, rt *rapid.T, now time.Time) {
	word := func(of string, among int) string {
		return fmt.Sprint(of, " ", rapid.IntRange(0, among-1).Draw(rt, of))
	}
	who := func() string {
		if len(n.ids) == 0 {
			return "con_ch541ck879"
		}
		return rapid.SampledFrom(n.ids).Draw(rt, "who")
	}
	moment := func() time.Time {
		return now.Add(-time.Duration(rapid.IntRange(-300, 20_000).Draw(rt, "age")) * time.Hour)
	}
	_ = write(t, n.s, n.owner, func(ctx context.Context, u *db.Tx) (err error) {
		switch rapid.IntRange(0, 13).Draw(rt, "write") {
		case 0, 1, 2:
			var made people.Written
			made, err = people.Create(ctx, u, people.Draft{
				Name: word("Person", 50), Location: word("Town", 4), Tags: []string{word("tag", 5)}, Starred: rapid.Bool().Draw(rt, "starred"), OnDuplicate: "create",
				Jobs:   []people.JobDraft{{Organization: word("Firm", 6)}, {Organization: word("Firm", 6), EndedOn: "2020"}},
				Emails: []string{word("mail", 9)[5:] + "@firm.example"},
				Dates:  []people.DateDraft{{Kind: "birthday", Date: "--" + now.AddDate(0, 0, rapid.IntRange(0, 365).Draw(rt, "day")).Format("01-02")}, {Kind: "other", Date: fmt.Sprintf("%d-02-28", 2026+rapid.IntRange(0, 5).Draw(rt, "year"))}},
			})
			if err == nil {
				n.ids = append(n.ids, made.Connection.ID)
			}
		case 3, 4:
			_, err = timeline.LogInteractions(ctx, u, timeline.Interaction{Kind: rapid.SampledFrom([]string{"meeting", "call", "email", "event"}).Draw(rt, "kind"), OccurredAt: moment(), ConnectionIDs: slices.Compact([]string{who(), who()})})
		case 5:
			_, _, err = timeline.AddNote(ctx, u, timeline.Note{Body: "x", ConnectionIDs: []string{who()}})
		case 6:
			_, err = people.Archive(ctx, u, []string{who()}, rapid.Bool().Draw(rt, "away"), false)
		case 7:
			_, err = people.Merge(ctx, u, []people.MergeInto{{Into: who(), From: []string{who()}}}, false, timeline.StoreNote, func(context.Context, []people.MergedPerson) error { return nil })
		case 8:
			var c *people.Connection
			if c, err = people.GetConnection(ctx, u, who()); err == nil {
				_, err = people.Delete(ctx, u, kinds.All(), c.ID, c.Name)
			}
		case 9:
			_, err = groups.UpdateMembership(ctx, u, groups.MembershipPatch{ConnectionIDs: []string{who()}, AddGroups: []string{word("Group", 3)}, AddTags: []string{word("tag", 5)}, RemoveTags: []string{word("tag", 5)}})
		case 10:
			_, err = people.SetCadence(ctx, u, people.CadencePatch{IDs: []string{who()}, Days: new(rapid.IntRange(0, 90).Draw(rt, "cadence")), SnoozeUntil: new(now.AddDate(0, 0, rapid.IntRange(1, 30).Draw(rt, "snooze")).Format(time.DateOnly)), Today: now.Truncate(24 * time.Hour)})
		case 11:
			_, err = groups.RenameTag(ctx, u, word("tag", 5), word("tag", 5), false)
		case 12:
			_, _, err = reminders.Create(ctx, u, reminders.Reminder{Text: "x", ConnectionIDs: people.DistinctIDs([]string{who(), who(), who()}[:rapid.IntRange(0, 3).Draw(rt, "about")]), DueOn: now.AddDate(0, 0, rapid.IntRange(-9, 9).Draw(rt, "due")).Format(time.DateOnly)}, now.AddDate(0, 0, -10))
		default:
			var changes []history.Change
			if changes, err = history.ListChanges(ctx, u, history.Query{Limit: 5}); err == nil && len(changes) > 0 {
				_, err = history.Undo(ctx, u, kinds.All(), rapid.SampledFrom(changes).Draw(rt, "change").ID, false)
			}
		}
		return err
	})
}

const live = " JOIN connections c ON c.tenant_id = l.tenant_id AND c.id = l.connection_id AND c.archived_at IS NULL"

// compareCounts compares the values of each facet, and how many people have them.
func (n *summarised) compareCounts(t *testing.T, rt *rapid.T) {
	data, summary := n.s.Tenant(n.owner, true), n.ix.Summary()
	for facet, query := range map[index.Facet]string{
		index.Tags:          "SELECT t.name, count(*) FROM connection_tags l JOIN tags t ON t.tenant_id = l.tenant_id AND t.id = l.tag_id" + live + " WHERE l.tenant_id = ? GROUP BY t.name",
		index.Groups:        "SELECT g.name, count(*) FROM group_connections l JOIN groups g ON g.tenant_id = l.tenant_id AND g.id = l.group_id" + live + " WHERE l.tenant_id = ? GROUP BY g.name",
		index.Organizations: "SELECT o.name, count(DISTINCT l.connection_id) FROM positions l JOIN organizations o ON o.tenant_id = l.tenant_id AND o.id = l.organization_id" + live + " WHERE l.tenant_id = ? AND l.current GROUP BY o.name",
		index.Locations:     "SELECT location, count(*) FROM connections WHERE tenant_id = ? AND location <> '' AND archived_at IS NULL GROUP BY location",
	} {
		var names []string
		var counts []int
		if err := data.NewRaw(query, n.owner).Scan(t.Context(), &names, &counts); err != nil {
			rt.Fatal(err)
		}
		want := []index.Count{}
		for i, name := range names {
			want = append(want, index.Count{Value: name, People: counts[i]})
			if got := summary.Count(facet, name); got != counts[i] {
				rt.Fatalf("%s: %d, want %d", name, got, counts[i])
			}
		}
		slices.SortFunc(want, func(a, b index.Count) int { return cmpCount(a, b) })
		if diff := cmp.Diff(want[:min(len(want), index.MaxTop)], summary.Top(facet), cmpopts.EquateEmpty()); diff != "" {
			rt.Fatalf("facet %d (-want +got):\n%s", facet, diff)
		}
	}
	tags, err := groups.ListTags(t.Context(), data, groups.MaxTags)
	if err != nil {
		rt.Fatal(err)
	}
	got := summary.MostUsedTags()
	if !slices.EqualFunc(tags, got, func(a groups.Tag, b index.Count) bool { return a.Name == b.Value && a.People == b.People }) {
		rt.Fatalf("tags %v, want %v", got, tags)
	}
}

func cmpCount(a, b index.Count) int {
	if a.People != b.People {
		return b.People - a.People
	}
	return slices.Compare([]byte(a.Value), []byte(b.Value))
}

// compareStats compares the figures and the people with extreme ones.
func (n *summarised) compareStats(t *testing.T, rt *rapid.T, now time.Time) {
	data := n.s.Tenant(n.owner, true)
	got, err := insights.GetStats(t.Context(), data, n.ix, now, time.UTC)
	if err != nil {
		rt.Fatal(err)
	}
	want := insights.Stats{}
	err = data.NewRaw(`SELECT coalesce(sum(CASE WHEN archived_at IS NULL THEN 1 ELSE 0 END), 0), coalesce(sum(CASE WHEN archived_at IS NULL THEN 0 ELSE 1 END), 0),
coalesce(sum(CASE WHEN archived_at IS NULL AND last_interaction_at >= ?1 THEN 1 ELSE 0 END), 0),
coalesce(sum(CASE WHEN archived_at IS NULL AND last_interaction_at >= ?2 THEN 1 ELSE 0 END), 0),
coalesce(sum(CASE WHEN archived_at IS NULL AND last_interaction_at IS NULL THEN 1 ELSE 0 END), 0),
coalesce(sum(CASE WHEN archived_at IS NULL AND created_at >= ?1 THEN 1 ELSE 0 END), 0),
(SELECT count(*) FROM notes WHERE tenant_id = ?0), (SELECT count(*) FROM interactions WHERE tenant_id = ?0)
FROM connections WHERE tenant_id = ?0`, n.owner, now.AddDate(0, 0, -30), now.AddDate(0, 0, -365)).Scan(t.Context(),
		&want.People, &want.Archived, &want.Contacted30, &want.Contacted365, &want.NeverContacted, &want.AddedLast30, &want.Notes, &want.Interactions)
	if err != nil {
		rt.Fatal(err)
	}
	lists := cmpopts.IgnoreFields(insights.Stats{}, "Closest", "Fading", "Organizations", "Places", "Groups", "Tags", "Overdue")
	if diff := cmp.Diff(want, *got, lists); diff != "" {
		rt.Fatalf("(-want +got):\n%s", diff)
	}
	n.compareExtremes(t, rt, got, now)
}

// compareExtremes compares who is closest, and whose tie is fading, by the sums of all
// interactions. Equal sums may differ in their last digits.
func (n *summarised) compareExtremes(t *testing.T, rt *rapid.T, got *insights.Stats, now time.Time) {
	var rows []struct {
		ConnectionID, Kind string
		OccurredAt         time.Time
	}
	err := n.s.Tenant(n.owner, true).NewRaw("SELECT l.connection_id, i.kind, i.occurred_at FROM interaction_connections l JOIN interactions i ON i.tenant_id = l.tenant_id AND i.id = l.interaction_id"+live+
		" WHERE l.tenant_id = ?", n.owner).Scan(t.Context(), &rows)
	if err != nil {
		rt.Fatal(err)
	}
	last := map[string]time.Time{}
	for _, r := range rows {
		if r.OccurredAt.After(last[r.ConnectionID]) {
			last[r.ConnectionID] = r.OccurredAt
		}
	}
	total, peak := map[string]float64{}, map[string]float64{}
	for _, r := range rows {
		weight := people.Weights()[r.Kind]
		total[r.ConnectionID] += weight * people.Decay(now.Sub(r.OccurredAt))
		peak[r.ConnectionID] += weight * people.Decay(last[r.ConnectionID].Sub(r.OccurredAt))
	}
	compare := func(what string, sums map[string]float64, got []insights.Person, holds func(id string) bool) {
		want, found := []float64{}, []float64{}
		for id, sum := range sums {
			if holds(id) {
				want = append(want, sum)
			}
		}
		slices.Sort(want)
		slices.Reverse(want)
		for _, p := range got {
			if found = append(found, sums[p.ID]); !holds(p.ID) {
				rt.Fatalf("%s: %+v", what, p)
			}
		}
		if diff := cmp.Diff(want[:min(len(want), insights.Top)], found, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
			rt.Fatalf("%s (-want +got):\n%s", what, diff)
		}
	}
	compare("closest", total, got.Closest, func(id string) bool { return total[id] > 0 })
	compare("fading", peak, got.Fading, func(id string) bool {
		return peak[id] >= people.Sum(insights.FadingScore) && last[id].Before(now.Add(-insights.FadingAfter))
	})
}

// compareDue compares the pages of the list with the one that all rows give.
func (n *summarised) compareDue(t *testing.T, rt *rapid.T, now time.Time) {
	q := reminders.DueQuery{
		Zone:  civil.Zone(rapid.SampledFrom([]string{"UTC", "Pacific/Kiritimati", "America/New_York"}).Draw(rt, "zone")),
		Limit: rapid.IntRange(1, 9).Draw(rt, "limit"),
	}
	q.Today = civil.Of(now, q.Zone)
	q.Until = q.Today.AddDate(0, 0, rapid.SampledFrom([]int{0, 7, 14, 366}).Draw(rt, "days"))
	if diff := n.diffDue(t, q); diff != "" {
		rt.Fatal(diff)
	}
}

// The dates of the days around a 29 February are listed once, in order, and counted.
func TestDatesAroundALeapDay(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		s := dbtest.Open(t, url, time.Now)
		n := &summarised{s: s, owner: dbtest.Member(t, s, "maria"), ix: index.New(), version: -1}
		err := write(t, s, n.owner, func(ctx context.Context, u *db.Tx) error {
			for _, date := range []string{"--02-27", "--02-28", "--02-29", "--03-01", "--03-01", "--06-19", "--12-02", "2028-02-28", "2028-02-29", "2029-02-28", "2029-03-01"} {
				_, err := people.Create(ctx, u, people.Draft{Name: date, OnDuplicate: "create", Dates: []people.DateDraft{{Kind: "other", Date: date}}})
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		n.refresh(t)
		for today := time.Date(2026, 2, 26, 0, 0, 0, 0, time.UTC); today.Year() < 2030; today = today.AddDate(0, 0, 1) {
			if md := today.Format("0102"); md < "0226" || md > "0302" {
				continue
			}
			for _, days := range []int{0, 1, 364, 365, 366} {
				q := reminders.DueQuery{Zone: time.UTC, Today: today, Until: today.AddDate(0, 0, days), Limit: 1}
				if diff := n.diffDue(t, q); diff != "" {
					t.Errorf("%d days from %s: %s", days, today.Format(time.DateOnly), diff)
				}
			}
		}
	})
}

// diffDue returns how the pages of a list differ from the one that all rows give.
func (n *summarised) diffDue(t *testing.T, q reminders.DueQuery) string {
	t.Helper()
	data := n.s.Tenant(n.owner, true)
	var rows reminders.Rows
	var stored []reminders.Reminder
	for _, read := range []struct {
		into  any
		query string
	}{
		{&stored, "SELECT * FROM reminders WHERE tenant_id = ? AND state = 'open'"},
		{&rows.Dates, "SELECT l.*, c.name FROM important_dates l" + live + " WHERE l.tenant_id = ?"},
		{&rows.People, "SELECT * FROM connections WHERE tenant_id = ? AND archived_at IS NULL"},
	} {
		if err := data.NewRaw(read.query, n.owner).Scan(t.Context(), read.into); err != nil {
			t.Fatal(err)
		}
	}
	if err := reminders.Fill(t.Context(), data, stored); err != nil {
		t.Fatal(err)
	}
	for _, r := range stored {
		row := reminders.ReminderRow{Reminder: r}
		for _, c := range rows.People {
			if slices.Contains(r.ConnectionIDs, c.ID) {
				row.People = append(row.People, reminders.Person{ID: c.ID, Name: c.Name})
			}
		}
		slices.SortFunc(row.People, func(a, b reminders.Person) int { return strings.Compare(a.Name+"\x00"+a.ID, b.Name+"\x00"+b.ID) })
		if len(r.ConnectionIDs) == 0 || len(row.People) > 0 {
			rows.Reminders = append(rows.Reminders, row)
		}
	}
	cadences, err := people.GroupCadences(t.Context(), data, append(people.IDs(rows.People, func(c people.Connection) string { return c.ID }), ""))
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows.People {
		rows.People[i].GroupCadence = cadences[rows.People[i].ID]
	}
	all := q
	all.Limit = 10_000
	want, counted := rows.Page(all), rows.Counts(all)
	got := []reminders.Due{}
	for {
		page, counts, err := reminders.List(t.Context(), data, n.ix, q)
		if err != nil || counts != counted {
			return fmt.Sprintf("counts %+v, want %+v, %v", counts, counted, err)
		}
		got = append(got, page...)
		if len(page) < q.Limit {
			break
		}
		q.After = new(page[len(page)-1].Cursor())
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmp.AllowUnexported(reminders.Due{})); diff != "" {
		return "(-want +got):\n" + diff
	}
	return ""
}

// comparePeopleAt compares who is found with who has a position or an address there, and
// a short list with the beginning of the whole one.
func (n *summarised) comparePeopleAt(t *testing.T, rt *rapid.T, now time.Time) {
	data := n.s.Tenant(n.owner, true)
	place := insights.ParsePlace(rapid.SampledFrom([]string{"Firm 3", "firm", "firm.example"}).Draw(rt, "place"))
	past := rapid.Bool().Draw(rt, "past")
	find := func(limit int) []insights.PersonAt {
		rows, err := insights.ListPeopleAt(t.Context(), data, n.ix, place, insights.AtOptions{Past: past, Limit: limit}, now)
		if err != nil {
			rt.Fatal(err)
		}
		return insights.PeopleAt(rows)
	}
	all := find(10_000)
	want := []string{}
	err := data.NewRaw(`SELECT l.connection_id FROM positions l JOIN organizations o ON o.tenant_id = l.tenant_id AND o.id = l.organization_id`+live+`
WHERE l.tenant_id = ?0 AND (l.current OR ?1) AND (?2 = '' AND (o.name = ?3 OR ?3 = 'firm'))
UNION SELECT l.connection_id FROM handles l`+live+` WHERE l.tenant_id = ?0 AND ?2 <> '' AND l.normal_value LIKE '%@firm.example' ORDER BY 1`,
		n.owner, past, place.Domain, map[string]string{"firm 3": "Firm 3", "firm": "firm"}[place.Normal]).Scan(t.Context(), &want)
	if err != nil {
		rt.Fatal(err)
	}
	got := people.IDs(all, func(p insights.PersonAt) string { return p.Person.ID })
	slices.Sort(got)
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		rt.Fatalf("%+v (-want +got):\n%s", place, diff)
	}
	limit := rapid.IntRange(1, 9).Draw(rt, "at most")
	if diff := cmp.Diff(all[:min(limit, len(all))], find(limit), cmpopts.EquateEmpty()); diff != "" {
		rt.Fatalf("the first %d (-want +got):\n%s", limit, diff)
	}
}
