package vector_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/kith-crm/kith/backend/internal/search/vector"
	"pgregory.net/rapid"
)

// entry is one person of a set.
type entry struct {
	id      string
	vector  vector.Vector
	current bool
}

// vectors lays entries out as the store does.
func vectors(whole bool, entries ...entry) *vector.Vectors {
	out := &vector.Vectors{Whole: whole}
	for _, e := range entries {
		out.Dimensions = len(e.vector)
		out.IDs, out.Current = append(out.IDs, e.id), append(out.Current, e.current)
		out.Values.Append(e.vector)
	}
	return out
}

func ids(near []vector.Near) []string {
	out := make([]string, len(near))
	for i, n := range near {
		out[i] = n.ID
	}
	return out
}

func TestSetFollowsChanges(t *testing.T) {
	t.Parallel()
	s := vector.NewSet()
	east, north := vector.Vector{1, 0}, vector.Vector{0, 1}
	want := func(asked vector.Vector, current int, want ...string) {
		t.Helper()
		near, spread := s.Nearest(asked, 10, nil)
		type state struct {
			IDs                   []string
			Len, Counted, Current int
		}
		if diff := cmp.Diff(state{want, len(want), len(want), current}, state{ids(near), s.Len(), spread.Count, s.Current()}, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	want(east, 0)
	s.Put(vectors(true, entry{"b", east, true}, entry{"a", east, true}, entry{"c", north, false}))
	want(east, 2, "a", "b", "c")
	s.Put(vectors(false, entry{"b", north, false}, entry{"d", vector.Vector{.8, .6}, true}))
	want(east, 2, "a", "d", "b", "c")
	s.Put(&vector.Vectors{Gone: []string{"a", "nobody"}})
	want(north, 1, "b", "c", "d")
	s.Put(vectors(false, entry{"e", vector.Vector{1, 0, 0}, true})) // of another length
	want(north, 1, "b", "c", "d")
	if near, _ := s.Nearest(vector.Vector{1, 0, 0}, 10, nil); near != nil {
		t.Errorf("another length finds %v", near)
	}
	if got := s.Of("b"); !slices.Equal(got, north) || s.Of("a") != nil {
		t.Errorf("b is at %v, a at %v", got, s.Of("a"))
	}
	s.Put(vectors(true))
	want(north, 0)
	s.Put(vectors(false, entry{"e", vector.Vector{1, 0, 0}, true}))
	want(vector.Vector{1, 0, 0}, 1, "e")
}

func TestNearestAsksWhomToAdmit(t *testing.T) {
	t.Parallel()
	s := vector.NewSet()
	var all []entry
	for i := range 200 {
		v := vector.Vector{1, float32(i)}
		if err := vector.Normalise(v); err != nil {
			t.Fatal(err)
		}
		all = append(all, entry{fmt.Sprintf("%03d", i), v, true})
	}
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	s.Put(vectors(true, all...))
	even := func(id string) bool { return (id[2]-'0')%2 == 0 }
	near, _ := s.Nearest(vector.Vector{1, 0}, 3, even)
	if got := ids(near); !slices.Equal(got, []string{"000", "002", "004"}) {
		t.Errorf("found %v", got)
	}
	if near, _ := s.Nearest(vector.Vector{1, 0}, 3, func(string) bool { return false }); len(near) != 0 {
		t.Errorf("found %v", near)
	}
}

// A cosine is the sum of products, at any position in the block and for any zeros in the
// query.
func TestNearestTellsCosines(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		dimensions, n := rapid.IntRange(1, 40).Draw(t, "dimensions"), rapid.IntRange(1, 200).Draw(t, "people")
		number := rapid.Float32Range(-0.2, 0.2)
		drawn := rapid.SliceOfN(rapid.OneOf(rapid.Just(float32(0)), number), dimensions, dimensions)
		all := make(map[string]vector.Vector, n)
		s, change := vector.NewSet(), &vector.Vectors{Whole: true, Dimensions: dimensions}
		for i := range n {
			id, v := fmt.Sprint(i), vector.Vector(drawn.Draw(t, "vector"))
			all[id] = v
			change.IDs, change.Current = append(change.IDs, id), append(change.Current, true)
			change.Values.Append(v)
		}
		s.Put(change)
		asked := vector.Vector(drawn.Draw(t, "asked"))
		near, _ := s.Nearest(asked, n, nil)
		for _, found := range near {
			if want := vector.Dot(asked, all[found.ID]); math.Abs(float64(found.Cosine-want)) > 1e-4 || !slices.Equal(s.Of(found.ID), all[found.ID]) {
				t.Errorf("%s of %d by %d: %v, not %v", found.ID, n, dimensions, found.Cosine, want)
			}
		}
		if len(near) != n {
			t.Errorf("%d of %d are found", len(near), n)
		}
	})
}

