package catalog

import "testing"

func TestDamagedCatalogueIsAnError(t *testing.T) {
	t.Parallel()
	for _, data := range []string{"", "{", "[]", `{"rpcs": "none"}`, string(generated[:len(generated)/2])} {
		if c, err := parse([]byte(data)); err == nil || c != nil {
			t.Errorf("%.20q was read as %v", data, c)
		}
	}
}
