package integration_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/kinds"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/timeline"
	"pgregory.net/rapid"
)

// The values of random people, of which many are equal in one spelling or another.
var (
	someNames  = []string{"Ana López", "Lopez, Ana", "ana lopez", "Anne-Marie Roy", "Annemarie Roy", "Maya O'Connor", "Bo", "王小明"}
	someHouses = []string{"", "Helios GmbH", "helios", "Müller & Söhne", "X"}
	someEmails = []string{"ana@x.example", "ANA+news@x.example", "a.l@gmail.com", "al@googlemail.com", "info@x.example", "bo@x.example"}
	somePhones = []string{"+48 22 555-0100", "0048 (22) 5550100", "112", "+1 212 555 0100 x12"}
	someURLs   = []string{"https://www.linkedin.com/in/ana-l/", "http://linkedin.com/in/Ana-L", "https://x.example/", "https://x.example/ana"}
)

func someOf(t *rapid.T, label string, from []string) []string {
	return rapid.SliceOfNDistinct(rapid.SampledFrom(from), 0, 2, rapid.ID).Draw(t, label)
}

// The keys that are kept with people find the pairs that a comparison of all people finds,
// whatever was written and undone before.
func TestDuplicateKeysFindEveryPair(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		found, n := 0, 0
		for found < 20 {
			rapid.Check(t, func(rt *rapid.T) {
				if n++; n%100 > networks {
					return
				}
				w := &writer{store: s, owner: dbtest.Member(t, s, fmt.Sprintf("maria-%d", n))}
				for range rapid.IntRange(2, 25).Draw(rt, "writes") {
					w.write(rt, t)
				}
				found += w.compareDuplicates(rt, t)
			})
		}
	})
}

// writer writes at random.
type writer struct {
	store *db.DB
	owner tenant.ID
	// people and changes are what was made so far.
	people, changes []string
}

func (w *writer) write(rt *rapid.T, t *testing.T) {
	id := func() string { return rapid.SampledFrom(w.people).Draw(rt, "person") }
	op := rapid.SampledFrom([]string{"create", "create", "import", "update", "replace", "merge", "archive", "delete", "undo", "undo"}).Draw(rt, "op")
	if len(w.people) < 2 {
		op = "create"
	}
	err := write(t, w.store, w.owner, func(ctx context.Context, u *db.Tx) error {
		switch op {
		case "create":
			return w.create(ctx, rt, u)
		case "import":
			return w.add(ctx, rt, u)
		case "update":
			patch := people.Patch{
				ID: id(), Name: new(rapid.SampledFrom(someNames).Draw(rt, "name")), Organization: new(rapid.SampledFrom(someHouses).Draw(rt, "organization")),
				Emails: people.Edit{Replace: someOf(rt, "emails", someEmails)}, Phones: people.Edit{Add: someOf(rt, "phones", somePhones)},
			}
			done, err := people.Update(ctx, u, patch)
			return w.changed(done.ChangeID, err)
		case "replace":
			c, err := people.GetConnection(ctx, u, id())
			if err != nil {
				return err
			}
			c.Name = rapid.SampledFrom(someNames).Draw(rt, "name")
			return people.ReplacePeople(ctx, u, []*people.Connection{c})
		case "merge":
			done, err := people.Merge(ctx, u, []people.MergeInto{{Into: id(), From: []string{id()}}}, false, timeline.StoreNote, func(context.Context, []people.MergedPerson) error { return nil })
			return w.changed(done.ChangeID, err)
		case "archive":
			done, err := people.Archive(ctx, u, []string{id()}, rapid.Bool().Draw(rt, "away"), false)
			return w.changed(done.ChangeID, err)
		case "delete":
			c, err := people.GetConnection(ctx, u, id())
			if err != nil {
				return err
			}
			done, err := people.Delete(ctx, u, kinds.All(), c.ID, c.Name)
			return w.changed(done.ChangeID, err)
		default:
			if len(w.changes) == 0 {
				return nil
			}
			done, err := history.Undo(ctx, u, kinds.All(), rapid.SampledFrom(w.changes).Draw(rt, "change"), false)
			return w.changed(done.ChangeID, err)
		}
	})
	_ = err // what cannot be done is rolled back
}

// changed notes a change that can be undone.
func (w *writer) changed(change string, err error) error {
	if err == nil && change != "" {
		w.changes = append(w.changes, change)
	}
	return err
}

