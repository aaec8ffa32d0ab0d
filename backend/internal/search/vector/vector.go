package vector

import (
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/blas/blas32"
)

// Vector is a vector of length 1.
type Vector []float32

// errNoDirection is returned for a vector of zeros or with a number that is not finite.
var errNoDirection = errors.New("the vector has no direction")

// Normalise scales v to length 1. It fails for a vector that has no direction or
// has a number that is not finite.
func Normalise(v Vector) error {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	// Also false for NaN, which no comparison holds for.
	if !(sum > 0 && sum <= math.MaxFloat64) {
		return errNoDirection
	}
	scale := 1 / math.Sqrt(sum)
	for i, x := range v {
		v[i] = float32(float64(x) * scale)
	}
	return nil
}

// Bytes returns the vector as stored: little-endian 32-bit floats.
func (v Vector) Bytes() []byte {
	out := make([]byte, 4*len(v))
	for i, x := range v {
		binary.LittleEndian.PutUint32(out[4*i:], math.Float32bits(x))
	}
	return out
}

// lanes is how many vectors lie side by side.
const lanes = 64

// Columns hold vectors of one length in blocks of 64. A block has the first numbers of
// its vectors, then the second numbers, and so on, so that a query that is mostly
// zeros, such as a few hashed words, reads few of them.
type Columns struct {
	dimensions int
	count      int
	values     []float32
}

// NewColumns returns empty Columns with room for some vectors.
func NewColumns(dimensions, room int) Columns {
	return Columns{dimensions: dimensions, values: make([]float32, 0, (room+lanes-1)/lanes*lanes*dimensions)}
}

// Len returns the number of vectors.
func (c *Columns) Len() int { return c.count }

// Append adds a vector, which must have the length of those before.
func (c *Columns) Append(v Vector) {
	column := c.grow(len(v))
	for i, x := range v {
		column[i*lanes] = x
	}
}

// AppendKept is Append for a stored vector, as [Vector.Bytes] writes it.
func (c *Columns) AppendKept(kept []byte) {
	const size = 4
	column := c.grow(len(kept) / size)
	for i := 0; len(kept) >= size; i++ {
		column[i*lanes] = math.Float32frombits(binary.LittleEndian.Uint32(kept))
		kept = kept[size:]
	}
}

// grow makes room for one more vector and returns the place of its first number. It does
// not touch other vectors, which may be read meanwhile.
func (c *Columns) grow(dimensions int) []float32 {
	if c.count == 0 {
		c.dimensions = dimensions
	}
	if c.count%lanes == 0 {
		block := lanes * c.dimensions
		c.values = slices.Grow(c.values, block)[:len(c.values)+block]
	}
	c.count++
	return c.values[c.place(c.count-1):]
}

// place returns the index of the first number of a vector.
func (c *Columns) place(i int) int { return i/lanes*lanes*c.dimensions + i%lanes }

// Vector returns a copy of vector i.
func (c *Columns) Vector(i int) Vector {
	v := make(Vector, c.dimensions)
	column := c.values[c.place(i):]
	for d := range v {
		v[d] = column[d*lanes]
	}
	return v
}

// cosines writes the cosine of v with each vector to out.
func (c *Columns) cosines(v Vector, out []float32) {
	var used []int // where v is not 0
	for d, x := range v {
		if x != 0 {
			used = append(used, d)
		}
	}
	clear(out)
	whole := c.count / lanes * lanes // vectors in full blocks
	for from := 0; from < whole; from += lanes {
		block, sums := c.values[c.place(from):], lane(out[from:])
		for _, d := range used {
			blas32.Axpy(v[d], lane(block[d*lanes:]), sums)
		}
	}
	for i := whole; i < c.count; i++ { // the rest of this block may be written meanwhile
		for _, d := range used {
			out[i] += v[d] * c.values[c.place(i)+d*lanes]
		}
	}
}

// lane is the first numbers, one for each vector of a block.
func lane(numbers []float32) blas32.Vector {
	return blas32.Vector{N: lanes, Inc: 1, Data: numbers}
}

// Set holds vectors by the id of the person and finds the nearest. It is safe for
// concurrent use; searches never wait for updates.
type Set struct {
	mu     sync.Mutex // held by updates
	places map[string]spot
	state  atomic.Pointer[rows]
}

// spot is where a person's vector is, and whether it is up to date.
type spot struct {
	row     int
	current bool
}

// rows is a state of the set. Rows are only appended, so that states share them.
type rows struct {
	dimensions int
	ids        []string
	values     Columns
	dead       []bool // shorter than ids when the later ones are valid
	live       int
	current    int
}

// NewSet returns an empty set.
func NewSet() *Set {
	s := &Set{places: map[string]spot{}}
	s.state.Store(&rows{})
	return s
}

// Len returns how many people have a vector.
func (s *Set) Len() int { return s.state.Load().live }

// Current returns how many people have a vector that is up to date.
func (s *Set) Current() int { return s.state.Load().current }

// Dimensions is the length of the vectors; 0 while there are none.
func (s *Set) Dimensions() int { return s.state.Load().dimensions }

// placeBytes estimates what one entry of places takes.
const placeBytes = 64

// Bytes estimates the memory that the set holds.
func (s *Set) Bytes() int64 {
	r := s.state.Load()
	return int64(4*cap(r.values.values)+len(r.dead)) + int64(len(r.ids))*(16+placeBytes)
}

