package integration_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/timeline"
)

// countModel is a network in Go's memory, to count in the plainest way.
type countModel struct {
	people []countedPerson
	met    []timeline.Interaction
}

type countedPerson struct {
	id, name      string
	organizations []string // current ones
	tags          []string
	archived      bool
}

// count counts as CountInteractions should.
func (m *countModel) count(q timeline.CountQuery) timeline.Counts {
	var out timeline.Counts
	groups := map[string]timeline.Count{}
	for _, i := range m.met {
		if len(q.Kinds) > 0 && !slices.Contains(q.Kinds, i.Kind) || i.OccurredAt.Before(q.Since) || !q.Until.IsZero() && !i.OccurredAt.Before(q.Until) {
			continue
		}
		in := map[string]bool{}
		for _, p := range m.people {
			if p.archived || !slices.Contains(i.ConnectionIDs, p.id) || q.Tag != "" && !slices.Contains(p.tags, strings.ToLower(q.Tag)) ||
				len(q.ConnectionIDs) > 0 && !slices.Contains(q.ConnectionIDs, p.id) {
				continue
			}
			names := map[string][]string{
				timeline.ByPerson: {p.name}, timeline.ByKind: {i.Kind}, timeline.ByMonth: {i.OccurredAt.In(q.Zone).Format("2006-01")},
				timeline.ByOrganization: p.organizations, timeline.ByTag: p.tags, "": nil,
			}[q.By]
			in["counted"] = true
			for _, name := range names {
				in["in "+name] = true
			}
		}
		if !in["counted"] {
			continue
		}
		out.All.Count, out.All.Minutes = out.All.Count+1, out.All.Minutes+i.DurationMinutes
		for key := range in {
			if name, ok := strings.CutPrefix(key, "in "); ok {
				groups[name] = timeline.Count{Count: groups[name].Count + 1, Minutes: groups[name].Minutes + i.DurationMinutes}
			}
		}
	}
	for name, n := range groups {
		out.Groups = append(out.Groups, timeline.GroupCount{Name: name, Count: n})
	}
	slices.SortFunc(out.Groups, func(a, b timeline.GroupCount) int {
		if q.By == timeline.ByMonth {
			return strings.Compare(a.Name, b.Name)
		}
		return cmp.Or(cmp.Compare(b.Count.Count, a.Count.Count), cmp.Compare(b.Minutes, a.Minutes), strings.Compare(a.Name, b.Name))
	})
	return out
}

// latestMonths leaves out the months before the last ones, and says whether there were some.
func latestMonths(groups []timeline.GroupCount, limit int) ([]timeline.GroupCount, bool) {
	last, _ := time.Parse("2006-01", groups[len(groups)-1].Name)
	first := last.AddDate(0, 1-limit, 0).Format("2006-01")
	at := slices.IndexFunc(groups, func(g timeline.GroupCount) bool { return g.Name >= first })
	return groups[at:], at > 0
}

