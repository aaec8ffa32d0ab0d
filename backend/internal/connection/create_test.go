package connection_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/fault"
)

func TestCreate(t *testing.T) {
	t.Parallel()
	w := newWriter()
	got, err := connection.Create(t.Context(), w, connection.Draft{
		Name: " Ana \n López ", Nickname: "An\x00a", Organization: " Helios  Energy ", Title: "Founder", Location: "Bilbao\n",
		Bio: "\nBuilds\nthings. ", MetOn: "2024-05", MetHow: "at  a fair", Starred: true, Source: connection.SourceAgent,
		Emails: []string{"Ana@Example.com", "ana@example.com ", "work@example.com"},
		Phones: []string{"+49 30 1234567", "0049301234567", "()"},
		URLs:   []string{"https://ana.example/", "http://www.ana.example"},
		Tags:   []string{"Friend", " fríend ", "Álava", "  "},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := &connection.Connection{
		ID: "con_1", Name: "Ana López", Nickname: "Ana", Location: "Bilbao", Bio: "Builds\nthings.", MetOn: "2024-05",
		MetHow: "at a fair", Starred: true, Source: connection.SourceAgent, Version: 1, CreatedAt: noon, UpdatedAt: noon,
		Handles: []connection.Handle{
			{ID: "hnd_1_0", Kind: connection.KindEmail, Value: "Ana@Example.com", NormalValue: "ana@example.com", Ordinal: 0},
			{ID: "hnd_1_1", Kind: connection.KindEmail, Value: "work@example.com", NormalValue: "work@example.com", Ordinal: 1},
			{ID: "hnd_1_2", Kind: connection.KindPhone, Value: "+49 30 1234567", NormalValue: "+49301234567", Ordinal: 2},
			{ID: "hnd_1_3", Kind: connection.KindURL, Value: "https://ana.example/", NormalValue: "ana.example", Ordinal: 3},
		},
		Positions: []connection.Position{{Organization: "Helios Energy", Title: "Founder", Current: true}},
		Tags:      []string{"Álava", "Friend"},
	}
	if diff := cmp.Diff(connection.Written{Connection: want, ChangeID: "chg_1"}, got); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
	w.wantChange(t, "con_1", nil)
}

func TestCreateWithoutAJobMakesNoPosition(t *testing.T) {
	t.Parallel()
	got, err := connection.Create(t.Context(), newWriter(), connection.Draft{Name: "Ana", Organization: " ", Title: "\n"})
	if err != nil || len(got.Connection.Positions) != 0 {
		t.Errorf("got %+v, %v", got.Connection, err)
	}
}

func TestNameMustBeVisible(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", " \n", "\u200b\u200e", "\u3164", "\x00"} {
		w := newWriter()
		_, err := connection.Create(t.Context(), w, connection.Draft{Name: name, Phones: []string{"+49301234567"}})
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
			w := newWriter(&connection.Connection{ID: "con_1", Name: "Bob", Version: 1})
			_, created := connection.Create(t.Context(), w, connection.Draft{Name: "Ana", MetOn: c.value})
			_, updated := connection.Update(t.Context(), w, connection.Patch{ID: "con_1", MetOn: &c.value})
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
	onFile := func() *connection.Connection {
		return &connection.Connection{
			ID: "con_1", Name: "Ana López", Version: 3,
			Handles:   []connection.Handle{{Kind: connection.KindEmail, Value: "ana@example.com", NormalValue: "ana@example.com"}},
			Positions: []connection.Position{{Organization: "Helios Inc.", Current: true}},
		}
	}
	same := connection.Draft{Name: "A. L.", Emails: []string{"ANA@example.com"}}
	for _, policy := range []string{"", connection.OnDuplicateReturn} {
		t.Run("is returned/"+policy, func(t *testing.T) {
			t.Parallel()
			w, draft := newWriter(onFile()), same
			draft.OnDuplicate = policy
			got, err := connection.Create(t.Context(), w, draft)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(connection.Written{Connection: onFile(), DuplicateOf: "con_1"}, got); diff != "" {
				t.Errorf("written (-want +got):\n%s", diff)
			}
			w.wantNothingWritten(t)
		})
	}
	t.Run("is an error", func(t *testing.T) {
		t.Parallel()
		w, draft := newWriter(onFile()), same
		draft.OnDuplicate = connection.OnDuplicateError
		if _, err := connection.Create(t.Context(), w, draft); !fault.Is(err, fault.AlreadyExists) {
			t.Errorf("got %v", err)
		}
		w.wantNothingWritten(t)
	})
	t.Run("is made all the same", func(t *testing.T) {
		t.Parallel()
		w, draft := newWriter(onFile()), same
		draft.OnDuplicate = connection.OnDuplicateCreate
		got, err := connection.Create(t.Context(), w, draft)
		if err != nil || got.DuplicateOf != "con_1" || got.Connection.ID != "con_2" || got.ChangeID != "chg_1" {
			t.Errorf("got %+v, %v", got, err)
		}
		w.wantChange(t, "con_2", nil)
	})
	t.Run("by name and organisation", func(t *testing.T) {
		t.Parallel()
		w := newWriter(onFile())
		got, err := connection.Create(t.Context(), w, connection.Draft{Name: "ana lopez", Organization: "HELIOS"})
		if err != nil || got.DuplicateOf != "con_1" {
			t.Errorf("got %+v, %v", got, err)
		}
	})
	t.Run("a broken draft is refused before it is looked for", func(t *testing.T) {
		t.Parallel()
		draft := same
		draft.MetOn = "soon"
		_, err := connection.Create(t.Context(), newWriter(onFile()), draft)
		wantInvalid(t, err, "met_on")
	})
}

func TestCreateKeepsToTheLimits(t *testing.T) {
	t.Parallel()
	for field, draft := range map[string]func(values []string) connection.Draft{
		"emails": func(v []string) connection.Draft { return connection.Draft{Emails: v} },
		"phones": func(v []string) connection.Draft { return connection.Draft{Phones: v} },
		"urls":   func(v []string) connection.Draft { return connection.Draft{URLs: v} },
		"tags":   func(v []string) connection.Draft { return connection.Draft{Tags: v} },
	} {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			limit := limits[field]
			for n, ok := range map[int]bool{limit: true, limit + 1: false} {
				w, d := newWriter(), draft(numbered(n))
				d.Name = "Ana"
				if _, err := connection.Create(t.Context(), w, d); ok && err != nil {
					t.Errorf("%d are refused: %v", n, err)
				} else if !ok {
					wantInvalid(t, err, field)
					w.wantNothingWritten(t)
				}
			}
		})
	}
}

