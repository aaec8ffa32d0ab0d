package publicapi

import "testing"

func TestYAMLText(t *testing.T) {
	t.Parallel()
	for username, want := range map[string]string{
		"amara": "amara", "null": `"null"`, "yes": `"yes"`, "1e3": `"1e3"`, "2026-11-20": `"2026-11-20"`, "nullify": "nullify",
	} {
		if got := yamlText(username); got != want {
			t.Errorf("yamlText(%q) = %s, want %s", username, got, want)
		}
	}
}
