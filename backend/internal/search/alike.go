package search

import (
	"context"

	"github.com/kith-crm/kith/backend/internal/search/vector"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// Alike are people by the likeness of their vectors to somebody's.
type Alike struct {
	// IDs are the people, the likest first; only those who stand out.
	IDs []string
	// Weight is what a rank among them counts, that of what people share being 1.
	Weight float64
	// Used tells that there are vectors, that they may be used, and that the person
	// has one.
	Used bool
}

// Alike returns who is like a person, as of the caller's data version or later.
// Nothing is sent anywhere: the vectors are there. Without vectors it is empty.
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
