package names

import (
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/text"
	"pgregory.net/rapid"
)

func TestCompatible(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"Ada Stone", "ada  STONE", true},
		{"Ana López", "Lopez, Ana", true},
		{"Maya O'Connor", "Maya OConnor", true},
		{"Maya O’ Connor", "M. OConnor", true},
		{"Anne-Marie Berg", "Annemarie Berg", true},
		{"Jan van der Berg", "Jan Vanderberg", true},
		{"Ada Stone", "", true},
		{"", "", true},
		{"Ada Stone", "–", true},
		{"Ada Stone", "A. Stone", true},
		{"Ada Stone", "A. S.", true},
		{"Ada Stone", "Ada", true},
		{"Ada Stone", "Stone", true},
		{"Ada Stone", "Dr. Ada M. Stone", true},
		{"Margaret Oyelarin", "Maggie Oyelarin", true},
		{"Maggie", "Margaret Oyelarin", true},
		{"William \"Bill\" Reed", "Will Reed", true},
		{"Chloé Marchand", "Chloe Marchand-Vidal", true},
		{"Jdoe", "John Doe", true},
		{"山田太郎", "山田", true},
		{"김민수", "민수", true},

		{"Ada Stone", "Ben Reed", false},
		{"Ada Stone", "Ben Stone", false},
		{"Ada Stone", "Ada Reed", false},
		{"Ada Stone", "B. Stone", false},
		{"Ada Stone", "Ada Ada Reed", false},
		{"Ann Lee", "Anna-Lena Meier", false},
		{"Bo", "Ben Okafor", false},
		{"सुनील", "सनील", false},
		{"กิตติ", "กตต", false},
		{"ハル", "バル", false},
		{"李小龙", "李小明", false},
	} {
		if compatible(c.a, c.b) != c.want || compatible(c.b, c.a) != c.want {
			t.Errorf("%q and %q: want %v, both ways", c.a, c.b, c.want)
		}
	}
}

func compatible(a, b string) bool { return Compatible(Names{Full: a}, Names{Full: b}) }

func TestNicknamesOnRecordCount(t *testing.T) {
	t.Parallel()
	robert := Names{Full: "Robert Zimmer", Nickname: "Bob Dillon"}
	for name, want := range map[string]bool{"Bob Dillon": true, "Dillon Zimmer": true, "Robert": true, "Bob Reed": false, "Ben": false} {
		if Compatible(robert, Names{Full: name}) != want || Compatible(Names{Full: name}, robert) != want {
			t.Errorf("%q: want %v", name, want)
		}
	}
}

func TestKeyIgnoresPunctuationAndSpacing(t *testing.T) {
	t.Parallel()
	for _, same := range [][]string{
		{"Maya O'Connor", "Maya OConnor", "Maya O’ Connor", "O'Connor, Maya", "maya oconnor"},
		{"Anne-Marie", "Anne Marie", "Annemarie", "Anne–Marie"},
		{"van der Berg", "Vanderberg", "Van-der-Berg"},
		{"J. R. Reed", "J.R. Reed"},
	} {
		for _, name := range same[1:] {
			if got, want := Parse(name).Key, Parse(same[0]).Key; got != want {
				t.Errorf("%q has the key %q, %q %q", name, got, same[0], want)
			}
		}
	}
}

// Compatible is symmetric, and every name is compatible with itself and with its initials.
func TestCompatibleProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[A-Za-zÀ-ž'-]{1,8}|[\p{Devanagari}]{1,4}|[\p{Han}]{1,3}`), 0, 15)
		a, b := strings.Join(words.Draw(t, "a"), " "), strings.Join(words.Draw(t, "b"), " ")
		if compatible(a, b) != compatible(b, a) {
			t.Fatalf("%q and %q: the result depends on the order", a, b)
		}
		if !compatible(a, a) || !compatible(a, "") {
			t.Fatalf("%q is not compatible with itself, or with an empty name", a)
		}
	})
}

func TestNicknames(t *testing.T) {
	t.Parallel()
	if groups := strings.Count(strings.TrimSpace(nicknameGroups), "\n") + 1; groups < 80 {
		t.Errorf("%d groups of names", groups)
	}
	for name, forms := range nicknames {
		if name != text.Fold(name) {
			t.Errorf("%q is not folded", name)
		}
		for _, form := range forms {
			if form == name || !SameGiven(form, name) || !SameGiven(name, form) {
				t.Errorf("%q and %q do not name each other", name, form)
			}
		}
	}
}
