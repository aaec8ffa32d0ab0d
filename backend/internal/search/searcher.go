package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/kith-crm/kith/backend/internal/search/index"
	"github.com/kith-crm/kith/backend/internal/search/vector"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
)

// The modes of a search.
const (
	ModeAuto     = "auto"
	ModeKeyword  = "keyword"
	ModeSemantic = "semantic"
	ModeHybrid   = "hybrid" // a possible result of auto
)

// Among the matched fields of a hit that was found by similarity is FieldMeaning, or FieldSpelling
// if the provider compares spelling alone.
const (
	FieldMeaning  = "meaning"
	FieldSpelling = "spelling"
)

// Vectors reads a tenant's vectors of a model that changed after a data version.
type Vectors func(ctx context.Context, t tenant.ID, model string, since int64) (vector.Vectors, error)

// Config says how to search.
type Config struct {
	Indexes  *IndexCache
	Provider vector.Provider
	Vectors  Vectors
	// MaxBytes limits the memory for vectors, about; the vectors of one tenant are always
	// kept.
	MaxBytes int64
}

// Searcher searches tenants' networks. It is safe for concurrent use.
type Searcher struct {
	indexes  *IndexCache
	provider vector.Provider
	queries  *queries
	sets     *Cache[*vector.Set]
}

// NewSearcher returns a Searcher.
func NewSearcher(c Config) *Searcher {
	load := func(ctx context.Context, t tenant.ID, since int64, set *vector.Set) (int64, error) {
		v, err := c.Vectors(ctx, t, c.Provider.Model(), since)
		if err != nil {
			return 0, err
		}
		set.Put(&v)
		return v.Version, nil
	}
	return &Searcher{
		indexes: c.Indexes, provider: c.Provider, queries: newQueries(c.Provider),
		sets: NewCache(vector.NewSet, load, c.MaxBytes),
	}
}

// Provider returns the provider of the vectors.
func (s *Searcher) Provider() vector.Provider { return s.provider }

// Held returns how many tenants' vectors are held and how many bytes they take.
func (s *Searcher) Held() (sets int, bytes int64) { return s.sets.Held() }

// Request is a search on behalf of a caller.
type Request struct {
	Caller *tenant.Principal
	Query  index.Query
	// Mode is ModeAuto, also when it is empty, ModeKeyword or ModeSemantic.
	Mode string
}

// Answer is a page of hits, and how they were found.
type Answer struct {
	Hits    []index.Hit
	HasMore bool
	// Count is how many people all pages have together. Words is how many people, and who,
	// were found by words and filters.
	Count int
	Words matched
	// ModeUsed is ModeKeyword, ModeSemantic or ModeHybrid.
	ModeUsed string
	// Note says why similarity was not used although it was requested or possible, and
	// what to do about it; or what is out of date.
	Note string
	// Stale counts people without a vector of their current data. It is 0 when similarity
	// was not used.
	Stale int
}

// Search finds people as of the caller's data version or later.
func (s *Searcher) Search(ctx context.Context, r Request) (Answer, error) {
	if r.Query.Limit < 1 {
		r.Query.Limit = 10
	}
	wanted, note := s.wantsVectors(r)
	if wanted { // in a large network they load while its index is built
		s.sets.Prepare(ctx, r.Caller.Tenant, r.Caller.DataVersion)
	}
	index, err := s.indexes.Index(ctx, r.Caller.Tenant, r.Caller.DataVersion)
	if err != nil {
		return Answer{}, err
	}
	if !wanted {
		return byWords(index, r.Query, note), nil
	}
	set, err := s.sets.Get(ctx, r.Caller.Tenant, r.Caller.DataVersion)
	if err != nil {
		return Answer{}, err
	}
	if set.Len() == 0 {
		return byWords(index, r.Query, fmt.Sprintf("There are no vectors of the model %s. Start embed_objects to make them.", s.provider.Model())), nil
	}
	return s.byLikeness(ctx, index, set, r)
}

func (r Request) byRelevance() bool {
	return r.Query.Sort == "" || r.Query.Sort == index.SortRelevance
}

// byWords answers with the index alone.
func byWords(index *index.Index, q index.Query, note string) Answer {
	found := index.Search(q)
	return Answer{
		Hits: found.Hits, HasMore: found.Total > q.Offset+len(found.Hits), Count: found.Total, Words: matched{found.Total, found.Sum},
		ModeUsed: ModeKeyword, Note: note,
	}
}

// wantsVectors reports whether to use the caller's vectors and, if they were requested,
// why not. It reads nothing for a member who has none.
func (s *Searcher) wantsVectors(r Request) (wanted bool, note string) {
	asked := r.Mode == ModeSemantic
	switch {
	case r.Mode == ModeKeyword, r.Query.Text == "", !r.byRelevance() && !asked:
		return false, ""
	case !r.byRelevance():
		return false, "Only sort relevance can be combined with mode semantic."
	case !asked && (r.Caller.EmbeddedVersion == 0 || !s.provider.Understands()):
		return false, ""
	}
	return s.mayUse(r.Caller)
}

// mayUse reports whether the caller has vectors that may be used.
func (s *Searcher) mayUse(caller *tenant.Principal) (may bool, note string) {
	switch {
	case caller.EmbeddedVersion == 0:
		return false, noVectors
	case !Allowed(s.provider, caller.EmbeddingsHost):
		return false, notAllowed(s.provider)
	default:
		return true, ""
	}
}

const noVectors = "No vectors have been made yet. Start embed_objects to make them."

