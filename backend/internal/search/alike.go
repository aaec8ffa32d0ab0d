package search

import (
	"context"

	"github.com/kith-crm/kith/backend/internal/search/vector"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// Alike are people ordered by how similar their vectors are to a person's vector.
type Alike struct {
	// IDs are the people, the most similar first; only those who are clearly more similar
	// than others.
	IDs []string
	// Weight is how much a rank in this list counts; a rank by shared traits counts 1.
	Weight float64
	// Used reports whether there are vectors, the caller may use them, and the person has
	// one.
	Used bool
}

// Alike returns the people similar to a person, as of the caller's data version or later.
// It uses stored vectors only and sends nothing to a provider. Without vectors it is
// empty.
func (s *Searcher) Alike(ctx context.Context, caller *tenant.Principal, id string) (Alike, error) {
	if may, _ := s.mayUse(caller); !may {
		return Alike{}, nil
	}
	set, err := s.sets.Get(ctx, caller.Tenant, caller.DataVersion)
	if err != nil {
		return Alike{}, err
	}
	vector := set.Of(id)
	if vector == nil {
		return Alike{}, nil
	}
	near, spread := set.Nearest(vector, neighbours, func(other string) bool { return other != id })
	return Alike{IDs: idsOf(outstanding(near, spread, s.provider.Noise())), Weight: weightOf(s.provider), Used: true}, nil
}

func idsOf(near []vector.Near) []string {
	ids := make([]string, len(near))
	for i, n := range near {
		ids[i] = n.ID
	}
	return ids
}
