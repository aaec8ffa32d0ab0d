package people

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/people/names"
)

func TestParse(t *testing.T) {
	t.Parallel()
	phone := NormalValue(KindPhone, "+12125550100")
	for s, want := range map[string]entry{
		"Ana":                     {name: "Ana"},
		"  Ana   López ":          {name: "Ana López"},
		"ANA@x.example":           {email: "ana@x.example"},
		"mailto:ana@x.example":    {email: "ana@x.example"},
		"<ana@x.example>":         {email: "ana@x.example"},
		"Ana <ana@x.example>":     {email: "ana@x.example", name: "Ana"},
		`"Ana L." <a@x.example>`:  {email: "a@x.example", name: "Ana L."},
		"+1 (212) 555-0100":       {phone: phone},
		"tel:+12125550100":        {phone: phone},
		"Ana <+12125550100>":      {phone: phone, name: "Ana"},
		"Ana <3":                  {name: "Ana <3"},
		"Ana <friend>":            {name: "Ana <friend>"},
		"12":                      {name: "12"},
		"ana at x.example":        {name: "ana at x.example"},
		"ask ana@x.example again": {name: "ask ana@x.example again"},
		"<<<>":                    {name: "<<<>"},
		"":                        {},
	} {
		if got := parse(s); got != want {
			t.Errorf("%q: %+v, want %+v", s, got, want)
		}
	}
}

// directory is a fake search that counts the statements.
type directory struct {
	found map[string][]Resolved
	calls int
}

func (d *directory) look(_ context.Context, _ string, values []string) (map[string][]Resolved, error) {
	d.calls++
	out := map[string][]Resolved{}
	for v, found := range d.found {
		if slices.Contains(values, v) {
			out[v] = found
		}
	}
	return out, nil
}

// called returns people with the ids, all with the same name.
func called(name string, ids ...string) (out []Resolved) {
	for _, id := range ids {
		out = append(out, Resolved{ID: id, Names: names.Names{Full: name}})
	}
	return out
}

// matches returns matches for the ids, all found by the same kind.
func matches(by string, ids ...string) (out []Match) {
	for _, id := range ids {
		out = append(out, Match{ID: id, By: by})
	}
	return out
}

func TestAllAsksOnceForEachKindAndSearchesOnlyWhatIsLeft(t *testing.T) {
	t.Parallel()
	d := &directory{found: map[string][]Resolved{
		"ana@x.example": called("Ana", "1"), "ana": called("Ana", "1", "2"), "ben": called("Ben", "3"),
		"crowd": called("Crowd", "1", "2", "3", "4", "5", "6"),
	}}
	var searched []string
	search := func(_ context.Context, words, kind string) ([]Resolved, error) {
		searched = append(searched, kind+" "+words)
		if words == "Bne" {
			return called("Ben", "3"), nil
		}
		return nil, nil
	}
	got, err := all(t.Context(), d.look, search, []string{"Ana <ana@x.example>", "Ana", "Ben", "Bne", "zoe@x.example", "crowd", "Dora <dora@x.example>"})
	if err != nil {
		t.Fatal(err)
	}
	want := []Answer{
		{Matched, matches("email", "1")}, {Ambiguous, matches("name", "1", "2")}, {Matched, matches("name", "3")}, {Matched, matches("name", "3")},
		{Outcome: None}, {Ambiguous, matches("name", "1", "2", "3", "4", "5")}, {Outcome: None},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"name Bne", "name Dora"}, searched); diff != "" || d.calls != 3 {
		t.Errorf("%d look-ups; searched (-want +got):\n%s", d.calls, diff)
	}
}

// An address identifies its holder, unless the entry's name cannot be theirs: then the
// answer lists the holder and the people with that name.
func TestAnAddressWithAnotherNameIsAmbiguous(t *testing.T) {
	t.Parallel()
	both := append(called("Ada Stone", "1"), called("Bo Reed", "2")...)
	d := &directory{found: map[string][]Resolved{
		"ada@x.example": called("Ada Stone", "1"), "us@x.example": both, "ben reed": called("Ben Reed", "3"),
		NormalValue(KindPhone, "+12125550100"): called("Ada Stone", "1"),
	}}
	search := func(_ context.Context, words, kind string) ([]Resolved, error) {
		if kind == KindPhone {
			return called("Ada Stone", "1"), nil
		}
		return nil, nil
	}
	for entry, want := range map[string]Answer{
		"ada@x.example":             {Matched, matches("email", "1")},
		"Ada Stone <ada@x.example>": {Matched, matches("email", "1")},
		"A. Stone <ada@x.example>":  {Matched, matches("email", "1")},
		"Ada <ada@x.example>":       {Matched, matches("email", "1")},
		"Zoe Fox <ada@x.example>":   {Ambiguous, matches("email", "1")},
		"Ben Reed <ada@x.example>":  {Ambiguous, []Match{{"1", "email"}, {"3", "name"}}},
		"Zoe Fox <+1 212 555 0100>": {Ambiguous, matches("phone", "1")},
		"Zoe Fox <212 555 0100>":    {Ambiguous, matches("phone", "1")},
		"us@x.example":              {Ambiguous, matches("email", "1", "2")},
		"Bo Reed <us@x.example>":    {Matched, matches("email", "2")},
	} {
		got, err := all(t.Context(), d.look, search, []string{entry})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got[0]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", entry, diff)
		}
	}
}