func (w *writer) create(ctx context.Context, rt *rapid.T, u *db.Tx) error {
	done, err := people.Create(ctx, u, people.Draft{
		Name: rapid.SampledFrom(someNames).Draw(rt, "name"), Organization: rapid.SampledFrom(someHouses).Draw(rt, "organization"),
		Emails: someOf(rt, "emails", someEmails), Phones: someOf(rt, "phones", somePhones), URLs: someOf(rt, "urls", someURLs), OnDuplicate: people.OnDuplicateCreate,
	})
	if err != nil {
		return err
	}
	w.people = append(w.people, done.Connection.ID)
	return w.changed(done.ChangeID, nil)
}

// add adds people as an import does.
func (w *writer) add(ctx context.Context, rt *rapid.T, u *db.Tx) error {
	var all []*people.Connection
	for range rapid.IntRange(1, 4).Draw(rt, "rows") {
		c := people.Connection{Name: rapid.SampledFrom(someNames).Draw(rt, "name"), Source: people.SourceImport}
		for _, email := range someOf(rt, "emails", someEmails) {
			c.Handles = append(c.Handles, people.Handle{Kind: people.KindEmail, Value: email})
		}
		for _, profile := range someOf(rt, "profiles", someURLs) {
			c.Handles = append(c.Handles, people.Handle{Kind: people.KindSocial, Value: profile})
		}
		for i, house := range someOf(rt, "organizations", someHouses) {
			c.Positions = append(c.Positions, people.Position{Organization: house, Title: "T", Current: i == 0 || rapid.Bool().Draw(rt, "current")})
		}
		whole, err := people.Complete(c, nil)
		if err != nil {
			return err
		}
		whole.ID, whole.Version, whole.CreatedAt, whole.UpdatedAt = id.New(id.Connection), 1, u.Now(), u.Now()
		all = append(all, whole)
		w.people = append(w.people, whole.ID)
	}
	return people.InsertPeople(ctx, u, all)
}

// compareDuplicates compares with the pairs among all people, and returns how many there
// are.
func (w *writer) compareDuplicates(rt *rapid.T, t *testing.T) int {
	data := w.store.Tenant(w.owner, true)
	everybody, err := people.ListDuplicateCandidates(t.Context(), data)
	if err != nil {
		rt.Fatal(err)
	}
	pairs := 0
	for _, score := range []float64{.4, .705, people.DefaultMinScore, .95} {
		for _, id := range append([]string{""}, w.people...) {
			q := people.Query{ConnectionID: id, MinScore: score, Limit: rapid.SampledFrom([]int{1, 1000}).Draw(rt, "limit")}
			want, wantMore := people.Find(everybody, q)
			got, more, err := people.FindDuplicates(t.Context(), data, q)
			if err != nil {
				rt.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" || more != wantMore {
				rt.Fatalf("%+v, more %v (-all pairs +by keys):\n%s", q, more, diff)
			}
			pairs += len(got)
		}
	}
	return pairs
}

// People with one address in common are found without reading anyone else.
func TestDuplicatesReadFewPeople(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "maria")
		for i := range 30 {
			create(t, s, owner, people.Draft{Name: "Ana Lopez", Organization: "House " + strings.Repeat("x", i), Emails: []string{fmt.Sprintf("a%d@x.example", i%29)}, OnDuplicate: people.OnDuplicateCreate})
		}
		var shared int
		if err := s.Tenant(owner, true).NewRaw("SELECT count(DISTINCT connection_id) FROM duplicate_keys WHERE tenant_id = ? AND shared", owner).Scan(t.Context(), &shared); err != nil {
			t.Fatal(err)
		}
		pairs, _, err := people.FindDuplicates(t.Context(), s.Tenant(owner, true), people.Query{MinScore: people.DefaultMinScore, Limit: 10})
		if err != nil || shared != 2 || len(pairs) != 1 {
			t.Errorf("%d people share a key, %d pairs, %v", shared, len(pairs), err)
		}
	})
}

