package people_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/people"
)

func TestCreate(t *testing.T) {
	t.Parallel()
	w := newWriter(t)
	got, err := w.create(people.Draft{
		Name: " Ana \n López ", Nickname: "An\x00a", Organization: " Helios  Energy ", Title: "Founder", Location: "Bilbao\n",
		Bio: "\nBuilds\nthings. ", MetOn: "2024-05", MetHow: "at  a fair", Starred: true, Source: people.SourceAgent,
		Emails: []string{"Ana@Example.com", "ana@example.com ", "work@example.com"},
		Phones: []string{"+49 30 1234567", "0049301234567", "()"},
		URLs:   []string{"https://ana.example/", "http://www.ana.example"},
		Tags:   []string{"Friend", " fríend ", "Álava", "  "},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := &people.Connection{
		ID: got.Connection.ID, Name: "Ana López", Nickname: "Ana", Location: "Bilbao", Bio: "Builds\nthings.", MetOn: "2024-05",
		MetHow: "at a fair", Starred: true, Source: people.SourceAgent, Version: 1, CreatedAt: noon, UpdatedAt: noon,
		Handles: []people.Handle{
			{ID: "new_0", Kind: people.KindEmail, Value: "Ana@Example.com", NormalValue: "ana@example.com", Ordinal: 0},
			{ID: "new_1", Kind: people.KindEmail, Value: "work@example.com", NormalValue: "work@example.com", Ordinal: 1},
			{ID: "new_2", Kind: people.KindPhone, Value: "+49 30 1234567", NormalValue: "+49301234567", Ordinal: 2},
			{ID: "new_3", Kind: people.KindURL, Value: "https://ana.example/", NormalValue: "ana.example", Ordinal: 3},
		},
		Positions: []people.Position{{Organization: "Helios Energy", Title: "Founder", Current: true}},
		Tags:      []string{"Álava", "Friend"},
	}
	if diff := cmp.Diff(plain(want), plain(got.Connection)); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
	w.wantChange(t, want.ID, nil)
}

func TestCreateWithoutAJobMakesNoPosition(t *testing.T) {
	t.Parallel()
	got, err := newWriter(t).create(people.Draft{Name: "Ana", Organization: " ", Title: "\n"})
	if err != nil || len(got.Connection.Positions) != 0 {
		t.Errorf("got %+v, %v", got.Connection, err)
	}
}

func TestNameMustBeVisible(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", " \n", "\u200b\u200e", "\u3164", "\x00"} {
		w := newWriter(t)
		_, err := w.create(people.Draft{Name: name, Phones: []string{"+49301234567"}})
		wantInvalid(t, err, "name")
		w.wantNothingWritten(t)
	}
}

func TestMetOn(t *testing.T) {
	t.Parallel()
	cases := []struct {
		value string
		ok    bool
	}{
		{"", true}, {"2024", true}, {"2024-05", true}, {"2024-05-31", true}, {"2024-02-29", true}, {"0001-01-01", true},
		{"2023-02-29", false}, {"1900-02-29", false}, {"2000-02-29", true}, {"2024-04-31", false}, {"2024-13", false},
		{"2024-00", false}, {"2024-01-00", false}, {"24", false}, {"2024-5", false}, {"2024-05-1", false},
		{"2024/05/01", false}, {"20240501", false}, {"05-2024", false}, {"2024-05-01T00:00:00Z", false}, {"soon", false},
		{"-024", false}, {"２０２４", false},
	}
	for _, c := range cases {
		t.Run(c.value, func(t *testing.T) {
			t.Parallel()
			w := newWriter(t, &people.Connection{ID: "con_1", Name: "Bob", Version: 1})
			_, created := w.create(people.Draft{Name: "Ana", MetOn: c.value})
			_, updated := w.update(people.Patch{ID: "con_1", MetOn: &c.value})
			for _, err := range []error{created, updated} {
				if !c.ok {
					wantInvalid(t, err, "met_on")
				} else if err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestDuplicate(t *testing.T) {
	t.Parallel()
	onFile := func() *people.Connection {
		return &people.Connection{
			ID: "con_1", Name: "Ana López", Version: 3,
			Handles:   []people.Handle{{Kind: people.KindEmail, Value: "ana@example.com", NormalValue: "ana@example.com"}},
			Positions: []people.Position{{Organization: "Helios Inc.", Current: true}},
		}
	}
	same := people.Draft{Name: "A. L.", Emails: []string{"ANA@example.com"}}
	for _, policy := range []string{"", people.OnDuplicateReturn} {
		t.Run("is returned/"+policy, func(t *testing.T) {
			t.Parallel()
			w, draft := newWriter(t, onFile()), same
			draft.OnDuplicate = policy
			got, err := w.create(draft)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(plain(onFile()), plain(got.Connection), cmpopts.IgnoreFields(people.Connection{}, "CreatedAt", "UpdatedAt")); diff != "" {
				t.Errorf("written (-want +got):\n%s", diff)
			}
			w.wantNothingWritten(t)
		})
	}
	t.Run("is an error", func(t *testing.T) {
		t.Parallel()
		w, draft := newWriter(t, onFile()), same
		draft.OnDuplicate = people.OnDuplicateError
		if _, err := w.create(draft); !fault.Is(err, fault.AlreadyExists) {
			t.Errorf("got %v", err)
		}
		w.wantNothingWritten(t)
	})
	t.Run("is created anyway", func(t *testing.T) {
		t.Parallel()
		w, draft := newWriter(t, onFile()), same
		draft.OnDuplicate = people.OnDuplicateCreate
		got, err := w.create(draft)
		if err != nil || got.DuplicateOf != "con_1" || got.Connection.ID == "con_1" || got.ChangeID != w.changes()[0].ID {
			t.Errorf("got %+v, %v", got, err)
		}
		w.wantChange(t, got.Connection.ID, nil)
	})
	t.Run("by name and organisation", func(t *testing.T) {
		t.Parallel()
		w := newWriter(t, onFile())
		got, err := w.create(people.Draft{Name: "ana lopez", Organization: "HELIOS"})
		if err != nil || got.DuplicateOf != "con_1" {
			t.Errorf("got %+v, %v", got, err)
		}
	})
	t.Run("an invalid draft fails before the search for duplicates", func(t *testing.T) {
		t.Parallel()
		draft := same
		draft.MetOn = "soon"
		_, err := newWriter(t, onFile()).create(draft)
		wantInvalid(t, err, "met_on")
	})
}

func TestCreateKeepsToTheLimits(t *testing.T) {
	t.Parallel()
	for field, draft := range map[string]func(values []string) people.Draft{
		"emails": func(v []string) people.Draft { return people.Draft{Emails: v} },
		"phones": func(v []string) people.Draft { return people.Draft{Phones: v} },
		"urls":   func(v []string) people.Draft { return people.Draft{URLs: v} },
		"tags":   func(v []string) people.Draft { return people.Draft{Tags: v} },
	} {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			limit := limits[field]
			for n, ok := range map[int]bool{limit: true, limit + 1: false} {
				w, d := newWriter(t), draft(numbered(n))
				d.Name = "Ana"
				if _, err := w.create(d); ok && err != nil {
					t.Errorf("%d are refused: %v", n, err)
				} else if !ok {
					wantInvalid(t, err, field)
					w.wantNothingWritten(t)
				}
			}
		})
	}
}

// limits are how many entries of each list one connection may have.
var limits = map[string]int{"emails": 20, "phones": 20, "urls": 20, "tags": 50}

// numbered returns n different values that are valid in any list.
func numbered(n int) []string {
	values := make([]string, n)
	for i := range values {
		values[i] = fmt.Sprintf("%04d", i+1)
	}
	return values
}

// A database error is returned to the caller.
func TestErrorsOfTheDatabaseReachTheCaller(t *testing.T) {
	t.Parallel()
	for _, table := range []string{"connections", "handles", "positions", "organizations", "changes"} {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			w := newWriter(t, &people.Connection{ID: "con_1", Name: "Bob", Version: 1})
			w.breaks(table)
			_, created := w.create(people.Draft{Name: "Ana", Emails: []string{"a@x.example"}, Organization: "X"})
			_, updated := w.update(people.Patch{ID: "con_1", Title: new("Chef")})
			if created == nil || updated == nil {
				t.Errorf("Create: %v; Update: %v", created, updated)
			}
		})
	}
}

// People who share an address but have different names are not duplicates: they are listed
// beside the new person.
func TestAnAddressIsADuplicateOnlyWithTheName(t *testing.T) {
	t.Parallel()
	held := func() *writer {
		handles := []people.Handle{
			{Kind: people.KindEmail, Value: "us@home.example", NormalValue: "us@home.example"},
			{Kind: people.KindPhone, Value: "+12125550100", NormalValue: "+12125550100"},
		}
		return newWriter(t,
			&people.Connection{ID: "con_1", Name: "Ada Stone", Version: 1, Handles: handles},
			&people.Connection{ID: "con_2", Name: "Robert Reed", Nickname: "Bobo", Version: 1, Handles: handles[:1]},
		)
	}
	strangers := []people.Sharing{{ID: "con_1", Name: "Ada Stone", Kind: people.KindEmail}, {ID: "con_2", Name: "Robert Reed", Nickname: "Bobo", Kind: people.KindEmail}}
	for name, c := range map[string]struct {
		draft   people.Draft
		of      string
		sharing []people.Sharing
	}{
		"the same name":       {people.Draft{Name: "ada STONE", Emails: []string{"us@home.example"}}, "con_1", nil},
		"initials":            {people.Draft{Name: "A. Stone", Phones: []string{"+1 212 555 0100"}}, "con_1", nil},
		"the second":          {people.Draft{Name: "Bob Reed", Emails: []string{"us@home.example"}}, "con_2", nil},
		"a stored nickname":   {people.Draft{Name: "Bobo", Emails: []string{"us@home.example"}}, "con_2", nil},
		"no name":             {people.Draft{Emails: []string{"us@home.example"}}, "con_1", nil},
		"another name":        {people.Draft{Name: "Zoe Fox", Emails: []string{"us@home.example"}}, "", strangers},
		"another name, twice": {people.Draft{Name: "Zoe Fox", Emails: []string{"us@home.example"}, Phones: []string{"+12125550100"}}, "", strangers},
		"a family name":       {people.Draft{Name: "Ben Stone", Phones: []string{"+12125550100"}}, "", []people.Sharing{{ID: "con_1", Name: "Ada Stone", Kind: people.KindPhone}}},
	} {
		for _, choice := range []string{people.OnDuplicateReturn, people.OnDuplicateError} {
			w := held()
			c.draft.OnDuplicate = choice
			got, err := w.create(c.draft)
			if c.of != "" && choice == people.OnDuplicateError {
				if !fault.Is(err, fault.AlreadyExists) {
					t.Errorf("%s, %s: %v", name, choice, err)
				}
				continue
			}
			if err != nil || got.DuplicateOf != c.of || len(w.changes()) != map[bool]int{true: 1}[c.of == ""] {
				t.Errorf("%s, %s: duplicate of %q, %v", name, choice, got.DuplicateOf, err)
			}
			if diff := cmp.Diff(c.sharing, got.Sharing); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", name, choice, diff)
			}
		}
	}
}

// People who share only the name with a new person are named beside them, five at most: not those
// who are archived or named for their address, and none if the name is guessed.
func TestPeopleOfTheSameName(t *testing.T) {
	t.Parallel()
	w := newWriter(t, &people.Connection{ID: "con_1", Name: "Ada Stone", Version: 1, ArchivedAt: noon})
	add := func(d people.Draft) people.Written {
		t.Helper()
		made, err := w.create(d)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	born := func(year string) []people.DateDraft {
		return []people.DateDraft{{Kind: "birthday", Date: year + "-05-01"}}
	}
	cook := add(people.Draft{Name: "Ada Stone", Organization: "Inn", Title: "Cook"}).Connection.ID
	add(people.Draft{Name: "Ada Stoner"})
	want := []people.Candidate{{ID: cook, Name: "Ada Stone", Headline: "Cook at Inn"}}
	first := add(people.Draft{Name: "ada  STÓNE", Emails: []string{"ada@home.example"}, Dates: born("1980")})
	if diff := cmp.Diff(want, first.SameName); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	second := add(people.Draft{Name: "Ada Stone", Emails: []string{"ada@home.example"}, Dates: born("1950")})
	if diff := cmp.Diff(want, second.SameName); diff != "" || len(second.Sharing) != 1 {
		t.Errorf("with an address in common: %+v (-want +got):\n%s", second.Sharing, diff)
	}
	if got := add(people.Draft{Name: "Ada Stone", Organization: "Inn"}); got.DuplicateOf != cook || got.SameName != nil {
		t.Errorf("a colleague: %+v", got)
	}
	if got := add(people.Draft{Emails: []string{"ada.stone@x.example"}}); got.Connection.Name != "Ada Stone" || got.SameName != nil {
		t.Errorf("a guessed name: %+v", got)
	}
	for _, n := range []int{4, 5, 5} {
		if got := add(people.Draft{Name: "Ada Stone"}); len(got.SameName) != n {
			t.Errorf("%d of %d: %+v", len(got.SameName), n, got.SameName)
		}
	}
}

// "Holm, Vera" is understood, and titles and companies are left alone.
func TestInvertedName(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]people.Connection{
		"Holm, Vera":      {Name: "Vera Holm", NameParts: people.NameParts{Given: "Vera", Family: "Holm"}},
		"山田, 太郎":          {Name: "山田 太郎", NameParts: people.NameParts{Given: "太郎", Family: "山田"}},
		"Vera Holm, PhD":  {Name: "Vera Holm, PhD"},
		"Helios, Inc.":    {Name: "Helios, Inc."},
		"Vera Maria Holm": {Name: "Vera Maria Holm"},
	} {
		got, err := newWriter(t).create(people.Draft{Name: said})
		if err != nil || got.Connection.Name != want.Name || got.Connection.NameParts != want.NameParts {
			t.Errorf("%s: %q %+v, %v", said, got.Connection.Name, got.Connection.NameParts, err)
		}
	}
}
