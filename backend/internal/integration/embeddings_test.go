package integration_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/kinds"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/search"
	"github.com/kith-crm/kith/backend/internal/search/vector"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/timeline"
)

const testModel = "test-model"

// keepPeople makes people of the names and returns their ids, which grow.
func keepPeople(t *testing.T, s *db.DB, owner tenant.ID, names ...string) []string {
	t.Helper()
	var ids []string
	for range names {
		ids = append(ids, id.New(id.Connection))
	}
	slices.Sort(ids)
	err := write(t, s, owner, func(ctx context.Context, u *db.Tx) error {
		rows := make([]*people.Connection, len(names))
		for i, name := range names {
			rows[i] = &people.Connection{ID: ids[i], Name: name, Version: 1, CreatedAt: u.Now(), UpdatedAt: u.Now()}
		}
		u.MarkDirty(ids...)
		return people.InsertPeople(ctx, u, rows)
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// candidates returns the people who may need a vector of the model.
func candidates(t *testing.T, s *db.DB, owner tenant.ID) vector.Candidates {
	t.Helper()
	found, err := search.ListCandidates(t.Context(), s.Tenant(owner, true), testModel, "", 100, false)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// embedAll keeps a vector for each person that needs one.
func embedAll(t *testing.T, s *db.DB, owner tenant.ID) {
	t.Helper()
	found := candidates(t, s, owner)
	var rows []vector.Row
	for i, c := range found.People {
		if c.Person != nil {
			rows = append(rows, vectorRow(c.ID, c.Person.Text(), float32(i)))
		}
	}
	putEmbeddings(t, s, owner, found.Version, rows, nil)
}

func vectorRow(id, text string, x float32) vector.Row {
	v := vector.Vector{x, 1}
	_ = vector.Normalise(v)
	return vector.Row{ConnectionID: id, Model: testModel, Dimensions: 2, ContentHash: vector.Hash(text), Vector: v}
}

func putEmbeddings(t *testing.T, s *db.DB, owner tenant.ID, version int64, rows []vector.Row, same []string) {
	t.Helper()
	err := write(t, s, owner, func(ctx context.Context, u *db.Tx) error { return search.PutEmbeddings(ctx, u, version, rows, same) })
	if err != nil {
		t.Fatal(err)
	}
}

func loadVectors(t *testing.T, s *db.DB, owner tenant.ID, since int64) vector.Vectors {
	t.Helper()
	v, err := search.LoadVectors(t.Context(), s.Tenant(owner, true), testModel, since)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// known lists the people whose vectors were loaded, with a star for current vectors.
func known(v vector.Vectors) []string {
	var out []string
	for i, id := range v.IDs {
		out = append(out, id+map[bool]string{true: "*"}[v.Current[i]])
	}
	slices.Sort(out)
	return out
}

func TestCandidatesTellWhatAVectorIsMadeFrom(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "maria")
		var id string
		err := write(t, s, owner, func(ctx context.Context, u *db.Tx) error {
			made, err := people.Create(ctx, u, people.Draft{
				Name: "Anna Bauer", Nickname: "Anni", Organization: "Helios", Title: "CTO", Location: "Zürich", Bio: "Climbs",
				Tags: []string{"chess", "Angel"}, Emails: []string{"anna@x.example"}, Phones: []string{"+1 212 555 0100"},
			})
			if err != nil {
				return err
			}
			id = made.Connection.ID
			_, err = timeline.LogInteractions(ctx, u, timeline.Interaction{Kind: "call", Summary: "spoke", ConnectionIDs: []string{id}})
			return err
		})
		for i := range 7 {
			err = errors.Join(err, write(t, s, owner, func(ctx context.Context, u *db.Tx) error {
				_, _, err := timeline.AddNote(ctx, u, timeline.Note{Body: fmt.Sprint("note ", i), ConnectionIDs: []string{id}})
				return err
			}))
		}
		if err != nil {
			t.Fatal(err)
		}
		want := []vector.Candidate{{ID: id, Person: &vector.Person{
			Name: "Anna Bauer", Nickname: "Anni", Location: "Zürich", Bio: "Climbs", Tags: []string{"Angel", "chess"},
			Positions: []vector.Position{{Title: "CTO", Organization: "Helios", Current: true}},
			Notes:     []string{"note 6", "note 5", "note 4", "note 3", "note 2"},
		}}}
		if diff := cmp.Diff(want, candidates(t, s, owner).People); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestCandidatesComeInPages(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "maria")
		want := keepPeople(t, s, owner, "A", "B", "C", "D", "E")
		var got []string
		for after := ""; ; {
			page, err := search.ListCandidates(t.Context(), s.Tenant(owner, true), testModel, after, 2, true)
			if err != nil || len(page.People) > 2 {
				t.Fatal(len(page.People), err)
			}
			for _, c := range page.People {
				after = c.ID
				got = append(got, c.ID)
			}
			if len(page.People) == 0 {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

// A vector is stale when what it was made from changed, and only then.
func TestVectorsAreCurrentAsLongAsTheTextIs(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "maria")
		ids := keepPeople(t, s, owner, "A", "B", "C", "D")
		a, b, c, d := ids[0], ids[1], ids[2], ids[3]
		embedAll(t, s, owner)
		first := loadVectors(t, s, owner, -1)
		if want := []string{a + "*", b + "*", c + "*", d + "*"}; !first.Whole || first.Dimensions != 2 || !slices.Equal(known(first), want) {
			t.Fatalf("%+v", first)
		}
		err := write(t, s, owner, func(ctx context.Context, u *db.Tx) error {
			if _, _, err := timeline.AddNote(ctx, u, timeline.Note{Body: "new", ConnectionIDs: []string{a}}); err != nil {
				return err
			}
			if _, err := timeline.LogInteractions(ctx, u, timeline.Interaction{Kind: "call", ConnectionIDs: []string{b}}); err != nil {
				return err
			}
			return people.SetArchived(ctx, u, []string{c}, u.Now())
		})
		if err != nil {
			t.Fatal(err)
		}
		changed := loadVectors(t, s, owner, first.Version)
		if got := known(changed); changed.Whole || !slices.Equal(got, []string{a, b + "*"}) || !slices.Equal(changed.Gone, []string{c}) {
			t.Errorf("changed %v, gone %v of %v", got, changed.Gone, ids)
		}
		if got := known(loadVectors(t, s, owner, -1)); !slices.Equal(got, []string{a, b + "*", d + "*"}) {
			t.Errorf("whole: %v", got)
		}
		// The job looks at A and B, since something changed, and not at D.
		for _, p := range candidates(t, s, owner).People {
			if (p.Person == nil) != (p.ID == d) || p.Hash == "" || p.Dimensions != 2 {
				t.Errorf("%s: %+v", p.ID, p)
			}
		}
		found := candidates(t, s, owner)
		putEmbeddings(t, s, owner, found.Version, nil, []string{b})
		if again := candidates(t, s, owner).People[1]; again.Person != nil {
			t.Error("B is looked at again")
		}
		if got := known(loadVectors(t, s, owner, changed.Version)); !slices.Equal(got, []string{b + "*"}) {
			t.Errorf("after the look: %v", got)
		}
	})
}

func TestVectorsOfDeletedPeopleAreGone(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		s := dbtest.Open(t, url, time.Now)
		owner := dbtest.Member(t, s, "maria")
		ids := keepPeople(t, s, owner, "A", "B")
		embedAll(t, s, owner)
		before := loadVectors(t, s, owner, -1)
		err := write(t, s, owner, func(ctx context.Context, u *db.Tx) error {
			_, err := people.DeleteConnections(ctx, u, kinds.All(), ids[0])
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if after := loadVectors(t, s, owner, before.Version); after.Whole || !slices.Equal(after.Gone, ids[:1]) {
			t.Errorf("%+v", after)
		}
		if whole := loadVectors(t, s, owner, -1); !slices.Equal(known(whole), []string{ids[1] + "*"}) {
			t.Errorf("%+v", whole)
		}
		if rows := rowsOf(t, dbtest.OpenSQL(t, url), "embeddings"); len(rows) != 1 {
			t.Errorf("%d rows", len(rows))
		}
		// A person who is deleted while their vector is made gets none.
		putEmbeddings(t, s, owner, before.Version, []vector.Row{vectorRow(ids[0], "A", 1), vectorRow("con_nobody", "", 1)}, nil)
		if rows := rowsOf(t, dbtest.OpenSQL(t, url), "embeddings"); len(rows) != 1 {
			t.Errorf("%d rows", len(rows))
		}
	})
}

func TestVectorsOfAnotherModelOrLengthAreNotLoaded(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "maria")
		ids := keepPeople(t, s, owner, "A", "B", "C")
		longer, other := vectorRow(ids[0], "A", 1), vectorRow(ids[1], "B", 1)
		longer.Vector, longer.Dimensions = append(longer.Vector, 0), 3
		other.Model = "another"
		version := candidates(t, s, owner).Version
		putEmbeddings(t, s, owner, version, []vector.Row{longer, other}, nil)
		if v := loadVectors(t, s, owner, -1); v.Dimensions != 3 || !slices.Equal(v.IDs, ids[:1]) {
			t.Errorf("%+v", v)
		}
		putEmbeddings(t, s, owner, version, []vector.Row{vectorRow(ids[2], "C", 1)}, nil)
		if v := loadVectors(t, s, owner, -1); v.Dimensions != 2 || !slices.Equal(v.IDs, ids[2:]) {
			t.Errorf("the later ones count: %+v", v)
		}
		if got := candidates(t, s, owner).People[1]; got.Hash != "" || got.Person == nil {
			t.Errorf("a vector of another model counts: %+v", got)
		}
	})
}

func TestPrincipalKnowsOfVectors(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "maria")
		bearer := dbtest.Token(t, s, owner, "connections")
		principal := func() *tenant.Principal {
			p, err := oauth.Authenticate(t.Context(), s, bearer)
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		keepPeople(t, s, owner, "A")
		if p := principal(); p.EmbeddedVersion != 0 || p.EmbeddingsHost != "" {
			t.Errorf("%+v", p)
		}
		embedAll(t, s, owner)
		if err := account.SetEmbeddingsHost(t.Context(), s, owner, "vectors.example"); err != nil {
			t.Fatal(err)
		}
		if p := principal(); p.EmbeddedVersion != p.DataVersion || p.EmbeddingsHost != "vectors.example" {
			t.Errorf("%+v", p)
		}
	})
}

func TestReadOnlyAccountsAllowNothing(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		s := dbtest.Open(t, url, time.Now)
		owner := dbtest.Member(t, s, "demo-one")
		ids := keepPeople(t, s, owner, "A")
		embedAll(t, s, owner)
		readOnly(t, url, owner)
		if err := account.SetEmbeddingsHost(t.Context(), s, owner, "vectors.example"); !fault.Is(err, fault.NotFound) {
			t.Errorf("got %v", err)
		}
		// The database refuses a handle that does not know that the account is read-only.
		err := write(t, s, owner, func(ctx context.Context, u *db.Tx) error {
			return search.PutEmbeddings(ctx, u, 1, []vector.Row{vectorRow(ids[0], "B", 1)}, nil)
		})
		if !fault.Is(err, fault.ReadOnly) {
			t.Errorf("got %v", err)
		}
	})
}
