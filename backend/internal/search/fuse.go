package search

import (
	"cmp"
	"math"
	"slices"

	"github.com/kith-crm/kith/backend/internal/search/index"
	"github.com/kith-crm/kith/backend/internal/search/vector"
)

const (
	// pool is how many hits by words are fused with the hits by similarity.
	pool = 100
	// neighbours is how many of the nearest people are considered.
	neighbours = 50
	// damping is the constant of reciprocal rank fusion.
	damping = 60
	// spellingWeight is how much a rank by similarity of spelling counts in Alike; a rank by meaning
	// counts 1.
	spellingWeight = 0.25
	// few is the number of vectors below which their mean and deviation say too little.
	few = 50
)

func weightOf(p vector.Provider) float64 {
	if p.Understands() {
		return 1
	}
	return spellingWeight
}

// outstanding returns the people who are nearer than noise and than nearly all others.
func outstanding(near []vector.Near, s vector.Spread, noise float32) []vector.Near {
	if len(near) == 0 {
		return nil
	}
	floor := near[0].Cosine * 0.8
	if s.Count >= few {
		floor = s.Mean + 2*s.Deviation
	}
	return above(near, max(floor, noise))
}

// above returns those of near, which is sorted, that are above the floor.
func above(near []vector.Near, floor float32) []vector.Near {
	n := slices.IndexFunc(near, func(n vector.Near) bool { return n.Cosine <= floor })
	if n < 0 {
		return near
	}
	return near[:n]
}

// fusion is one order made from two.
type fusion struct {
	index  *index.Index
	lookup *index.Lookup
	words  []index.Hit // in their order
	by     string      // the field of hits by similarity
	fused  []ranked
}

type ranked struct {
	hit   index.Hit
	score float64
}

// admits reports whether the result may include a person.
func (f *fusion) admits(id string) bool {
	_, ok := f.lookup.Find(id)
	return ok
}

// fuse orders hits by the sum of the values of their ranks. Beyond the pool, a rank by
// words counts only for people who were not found by similarity: so a hit's position does
// not depend on how many hits were requested.
func (f *fusion) fuse(near []vector.Near) {
	likeness := make(map[string]float64, len(near))
	for rank, n := range near {
		likeness[n.ID] = reciprocal(rank)
	}
	seen := make(map[string]bool, len(near))
	top := 2 * reciprocal(0)
	for rank, hit := range f.words {
		score, like := reciprocal(rank), likeness[hit.ID]
		switch {
		case like > 0 && rank >= pool:
			continue
		case like > 0:
			seen[hit.ID] = true
			score += like
			hit.Matched = append(slices.Clone(hit.Matched), f.by)
		}
		f.fused = append(f.fused, ranked{hit, score / top})
	}
	for _, n := range near {
		if !seen[n.ID] {
			f.add(n.ID, likeness[n.ID]/top)
		}
	}
	slices.SortStableFunc(f.fused, func(a, b ranked) int { return cmp.Compare(b.score, a.score) })
}

func reciprocal(rank int) float64 { return 1 / float64(damping+1+rank) }

// sortBySimilarity orders by similarity; people whose name is the query come first.
func (f *fusion) sortBySimilarity(near []vector.Near, noise float32) {
	seen := map[string]bool{}
	for _, hit := range f.words {
		if hit.Score < index.NameScore {
			break
		}
		seen[hit.ID] = true
		f.fused = append(f.fused, ranked{hit, 1})
	}
	for _, n := range above(near, noise) {
		if !seen[n.ID] {
			f.add(n.ID, min(1, float64(n.Cosine)))
		}
	}
}

// add appends a person found by similarity.
func (f *fusion) add(id string, score float64) {
	if doc, ok := f.lookup.Find(id); ok {
		f.fused = append(f.fused, ranked{index.Hit{ID: id, Doc: doc, Matched: []string{f.by}}, score})
	}
}

// cut removes all hits below a score, unless it is nil.
func (f *fusion) cut(minScore *float64) {
	if minScore != nil {
		f.fused = slices.DeleteFunc(f.fused, func(r ranked) bool { return r.score < *minScore })
	}
}

// page returns a page of the fused order.
func (f *fusion) page(offset, limit int) (hits []index.Hit, more bool) {
	from, to := min(offset, len(f.fused)), min(offset+limit, len(f.fused))
	hits = make([]index.Hit, 0, to-from)
	for _, r := range f.fused[from:to] {
		r.hit.Score = math.Round(1000*r.score) / 1000
		hits = append(hits, r.hit)
	}
	return hits, to < len(f.fused)
}
