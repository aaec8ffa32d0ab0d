package names_test

import (
	"testing"

	"github.com/kith-crm/kith/backend/internal/people/names"
)

// A comma inverts a name, unless a title, a generation, a company or anything but a name follows it.
func TestInverted(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][2]string{
		"Holm, Vera": {"Holm", "Vera"}, "García  Márquez, Gabriel": {"García Márquez", "Gabriel"}, "van der Berg, Jan-Peter": {"van der Berg", "Jan-Peter"},
		"O'Neil, Pat": {"O'Neil", "Pat"}, "Holm, Dr. Vera": {"Holm", "Dr. Vera"},
		"Vera Holm": {}, "Vera Holm, PhD": {}, "Vera Holm, Jr.": {}, "Holm, Vera, PhD": {}, "Acme, Inc.": {}, "Holm GmbH, Berlin": {}, "Holm,Vera": {}, "Holm,": {}, ", Vera": {},
		"Smith & Sons, Bakers": {}, "Room 3, West": {}, "Somebody who has no name, really": {}, "Holm, Dr.": {},
	} {
		if family, given, ok := names.Inverted(name); family != want[0] || given != want[1] || ok != (want[0] != "") {
			t.Errorf("%s: %q, %q, %v", name, family, given, ok)
		}
	}
}

func TestFamily(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Vera Holm": "holm", "Vera Holm PhD": "holm", "Karl Brenner jun.": "brenner", "Vera Holm, MD": "holm", "Holm, Vera": "holm", "Ana López": "lopez", "Vera": "vera",
		"王小明": "王", "山田 太郎": "山田", "Zoë O'Brien": "o'brien", "": "", "PhD": "phd",
	} {
		if got := names.Family(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