// limits are how many one connection holds of each list.
var limits = map[string]int{"emails": 20, "phones": 20, "urls": 20, "tags": 50}

// numbered returns n different values, good for any list.
func numbered(n int) []string {
	values := make([]string, n)
	for i := range values {
		values[i] = fmt.Sprintf("%04d", i+1)
	}
	return values
}

func TestStoreErrorsReachTheCaller(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	title := "Chef"
	for _, method := range []string{"ListSharing", "FindNamesake", "InsertConnection", "Record", "GetConnection", "ReplaceConnection"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			w := newWriter(&connection.Connection{ID: "con_1", Name: "Bob", Version: 1})
			w.fail = map[string]error{method: broken}
			_, created := connection.Create(t.Context(), w, connection.Draft{Name: "Ana"})
			_, updated := connection.Update(t.Context(), w, connection.Patch{ID: "con_1", Title: &title})
			if !errors.Is(created, broken) && !errors.Is(updated, broken) {
				t.Errorf("Create: %v; Update: %v", created, updated)
			}
		})
	}
}

// An address alone makes nobody a duplicate whose name tells otherwise: such people
// are named beside the new one.
func TestAnAddressIsADuplicateOnlyWithTheName(t *testing.T) {
	t.Parallel()
	held := func() *writer {
		handles := []connection.Handle{
			{Kind: connection.KindEmail, Value: "us@home.example", NormalValue: "us@home.example"},
			{Kind: connection.KindPhone, Value: "+12125550100", NormalValue: "+12125550100"},
		}
		return newWriter(
			&connection.Connection{ID: "con_1", Name: "Ada Stone", Version: 1, Handles: handles},
			&connection.Connection{ID: "con_2", Name: "Robert Reed", Nickname: "Bobo", Version: 1, Handles: handles[:1]},
		)
	}
	strangers := []connection.Sharing{{ID: "con_1", Name: "Ada Stone", Kind: connection.KindEmail}, {ID: "con_2", Name: "Robert Reed", Nickname: "Bobo", Kind: connection.KindEmail}}
	for name, c := range map[string]struct {
		draft   connection.Draft
		of      string
		sharing []connection.Sharing
	}{
		"the same name":       {connection.Draft{Name: "ada STONE", Emails: []string{"us@home.example"}}, "con_1", nil},
		"initials":            {connection.Draft{Name: "A. Stone", Phones: []string{"+1 212 555 0100"}}, "con_1", nil},
		"the second":          {connection.Draft{Name: "Bob Reed", Emails: []string{"us@home.example"}}, "con_2", nil},
		"a nickname on file":  {connection.Draft{Name: "Bobo", Emails: []string{"us@home.example"}}, "con_2", nil},
		"no name":             {connection.Draft{Emails: []string{"us@home.example"}}, "con_1", nil},
		"another name":        {connection.Draft{Name: "Zoe Fox", Emails: []string{"us@home.example"}}, "", strangers},
		"another name, twice": {connection.Draft{Name: "Zoe Fox", Emails: []string{"us@home.example"}, Phones: []string{"+12125550100"}}, "", strangers},
		"a family name":       {connection.Draft{Name: "Ben Stone", Phones: []string{"+12125550100"}}, "", []connection.Sharing{{ID: "con_1", Name: "Ada Stone", Kind: connection.KindPhone}}},
	} {
		for _, choice := range []string{connection.OnDuplicateReturn, connection.OnDuplicateError} {
			w := held()
			c.draft.OnDuplicate = choice
			got, err := connection.Create(t.Context(), w, c.draft)
			if c.of != "" && choice == connection.OnDuplicateError {
				if !fault.Is(err, fault.AlreadyExists) {
					t.Errorf("%s, %s: %v", name, choice, err)
				}
				continue
			}
			if err != nil || got.DuplicateOf != c.of || w.written != map[bool]int{true: 1}[c.of == ""] {
				t.Errorf("%s, %s: duplicate of %q, %d written, %v", name, choice, got.DuplicateOf, w.written, err)
			}
			if diff := cmp.Diff(c.sharing, got.Sharing); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", name, choice, diff)
			}
		}
	}
}
