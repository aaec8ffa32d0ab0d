package resolve

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kith-crm/kith/backend/internal/connection"
)

func TestParse(t *testing.T) {
	t.Parallel()
	phone := connection.NormalValue(connection.KindPhone, "+12125550100")
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

// directory counts the statements it stands for.
type directory struct {
	found map[string][]string
	calls int
}

func (d *directory) ListByHandle(_ context.Context, _ string, values []string) (map[string][]string, error) {
	return d.ListByName(context.Background(), values)
}

func (d *directory) ListByName(_ context.Context, values []string) (map[string][]string, error) {
	d.calls++
	out := map[string][]string{}
	for v, ids := range d.found {
		if slices.Contains(values, v) {
			out[v] = ids
		}
	}
	return out, nil
}

func TestAllAsksOnceForEachKindAndSearchesOnlyWhatIsLeft(t *testing.T) {
	t.Parallel()
	d := &directory{found: map[string][]string{
		"ana@x.example": {"1"}, "ana": {"1", "2"}, "ben": {"3"}, "crowd": {"1", "2", "3", "4", "5", "6"},
	}}
	var searched []string
	search := func(_ context.Context, words, kind string) ([]string, error) {
		searched = append(searched, kind+" "+words)
		if words == "Bne" {
			return []string{"3"}, nil
		}
		return nil, nil
	}
	got, err := All(t.Context(), d, search, []string{"Ana <ana@x.example>", "Ana", "Ben", "Bne", "zoe@x.example", "crowd", "Dora <dora@x.example>"})
	if err != nil {
		t.Fatal(err)
	}
	want := []Answer{
		{Matched, "email", []string{"1"}}, {Ambiguous, "name", []string{"1", "2"}}, {Matched, "name", []string{"3"}}, {Matched, "name", []string{"3"}},
		{Outcome: None}, {Ambiguous, "name", []string{"1", "2", "3", "4", "5"}}, {Outcome: None},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"name Bne", "name Dora"}, searched); diff != "" || d.calls != 3 {
		t.Errorf("%d look-ups; searched (-want +got):\n%s", d.calls, diff)
	}
}
