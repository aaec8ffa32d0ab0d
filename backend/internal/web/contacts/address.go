package contacts

import (
	"net/url"
	"slices"

	"github.com/kith-crm/kith/backend/internal/web/page"
)

// without returns the address of a path without one value of a parameter, and without the
// page that was reached.
func without(path string, address url.Values, name, value string) string {
	kept := url.Values{}
	for key, values := range address {
		for _, v := range values {
			if v != "" && key != cursorParameter && (key != name || v != value) {
				kept.Add(key, v)
			}
		}
	}
	return page.Address(path, kept)
}

// cursorParameter is the parameter with the page of a list.
const cursorParameter = "cursor"

// withCursor returns the address of another page of a list.
func withCursor(path string, address url.Values, cursor string) string {
	kept := url.Values{}
	for key, values := range address {
		if key != cursorParameter {
			kept[key] = slices.DeleteFunc(slices.Clone(values), func(s string) bool { return s == "" })
		}
	}
	if cursor != "" {
		kept.Set(cursorParameter, cursor)
	}
	return page.Address(path, kept)
}
