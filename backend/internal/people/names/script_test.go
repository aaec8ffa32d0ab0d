package names_test

import (
	"slices"
	"testing"

	"github.com/kith-crm/kith/backend/internal/people/names"
	"github.com/kith-crm/kith/backend/internal/text"
)

func TestOtherScript(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]bool{
		"Александр": true, "Ελένη": true, "さくら": true, "محمد": true, "김": true, "דוד": true,
		"Aleksandr": false, "łukasz": false, "王小明": false, "٣": false, "": false,
	} {
		if got := names.OtherScript(word); got != want {
			t.Errorf("%s: %v", word, got)
		}
	}
}

// Names in other scripts have a form in common with their usual Latin spellings, and none with other names.
func TestSounds(t *testing.T) {
	t.Parallel()
	alike := func(a, b string) bool {
		return slices.ContainsFunc(names.Sounds(text.Fold(a)), func(form string) bool { return slices.Contains(names.Sounds(text.Fold(b)), form) })
	}
	for name, spellings := range map[string][]string{
		"Александр": {"Aleksandr", "Alexandr"}, "Юлия": {"Iulia", "Yulia", "Julia"}, "Дмитрий": {"Dmitri", "Dmitry", "Dmitriy", "Dmitrij"}, "Хрущёв": {"Khrushchev"},
		"Зеленський": {"Zelenskyy", "Zelenskiy", "Zelensky"}, "Щербаков": {"Shcherbakov", "Scherbakow"}, "Ελένη": {"Eleni"}, "Γιώργος": {"Giorgos"},
		"Δημήτρης": {"Dimitris"}, "Παπαδοπούλου": {"Papadopoulou"}, "Σταύρος": {"Stavros"}, "Λευτέρης": {"Lefteris"}, "الحدادي": {"Al-Haddadi"}, "さくら": {"Sakura"}, "ヒロシ": {"Hiroshi"}, "محمد": {"Muhammad", "Mohamed"}, "أحمد": {"Ahmed", "Ahmad"},
		"فاطمة": {"Fatima", "Fatimah"}, "حسين": {"Hussein", "Husayn"}, "عبدالله": {"Abdullah"}, "يوسف": {"Yusuf", "Youssef"}, "عمر": {"Omar", "Umar"},
		"김민준": {"Kim", "Minjun"}, "박지성": {"Park", "Jiseong"}, "דוד": {"David"},
	} {
		for _, spelling := range spellings {
			if !alike(name, spelling) {
				t.Errorf("%s %q and %s %q", name, names.Sounds(text.Fold(name)), spelling, names.Sounds(text.Fold(spelling)))
			}
		}
		for other, theirs := range map[string]string{"Ольга": "Olga", "Νίκος": "Nikos", "ليلى": "Layla", "최": "Choi"} {
			if alike(name, theirs) || slices.ContainsFunc(spellings, func(s string) bool { return alike(s, other) }) {
				t.Errorf("%s is taken for %s", name, other)
			}
		}
	}
}
