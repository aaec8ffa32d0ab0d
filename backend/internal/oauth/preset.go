package oauth

import (
	"slices"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/proto/catalog"
)

// Preset is what an agent may do in the areas that the member allows it.
type Preset string

// The presets. Each permits more than the one before.
const (
	// PresetRead permits reading.
	PresetRead Preset = "read"
	// PresetAdd permits reading, and adding by the tools of catalog.AddingTools.
	PresetAdd Preset = "add"
	// PresetAll permits everything that the agent asks for.
	PresetAll Preset = "all"
)

// PresetsOf returns the presets that differ for an agent with these scopes. The last one is
// everything that they permit.
func PresetsOf(c *catalog.Catalog, scopes []string) []Preset {
	switch {
	case !slices.Contains(scopes, catalog.ScopeWrite):
		return []Preset{PresetRead}
	case permitsNothing(scopes):
		return []Preset{PresetAll}
	}
	if _, adds := c.ReadAndAdd(scopes); adds {
		return []Preset{PresetRead, PresetAdd, PresetAll}
	}
	return []Preset{PresetRead, PresetAll}
}

// Apply returns the scopes of a preset in the areas, and the tools that it is limited to; none
// means no limit. It fails with fault.Invalid for an unknown preset.
func (p Preset) Apply(c *catalog.Catalog, areas []string) (scopes, tools []string, err error) {
	areas = slices.DeleteFunc(slices.Clone(areas), func(scope string) bool { return scope == catalog.ScopeWrite })
	switch p {
	case PresetRead:
		return areas, nil, nil
	case PresetAdd:
		writing := append(slices.Clone(areas), catalog.ScopeWrite)
		if tools, adds := c.ReadAndAdd(writing); adds {
			return writing, tools, nil
		}
		return areas, nil, nil
	case PresetAll:
		return append(areas, catalog.ScopeWrite), nil, nil
	}
	return nil, nil, fault.InvalidField("preset", "choose what it may do")
}

// PresetOf returns the preset of a grant.
func (g Grant) PresetOf() Preset {
	switch {
	case !slices.Contains(g.scopes(), catalog.ScopeWrite):
		return PresetRead
	case g.Tools != "":
		return PresetAdd
	}
	return PresetAll
}

// Durations are for how many days a member can allow access; 0 means until it is revoked.
func Durations() []int { return []int{30, 90, 0} }
