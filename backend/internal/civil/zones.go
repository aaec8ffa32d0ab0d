package civil

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

//go:embed zones.txt
var zoneLines string

// ZoneNames returns the names of all time zones of IANA, former names too, in the order of their
// bytes. They come from the time zone database in the binary, so all of them can be loaded on every
// machine. Other names that a machine may know, such as "Local", are not in the list. Callers must
// not change the slice.
var ZoneNames = sync.OnceValue(func() []string { return strings.Fields(zoneLines) })

// FindZone returns the name in ZoneNames that equals text, ignoring case. It reports false if there
// is none.
func FindZone(text string) (name string, ok bool) {
	names := ZoneNames()
	i := slices.IndexFunc(names, func(name string) bool { return strings.EqualFold(name, text) })
	if i < 0 {
		return "", false
	}
	return names[i], true
}