// After any sequence of additions, replacements and removals, a set answers like a linear
// search that sorts all people.
func TestSetAnswersAsSorting(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, model := vector.NewSet(), map[string]vector.Vector{}
		drawn := rapid.SliceOfN(rapid.Float32Range(-1, 1), 3, 3)
		for range rapid.IntRange(1, 40).Draw(t, "changes") {
			change := &vector.Vectors{Dimensions: 3}
			for range rapid.IntRange(0, 120).Draw(t, "people") {
				id := fmt.Sprint(rapid.IntRange(0, 150).Draw(t, "id"))
				if slices.Contains(change.IDs, id) || slices.Contains(change.Gone, id) {
					continue
				}
				if rapid.Bool().Draw(t, "gone") {
					change.Gone = append(change.Gone, id)
					delete(model, id)
					continue
				}
				v := vector.Vector(drawn.Draw(t, "vector"))
				change.IDs, change.Current = append(change.IDs, id), append(change.Current, true)
				change.Values.Append(v)
				model[id] = v
			}
			s.Put(change)
		}
		asked, k := vector.Vector(drawn.Draw(t, "asked")), rapid.IntRange(1, 30).Draw(t, "k")
		var want []vector.Near
		for id, v := range model {
			want = append(want, vector.Near{ID: id, Cosine: vector.Dot(asked, v)})
		}
		slices.SortFunc(want, func(a, b vector.Near) int {
			if a.Cosine != b.Cosine {
				return map[bool]int{true: -1, false: 1}[a.Cosine > b.Cosine]
			}
			return map[bool]int{true: -1, false: 1}[a.ID < b.ID]
		})
		near, _ := s.Nearest(asked, k, nil)
		if got := ids(near); !slices.Equal(got, ids(want[:min(k, len(want))])) || s.Len() != len(model) {
			t.Fatalf("%d people, want %d: %v", s.Len(), len(model), got)
		}
	})
}

func TestSetIsReadWhileItChanges(t *testing.T) {
	t.Parallel()
	s := vector.NewSet()
	s.Put(vectors(true, entry{"always", vector.Vector{1, 0}, true}))
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 500 {
				if w == 0 {
					s.Put(vectors(false, entry{fmt.Sprint(i % 7), vector.Vector{0, 1}, true}))
					continue
				}
				if near, _ := s.Nearest(vector.Vector{1, 0}, 1, nil); len(near) != 1 || near[0].ID != "always" {
					t.Errorf("found %v", near)
				}
			}
		})
	}
	wg.Wait()
}

// crowd returns n random vectors.
func crowd(n, dimensions int) *vector.Vectors {
	rng := rand.New(rand.NewPCG(1, 2))
	out := &vector.Vectors{Whole: true, Dimensions: dimensions, Current: make([]bool, n)}
	v := make(vector.Vector, dimensions)
	for i := range n {
		out.IDs = append(out.IDs, fmt.Sprintf("con_%026d", i))
		for j := range v {
			v[j] = float32(rng.NormFloat64())
		}
		_ = vector.Normalise(v)
		out.Values.Append(v)
	}
	return out
}

// processor returns the processor time that this process has used, which is comparable on
// a busy machine.
func processor(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func BenchmarkNearest(b *testing.B) {
	for _, size := range []struct{ people, dimensions int }{{10_000, 256}, {100_000, 256}, {100_000, 1536}} {
		b.Run(fmt.Sprintf("%d×%d", size.people, size.dimensions), func(b *testing.B) {
			all := crowd(size.people, size.dimensions)
			asked := all.Values.Vector(0)
			s := vector.NewSet()
			s.Put(all)
			b.ReportMetric(float64(s.Bytes())/float64(size.people), "B/person")
			for name, asked := range map[string]vector.Vector{"dense": asked, "sparse": sparse(asked)} {
				b.Run(name, func(b *testing.B) {
					b.ReportAllocs()
					used := processor(b)
					for b.Loop() {
						s.Nearest(asked, 50, nil)
					}
					b.ReportMetric(float64((processor(b)-used).Microseconds())/1000/float64(b.N), "cpu-ms/op")
				})
			}
		})
	}
}

// sparse is a vector with as many numbers as those that local makes of a few words.
func sparse(v vector.Vector) vector.Vector {
	const one = 12
	out := slices.Clone(v)
	for i := range out {
		if i%one != 0 {
			out[i] = 0
		}
	}
	return out
}

func BenchmarkSetMemory(b *testing.B) {
	const n = 100_000
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		s := vector.NewSet()
		s.Put(crowd(n, 256))
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "heap-B/person")
		b.ReportMetric(float64(s.Bytes())/n, "claimed-B/person")
		runtime.KeepAlive(s)
	}
}

func BenchmarkLocal(b *testing.B) {
	text := "Anna Bauer\nHead of Design, Helios Energy\nBefore: Designer, Borealis Labs\nZürich\nchess, investor\nMet at the fair in March; she asked about solar roofs and wants to talk to Petra."
	b.ReportAllocs()
	for b.Loop() {
		local(b, text)
	}
}
