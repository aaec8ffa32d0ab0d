package people

import (
	"slices"

	"github.com/kith-crm/kith/backend/internal/fault"
)

// MergePair asks for one record to be merged into another.
type MergePair struct{ Keep, Merge string }

// MergesOf returns the merges of the pairs. It resolves chains: if b is merged into a, and c into
// b, both are merged into a. It fails with fault.Invalid if a person would be merged into
// themselves, if pairs form a cycle, or if a person would be merged into two people who are not
// merged with each other.
func MergesOf(pairs []MergePair) ([]MergeInto, error) {
	merged, into := map[string]bool{}, map[string][]string{}
	for i, p := range pairs {
		if p.Keep == p.Merge {
			return nil, fault.InvalidField("pairs", "[%d] has the same person twice: a person cannot be merged into themselves", i)
		}
		merged[p.Merge] = true
		into[p.Keep] = append(into[p.Keep], p.Merge)
	}
	var out []MergeInto
	stays := map[string]string{} // the person that each is merged into in the end
	for _, p := range pairs {
		if merged[p.Keep] || stays[p.Keep] != "" {
			continue
		}
		stays[p.Keep] = p.Keep
		one := MergeInto{Into: p.Keep}
		for next := slices.Clone(into[p.Keep]); len(next) > 0; next = next[1:] {
			id := next[0]
			if other := stays[id]; other == p.Keep {
				continue
			} else if other != "" {
				return nil, fault.InvalidField("pairs", "would merge %s into both %s and %s: leave one of them out, or merge these two as well", id, other, p.Keep)
			}
			stays[id] = p.Keep
			one.From = append(one.From, id)
			next = append(next, into[id]...)
		}
		out = append(out, one)
	}
	for _, p := range pairs {
		if stays[p.Merge] == "" {
			return nil, fault.InvalidField("pairs", "would merge %s and %s into each other: leave one of the pairs out", p.Merge, p.Keep)
		}
	}
	return out, nil
}