// Allowed reports whether stored data may be sent to the provider. The built-in provider
// sends nothing.
func Allowed(p vector.Provider, host string) bool { return p.Host() == "" || p.Host() == host }

// notAllowed tells the caller what to do when a provider is not allowed.
func notAllowed(p vector.Provider) string {
	return fmt.Sprintf("The member does not allow that texts are sent to the embedding provider %s. They can allow it on the settings page, under Search.", p.Host())
}

// named reports whether the words are a person's name, so that similar people would be
// noise. One word is a name if it is spelt as in the name of the best hit, accents left out; more
// may be misspelt. A query with MinScore asks for similar people, too.
func (r Request) named(hits []index.Hit) bool {
	if len(hits) == 0 {
		return false
	}
	least := index.NamedScore
	words := text.Words(r.Query.Text)
	switch {
	case r.Query.MinScore != nil:
		least = index.NameScore
	case len(words) > 1 || len(words) == 1 && slices.Contains(text.Words(hits[0].Doc.Name), words[0]):
		least = index.MisspeltNameScore
	}
	return hits[0].Score >= least
}

// byLikeness answers with the help of vectors, or says why it could not.
func (s *Searcher) byLikeness(ctx context.Context, ix *index.Index, set *vector.Set, r Request) (Answer, error) {
	window := r.Query.Offset + r.Query.Limit
	words := r.Query
	words.Offset, words.Limit = 0, max(pool, window+neighbours+1)
	found := ix.Search(words)
	if found.ByIdentifier || r.Mode != ModeSemantic && r.named(found.Hits) {
		return byWords(ix, r.Query, ""), nil
	}
	vec, err := s.queries.vector(ctx, r.Query.Text)
	if known := (*vector.ProviderError)(nil); errors.As(err, &known) {
		return byWords(ix, r.Query, "Searched by words alone: "+known.Message+"."), nil
	}
	if err != nil {
		return Answer{}, err
	}
	if len(vec) != set.Dimensions() {
		return byWords(ix, r.Query, fmt.Sprintf("The stored vectors have %d dimensions and the provider's have %d. Start embed_objects to renew them.", set.Dimensions(), len(vec))), nil
	}
	f := fusion{index: ix, lookup: ix.Lookup(r.Query), words: found.Hits, by: FieldMeaning}
	if !s.provider.Understands() {
		f.by = FieldSpelling
	}
	out := Answer{ModeUsed: ModeHybrid, Stale: max(0, ix.Len()-set.Current())}
	if r.Mode == ModeSemantic {
		out.ModeUsed = ModeSemantic
		near, _ := set.Nearest(vec, neighbours, f.admits)
		f.sortBySimilarity(near, s.provider.Noise())
	} else {
		near, spread := set.Nearest(vec, neighbours, f.admits)
		f.fuse(outstanding(near, spread, s.provider.Noise()))
	}
	f.cut(r.Query.MinScore)
	out.Words = matched{found.Total, found.Sum}
	out.Count = len(f.fused)
	if r.Mode != ModeSemantic {
		out.Count += max(0, found.Total-len(found.Hits)) // hits by words beyond the fused ones
	}
	out.Hits, out.HasMore = f.page(r.Query.Offset, r.Query.Limit)
	out.Note = staleNote(out.Stale)
	return out, nil
}

// staleNote tells the caller what to do about people without a current vector.
func staleNote(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "One person has no vector or an outdated one, so only keywords are sure to find them. Start embed_objects to renew it."
	default:
		return fmt.Sprintf("%d people have no vectors or outdated ones, so only keywords are sure to find them. Start embed_objects to renew them.", n)
	}
}

const (
	// queryTimeout limits how long a search waits for the vector of its query.
	queryTimeout = 2 * time.Second
	// rest is how long searches do not call a provider after it failed.
	rest = 15 * time.Second
	// remembered is how many queries' vectors are cached.
	remembered = 1000
)

// queries makes vectors of queries, and caches the latest.
type queries struct {
	provider vector.Provider
	kept     *lru.Cache[string, vector.Vector] // by text

	mu sync.Mutex
	// down is the error of a provider that failed, valid until a time.
	down  *vector.ProviderError
	until time.Time
}

func newQueries(p vector.Provider) *queries {
	kept, _ := lru.New[string, vector.Vector](remembered) // fails only for a size below 1
	return &queries{provider: p, kept: kept}
}

// vector returns the vector of a text, or a *vector.ProviderError when there is none in
// time.
func (q *queries) vector(ctx context.Context, text string) (vector.Vector, error) {
	if v, ok := q.kept.Get(text); ok {
		return v, nil
	}
	if down := q.failure(); down != nil {
		return nil, down
	}
	limited, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	vectors, err := q.provider.Embed(limited, []string{text})
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, q.failed(err)
	}
	q.kept.Add(text, vectors[0])
	q.mu.Lock()
	defer q.mu.Unlock()
	q.down = nil
	return vectors[0], nil
}

// failure returns the error of a provider that failed recently, or nil.
func (q *queries) failure() *vector.ProviderError {
	q.mu.Lock()
	defer q.mu.Unlock()
	if time.Now().After(q.until) {
		return nil
	}
	return q.down
}

// failed records that the provider is down, so that the next searches do not wait for it.
func (q *queries) failed(err error) error {
	var known *vector.ProviderError
	if !errors.As(err, &known) {
		known = &vector.ProviderError{Message: "the embedding provider takes too long"}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.down, q.until = known, time.Now().Add(rest)
	return known
}

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