// Both databases count as a model in memory does, in the member's time zone.
func TestInteractionsAreCounted(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
		s := dbtest.Open(t, url, func() time.Time { return now })
		owner, other := dbtest.Member(t, s, "maria"), dbtest.Member(t, s, "other")
		draw := rand.New(rand.NewPCG(36, 6))
		m := &countModel{}
		organizations, tags := []string{"Borealis", "Helios", "Nordwind"}, []string{"chess", "climate", "rowing"}
		kinds := []string{"meeting", "call", "email", "message", "event", "intro", "other"}
		for i := range 12 {
			p := countedPerson{name: fmt.Sprintf("Person %02d", i)}
			d := people.Draft{Name: p.name}
			for _, organization := range organizations {
				if draw.IntN(3) == 0 { // the last of them becomes the current one
					d.Jobs = append(d.Jobs, people.JobDraft{Organization: organization, Title: "Engineer"}, people.JobDraft{Organization: organization, Title: "Chair", Past: draw.IntN(2) == 0})
				}
			}
			for _, tag := range tags {
				if draw.IntN(3) == 0 {
					p.tags = append(p.tags, tag)
				}
			}
			d.Tags = p.tags
			made := create(t, s, owner, d)
			for _, job := range made.Positions {
				if job.Current {
					p.organizations = append(p.organizations, job.Organization)
				}
			}
			p.id, p.archived = made.ID, i >= 10
			m.people = append(m.people, p)
		}
		theirs := create(t, s, other, people.Draft{Name: "Theirs", Organization: "Helios", Tags: tags})
		logged := func(i timeline.Interaction) {
			t.Helper()
			who := owner
			if i.ConnectionIDs[0] == theirs.ID {
				who = other
			}
			err := write(t, s, who, func(ctx context.Context, u *db.Tx) error {
				_, err := timeline.LogInteractions(ctx, u, i)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		logged(timeline.Interaction{Kind: "call", OccurredAt: now, DurationMinutes: 999, ConnectionIDs: []string{theirs.ID}})
		boundary := time.Date(2026, 6, 30, 22, 0, 0, 0, time.UTC) // the beginning of July in Berlin
		for range 120 {
			i := timeline.Interaction{Kind: kinds[draw.IntN(len(kinds))], OccurredAt: now.Add(-time.Duration(draw.IntN(400*24)) * time.Hour), DurationMinutes: int32(draw.IntN(3) * 20)}
			if draw.IntN(4) == 0 {
				i.OccurredAt = boundary.Add(time.Duration(draw.IntN(3)-1) * time.Second)
			}
			for _, at := range draw.Perm(len(m.people))[:1+draw.IntN(3)] {
				i.ConnectionIDs = append(i.ConnectionIDs, m.people[at].id)
			}
			logged(i)
			m.met = append(m.met, i)
		}
		archive(t, s, owner, true, m.people[10].id, m.people[11].id)
		pick := func() []string { return []string{m.people[draw.IntN(10)].id, m.people[draw.IntN(10)].id} }
		for n := range 400 {
			q := timeline.CountQuery{Limit: 1 + draw.IntN(14), Zone: civil.Zone([]string{"Europe/Berlin", "UTC", "Pacific/Auckland"}[draw.IntN(3)])}
			q.By = []string{"", timeline.ByPerson, timeline.ByKind, timeline.ByMonth, timeline.ByOrganization, timeline.ByTag}[n%6]
			if draw.IntN(3) == 0 {
				q.Kinds = []string{kinds[draw.IntN(7)], kinds[draw.IntN(7)]}
			}
			if draw.IntN(3) == 0 {
				q.Since = boundary.AddDate(0, draw.IntN(5)-3, 0)
			}
			if draw.IntN(3) == 0 {
				q.Until = boundary.AddDate(0, draw.IntN(4), 0)
			}
			if draw.IntN(4) == 0 {
				q.ConnectionIDs = pick()
			}
			if draw.IntN(4) == 0 {
				q.Tag = []string{"Chess", "climate", "nobody's"}[draw.IntN(3)]
			}
			want := m.count(q)
			if q.By == timeline.ByMonth && len(want.Groups) > 0 {
				want.Groups, want.More = latestMonths(want.Groups, q.Limit)
			} else if want.More = len(want.Groups) > q.Limit; want.More {
				want.Groups = want.Groups[:q.Limit]
			}
			got, err := timeline.CountInteractions(t.Context(), s.Tenant(owner, true), q)
			if err != nil {
				t.Fatalf("%+v: %v", q, err)
			}
			if diff := gocmp.Diff(want, got, cmpopts.IgnoreFields(timeline.GroupCount{}, "ID"), cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("%+v:\n%s", q, diff)
			}
		}
		for _, id := range []string{theirs.ID, m.people[11].id} {
			_, err := timeline.CountInteractions(t.Context(), s.Tenant(owner, true), timeline.CountQuery{Limit: 1, ConnectionIDs: []string{m.people[0].id, id}, Zone: time.UTC})
			if !fault.Is(err, fault.NotFound) && !fault.Is(err, fault.Conflict) {
				t.Errorf("%s: %v", id, err)
			}
		}
	})
}