// Put applies a change and keeps v. It ignores vectors of another length than those in
// the set.
func (s *Set) Put(v *Vectors) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v.Whole {
		s.reset(v)
		return
	}
	next := *s.state.Load()
	next.dead = slices.Clone(next.dead)
	for _, id := range v.Gone {
		s.forget(&next, id)
	}
	if next.live == 0 {
		next = rows{dimensions: v.Dimensions}
	}
	for i, id := range v.IDs {
		s.forget(&next, id)
		if v.Dimensions == next.dimensions {
			s.add(&next, id, v.Values.Vector(i), v.Current[i])
		}
	}
	if len(next.ids) > 2*next.live+minDead {
		next = s.compact(&next)
	}
	s.state.Store(&next)
}

// minDead is how many dead rows are kept before the others are copied.
const minDead = 1000

// reset replaces the vectors by v.
func (s *Set) reset(v *Vectors) {
	next := rows{dimensions: v.Dimensions, ids: v.IDs, values: v.Values, live: len(v.IDs)}
	s.places = make(map[string]spot, len(v.IDs))
	for i, id := range v.IDs {
		s.places[id] = spot{row: i, current: v.Current[i]}
		if v.Current[i] {
			next.current++
		}
	}
	s.state.Store(&next)
}

func (s *Set) forget(r *rows, id string) {
	at, ok := s.places[id]
	if !ok {
		return
	}
	delete(s.places, id)
	if missing := len(r.ids) - len(r.dead); missing > 0 {
		r.dead = append(r.dead, make([]bool, missing)...)
	}
	r.dead[at.row] = true
	r.live--
	if at.current {
		r.current--
	}
}

func (s *Set) add(r *rows, id string, v Vector, current bool) {
	s.places[id] = spot{row: len(r.ids), current: current}
	r.ids = append(r.ids, id)
	r.values.Append(v)
	r.live++
	if current {
		r.current++
	}
}

// compact copies the valid rows.
func (s *Set) compact(old *rows) rows {
	next := rows{dimensions: old.dimensions, current: old.current, live: old.live}
	next.ids, next.values = make([]string, 0, old.live), NewColumns(old.dimensions, old.live)
	for i, id := range old.ids {
		if old.isDead(i) {
			continue
		}
		s.places[id] = spot{row: len(next.ids), current: s.places[id].current}
		next.ids = append(next.ids, id)
		next.values.Append(old.values.Vector(i))
	}
	return next
}

func (r *rows) isDead(i int) bool { return i < len(r.dead) && r.dead[i] }

// Of returns a copy of a person's vector, or nil.
func (s *Set) Of(id string) Vector {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.places[id]
	if !ok {
		return nil
	}
	return s.state.Load().values.Vector(at.row)
}

// Near is a person and the cosine of their vector with the query's.
type Near struct {
	ID     string
	Cosine float32
}

// Spread is how the cosines of all vectors are spread.
type Spread struct {
	Count           int
	Mean, Deviation float32
}

// buffers are the scores of earlier calls. To allocate them each time makes a query by
// a few words take one and a half times as long.
var buffers = sync.Pool{New: func() any { return new([]float32) }}

// Nearest returns the k people whose vectors are nearest to v among those that accept
// admits, the nearest first and equally near ones by id; and the spread of all cosines.
// It returns none when v has another length than the vectors. A nil accept admits all.
func (s *Set) Nearest(v Vector, k int, accept func(id string) bool) ([]Near, Spread) {
	r := s.state.Load()
	if len(v) != r.dimensions || r.live == 0 || k < 1 {
		return nil, Spread{}
	}
	if accept == nil {
		accept = func(string) bool { return true }
	}
	scores := buffers.Get().(*[]float32)
	defer buffers.Put(scores)
	*scores = slices.Grow((*scores)[:0], len(r.ids))[:len(r.ids)]
	spread := r.score(v, *scores)
	return r.best(*scores, k, accept), spread
}

// dead rows score below every cosine.
const deadScore = -2

func (r *rows) score(v Vector, scores []float32) Spread {
	r.values.cosines(v, scores)
	var sum, squares float64
	for i, cosine := range scores {
		if r.isDead(i) {
			scores[i] = deadScore
			continue
		}
		sum += float64(cosine)
		squares += float64(cosine) * float64(cosine)
	}
	n := float64(r.live)
	mean := sum / n
	return Spread{Count: r.live, Mean: float32(mean), Deviation: float32(math.Sqrt(max(0, squares/n-mean*mean)))}
}

// best returns the k best rows. It calls accept only for rows that could be among them.
func (r *rows) best(scores []float32, k int, accept func(id string) bool) []Near {
	var kept []Near
	worst := Near{Cosine: deadScore} // of those kept
	for i, cosine := range scores {
		if cosine <= worst.Cosine && (cosine < worst.Cosine || cosine == deadScore || r.ids[i] > worst.ID) || !accept(r.ids[i]) {
			continue
		}
		if kept = append(kept, Near{r.ids[i], cosine}); len(kept) >= 2*k+16 {
			slices.SortFunc(kept, compareNear)
			kept = kept[:k]
			worst = kept[k-1]
		}
	}
	slices.SortFunc(kept, compareNear)
	return kept[:min(k, len(kept))]
}

func compareNear(a, b Near) int {
	return cmp.Or(cmp.Compare(b.Cosine, a.Cosine), cmp.Compare(a.ID, b.ID))
}
