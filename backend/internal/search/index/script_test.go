package index_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/search/index"
)

// A name is found by how it sounds in another script, after the names spelt like the query.
func TestNamesInOtherScripts(t *testing.T) {
	t.Parallel()
	ix := index.New()
	for i, name := range []string{
		"Александр Иванов", "Aleksandr Petrov", "Ελένη Παπαδοπούλου", "タナカ ヒロシ", "محمد أحمد", "عمر خالد", "김민준", "Alexandra Ivanova", "Yulia Orlova", "Omar Sharif", "Minjun Park",
		"Maria Weiss", "Олександр Щербак", "王小明",
	} {
		ix.Put(index.Document{ID: fmt.Sprint(i), Name: name, Bio: "Александра met them"})
	}
	for query, want := range map[string][]string{
		"Aleksandr":          {"Aleksandr Petrov", "Александр Иванов"},
		"aleksandr ivanov":   {"Александр Иванов"},
		"ivanov aleksandr":   {"Александр Иванов"},
		"alexander ivanow":   {"Александр Иванов"},
		"Александр Петров":   {"Aleksandr Petrov"},
		"Юлия":               {"Yulia Orlova"},
		"Eleni Papadopoulou": {"Ελένη Παπαδοπούλου"},
		"hiroshi tanaka":     {"タナカ ヒロシ"},
		"mohamed ahmed":      {"محمد أحمد"},
		"Omar Khalid":        {"عمر خالد"},
		"عمر شريف":           {"Omar Sharif"},
		"minjun kim":         {"김민준"},
		"민준":                 {"김민준", "Minjun Park"},
		"maria":              {"Maria Weiss"},
		"wang":               nil,
	} {
		var got []string
		for _, hit := range ix.Search(index.Query{Text: query}).Hits {
			got = append(got, hit.Doc.Name)
			if hit.Matched[0] != "name" {
				t.Errorf("%s: %s by %v", query, hit.Doc.Name, hit.Matched)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}
}
