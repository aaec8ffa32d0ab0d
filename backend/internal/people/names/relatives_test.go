package names

import "testing"

// A suffix or a given name that only one of two compatible names has makes them the names of
// relatives; an initial, a title, a nickname, a family name or the order of the words does not.
func TestRelatives(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"Karl Brenner", "Karl Brenner jun.", true},
		{"Karl Brenner", "Brenner jun., Karl", true},
		{"Karl Brenner", "Karl Brenner, sen.", true},
		{"John Carter", "John Carter II", true},
		{"John Carter Jr.", "John Carter III", true},
		{"John Carter", "Carter, John, Jr.", true},
		{"Alexandre Dumas père", "Alexandre Dumas fils", true},
		{"Alexandre Dumas", "Alexandre Dumas fils", true},
		{"João Silva", "João Silva Júnior", true},
		{"João Silva", "João Silva Neto", true},
		{"Jan Novák", "Jan Novák ml.", true},
		{"Иван Петров", "Иван Петров мл.", true},
		{"María Ruiz", "José María Ruiz", true},
		{"María Ruiz", "Ruiz, José María", true},
		{"María", "José María Ruiz", true},
		{"Anna Smith", "Anna Maria Smith", true},
		{"Anna Smith", "J. Anna Smith", true},

		{"Karl Brenner jun.", "Karl Brenner Jr.", false},
		{"Amartya Sen", "Amartya", false},
		{"Pere Ruiz", "Ruiz, Pere", false},
		{"Dan Senior", "Dan", false},
		{"Ada Stone", "Dr. Ada M. Stone", false},
		{"Ada Stone", "Stone, Ada", false},
		{"Ada Stone", "ada  STONE", false},
		{"Ada Stone", "A. Stone", false},
		{"Ada", "Ada Stone", false},
		{"Stone", "Ada Stone", false},
		{"Ana López", "Ana López García", false},
		{"Chloé Marchand", "Chloe Marchand-Vidal", false},
		{"Jan Berg", "Jan van der Berg", false},
		{"Jan van der Berg", "Jan Vanderberg", false},
		{"William \"Bill\" Reed", "Will Reed", false},
		{"Margaret Oyelarin", "Maggie Oyelarin", false},
		{"Jdoe", "John Doe", false},
		{"山田太郎", "山田", false},
		{"Anne-Marie Roy", "Annemarie Roy", false},
		{"Ada Stone", "", false},
		{"", "", false},
	} {
		for _, names := range [][2]Names{{{Full: c.a}, {Full: c.b}}, {{Full: c.b}, {Full: c.a}}} {
			why, got := Relatives(names[0], names[1])
			if got != c.want || got != (why != "") || !Compatible(names[0], names[1]) {
				t.Errorf("%q and %q: %t %q, compatible %t", names[0].Full, names[1].Full, got, why, Compatible(names[0], names[1]))
			}
		}
	}
	bob := Names{Full: "Robert Zimmer", Nickname: "Bob"}
	if why, got := Relatives(bob, Names{Full: "Robert Bob Zimmer"}); got {
		t.Errorf("a nickname: %s", why)
	}
}
