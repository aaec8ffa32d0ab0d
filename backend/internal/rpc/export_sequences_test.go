package rpc_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"pgregory.net/rapid"
)

// After any sequence of writing tools: when another member imports a member's export and
// exports it again, both exports are the same, except for ids and archive times.
func TestExportOfWhateverWasDone(t *testing.T) {
	t.Parallel()
	eachPaid(t, 1_000_000, func(t *testing.T, p *paid) {
		s, members := newStage(t, p), 0
		seen := map[string]bool{}
		lacks := func() []string {
			var out []string
			for _, what := range []string{"archived", "reminder of nobody", "reminder", "note", "interaction", "cadence of a group", "relationship"} {
				if !seen[what] {
					out = append(out, "nothing exported: "+what)
				}
			}
			return out
		}
		rounds(t, 4, lacks, func(rt *rapid.T) {
			a := s.newActor(t)
			a.learn(s.rows(t, a.tenant))
			s.act(t, rt, a, 30, s.revocable())
			s.ask(t, rt, a, createReminder, `{"text":"about nobody","due_on":"2027-01-31","recurrence":"monthly"}`)
			s.ask(t, rt, a, saveGroup, `{"name":"nobody yet","cadence_days":30}`)
			members++
			b := &bundle{url: p.url, store: p.store, rpcs: p.rpcs, member: dbtest.Member(t, p.store, fmt.Sprintf("empty-%d", members))}
			b.bearer = dbtest.Token(t, p.store, b.member, p.rpcs.Scopes()...)
			whole := exported(t, s, a.tenant)
			started := b.call(t, importFile, inline(whole, `,"filename":"whole.json"`))
			done := b.finish(t, started.at("task_id"), p.time)
			if done.at("job", "state") != "succeeded" || done.at("job", "result", "failed") != 0.0 || done.size("job", "result", "warnings") > 0 {
				rt.Fatalf("%v %v", started.body, done.body)
			}
			if diff := gocmp.Diff(normalDocument(t, whole, seen), normalDocument(t, exported(t, s, b.member), seen)); diff != "" {
				rt.Fatalf("of the account (-exported +imported):\n%s", diff)
			}
			const all = `{"format":"json","limit":200}`
			byTool, ofOther := s.ask(t, rt, a, exportPeople, all), b.call(t, exportPeople, all)
			if diff := gocmp.Diff(normalDocument(t, fmt.Sprint(byTool.at("content")), seen), normalDocument(t, fmt.Sprint(ofOther.at("content")), seen)); diff != "" {
				rt.Fatalf("by the tool (-exported +imported):\n%s", diff)
			}
		})
	})
}

// exported is the document of a member's account.
func exported(t *testing.T, s *stage, owner tenant.ID) string {
	t.Helper()
	var b strings.Builder
	doc := export.NewDocument(&b)
	if err := export.ExportPeople(t.Context(), s.store.Tenant(owner, true), true, true, doc.Add); err != nil {
		t.Fatal(err)
	}
	if err := doc.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// normalDocument replaces the ids of people by their positions, sorts lists, and records in seen
// what the document contains.
func normalDocument(t *testing.T, content string, seen map[string]bool) export.Document {
	t.Helper()
	var doc export.Document
	if err := json.Unmarshal([]byte(content), &doc); err != nil {
		t.Fatalf("%v: %s", err, content)
	}
	archived := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range doc.People {
		if p := &doc.People[i]; !p.ArchivedAt.IsZero() {
			p.ArchivedAt, seen["archived"] = archived, true
		}
	}
	bare := func(p export.PersonRecord) string {
		p.ID, p.Relationships = "", nil
		return fmt.Sprint(p)
	}
	slices.SortFunc(doc.People, func(a, b export.PersonRecord) int { return cmp.Compare(bare(a), bare(b)) })
	place := map[string]string{}
	for i := range doc.People {
		place[doc.People[i].ID] = fmt.Sprint(i)
	}
	places := func(ids []string) {
		for i := range ids {
			ids[i] = place[ids[i]]
		}
		slices.Sort(ids)
	}
	for i := range doc.People {
		p := &doc.People[i]
		p.ID = place[p.ID]
		for j := range p.Relationships {
			p.Relationships[j].ConnectionID, seen["relationship"] = place[p.Relationships[j].ConnectionID], true
		}
		inOrder(p.Relationships)
		places(p.NotSameAs)
	}
	for i := range doc.Notes {
		doc.Notes[i].ID, seen["note"] = "", true
		places(doc.Notes[i].ConnectionIDs)
	}
	for i := range doc.Interactions {
		doc.Interactions[i].ID, seen["interaction"] = "", true
		places(doc.Interactions[i].ConnectionIDs)
	}
	for i := range doc.Reminders {
		r := &doc.Reminders[i]
		nobody := len(r.ConnectionIDs) == 0
		seen["reminder of nobody"], seen["reminder"] = seen["reminder of nobody"] || nobody, seen["reminder"] || !nobody
		r.ID = ""
		places(r.ConnectionIDs)
	}
	for _, g := range doc.Groups {
		seen["cadence of a group"] = seen["cadence of a group"] || g.CadenceDays > 0
	}
	inOrder(doc.Notes)
	inOrder(doc.Interactions)
	inOrder(doc.Reminders)
	inOrder(doc.Groups)
	return doc
}

func inOrder[T any](list []T) {
	slices.SortFunc(list, func(a, b T) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
}