// Two people who are not the same are left out of every search for duplicates, and come back
// with an undo. A deletion takes the pair away, and its undo brings it back; nothing is left
// when a person was deleted for good.
func TestDistinctPairs(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "maria")
		data := s.Tenant(owner, false)
		var ids []string
		for _, name := range []string{"Ana López", "Ana M. López", "Anna López"} {
			ids = append(ids, create(t, s, owner, people.Draft{
				Name: name, Emails: []string{"ana@x.example"}, Phones: []string{"+48 22 555 0100"}, URLs: []string{"https://x.example/ana"}, Organization: "Helios",
				OnDuplicate: people.OnDuplicateCreate,
			}).ID)
		}
		pairs := func(q people.Query) (out []string) {
			t.Helper()
			q.Limit = 10
			found, _, err := people.FindDuplicates(t.Context(), data, q)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range found {
				out = append(out, strings.Join(slices.Sorted(slices.Values([]string{p.First.Name, p.Second.Name})), "+"))
			}
			slices.Sort(out)
			return out
		}
		wantPairs := func(what string, without ...string) {
			t.Helper()
			for _, q := range []people.Query{{MinScore: .4}, {MinScore: people.DefaultMinScore}, {MinScore: .4, ConnectionID: ids[0]}, {MinScore: .9, ConnectionID: ids[0]}} {
				want := []string{"Ana López+Ana M. López", "Ana López+Anna López", "Ana M. López+Anna López"}
				if q.ConnectionID != "" {
					want = want[:2]
				}
				want = slices.DeleteFunc(want, func(p string) bool { return slices.Contains(without, p) })
				if diff := cmp.Diff(want, pairs(q)); diff != "" {
					t.Errorf("%s, %+v: %s", what, q, diff)
				}
			}
		}
		distinguish := func(one, other string) (changeID string, err error) {
			err = data.Write(t.Context(), db.Actor{Tool: "people", CredentialName: "Helper"}, func(ctx context.Context, tx *db.Tx) (err error) {
				changeID, err = people.Distinguish(ctx, tx, one, other)
				return err
			})
			return changeID, err
		}
		undo := func(changeID string) string {
			t.Helper()
			done, err := history.UndoChange(t.Context(), data, kinds.All(), "page", changeID, false)
			if err != nil || len(done.Conflicts) > 0 {
				t.Fatalf("%+v, %v", done, err)
			}
			return done.ChangeID
		}
		wantPairs("at first")
		told, err := distinguish(ids[1], ids[0])
		if err != nil || told == "" {
			t.Fatal(told, err)
		}
		if again, err := distinguish(ids[0], ids[1]); again != "" || err != nil {
			t.Errorf("said twice: %q, %v", again, err)
		}
		kept, err := people.ListDistinctPairs(t.Context(), data)
		if err != nil || len(kept) != 1 || kept[0].FirstID != min(ids[0], ids[1]) || kept[0].SecondID != max(ids[0], ids[1]) || kept[0].SaidBy != "Helper" || kept[0].CreatedAt.IsZero() {
			t.Fatalf("%+v, %v", kept, err)
		}
		wantPairs("said", "Ana López+Ana M. López")
		undone := undo(told)
		wantPairs("undone")
		undo(undone)
		wantPairs("said again", "Ana López+Ana M. López")
		for pair, code := range map[[2]string]fault.Code{{ids[0], ids[0]}: fault.Invalid, {ids[0], "con_qo604yg551"}: fault.NotFound} {
			if _, err := distinguish(pair[0], pair[1]); !fault.Is(err, code) {
				t.Errorf("%v: %v", pair, err)
			}
		}

		var deleted people.Deleted
		write := func(fn func(context.Context, *db.Tx) error) {
			t.Helper()
			if err := data.Write(t.Context(), db.Actor{Tool: "people"}, fn); err != nil {
				t.Fatal(err)
			}
		}
		remove := func(ctx context.Context, tx *db.Tx) (err error) {
			deleted, err = people.Delete(ctx, tx, kinds.All(), ids[1], "Ana M. López")
			return err
		}
		write(remove)
		if kept, err := people.ListDistinctPairs(t.Context(), data); len(kept) > 0 || err != nil {
			t.Errorf("after the deletion: %+v, %v", kept, err)
		}
		undo(deleted.ChangeID)
		wantPairs("restored", "Ana López+Ana M. López")
		write(remove)
		if err := history.EndDeletion(t.Context(), data, "page", deleted.ChangeID); err != nil {
			t.Fatal(err)
		}
		changes, err := history.ListChanges(t.Context(), data, history.Query{Limit: 50})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range changes {
			effects, err := json.Marshal(c.Effects)
			if err != nil {
				t.Fatal(err)
			}
			if text := c.Summary + string(effects); strings.Contains(text, ids[1]) && strings.Contains(text, "second_id") || strings.Contains(c.Summary, "Ana M.") {
				t.Errorf("left of somebody deleted for good: %s", text)
			}
		}
	})
}
