package vector_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/search/vector"
)

func TestText(t *testing.T) {
	t.Parallel()
	full := vector.Person{
		Name: "Anna  Bauer", Nickname: "Anni", Location: "Zürich", Bio: "Climbs.\nCooks.", Tags: []string{"chess", "investor"},
		Positions: []vector.Position{
			{Title: "CTO", Organization: "Helios", Current: true}, {Organization: "Borealis"}, {Title: "Clerk"}, {},
		},
		Notes: []string{"Met at the fair.", ""},
	}
	want := "Anna Bauer (Anni)\nCTO, Helios\nBefore: Borealis\nBefore: Clerk\nZürich\nchess, investor\nClimbs. Cooks.\nMet at the fair."
	if got := full.Text(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := (&vector.Person{Name: "Bo"}).Text(); got != "Bo" {
		t.Errorf("got %q", got)
	}
}

func TestTextIsBounded(t *testing.T) {
	t.Parallel()
	p := vector.Person{Name: strings.Repeat("Ä", 200), Bio: strings.Repeat("ö", 2000), Notes: []string{strings.Repeat("ü", 400)}}
	if n := utf8.RuneCountInString(p.Text()); n > 2001 {
		t.Errorf("%d characters", n)
	}
}

func TestHashTellsTextsApart(t *testing.T) {
	t.Parallel()
	if a, b := vector.Hash("a"), vector.Hash("b"); a == b || a != "ca978112ca1bbdcafac231b39a23dc4d" {
		t.Errorf("%s and %s", a, b)
	}
}
