package sandbox

import (
	"hash/fnv"
	"math/rand/v2"
)

// stream is a reproducible source of choices. Streams of different names are independent.
type stream struct{ *rand.Rand }

func newStream(name string) stream {
	h := fnv.New64a()
	h.Write([]byte(name)) // hash.Hash never returns an error
	return stream{rand.New(rand.NewPCG(seed, h.Sum64()))}
}

// between returns a number from low to high, both included; low must not exceed high.
func (s stream) between(low, high int) int { return low + s.IntN(high-low+1) }

// chance reports true percent times out of a hundred.
func (s stream) chance(percent int) bool { return s.IntN(100) < percent }

// pick returns one element of from, which must not be empty.
func pick[T any](s stream, from []T) T { return from[s.IntN(len(from))] }

// sample returns n different elements of from in random order, or all of them when from
// has fewer. It leaves from as it was.
func sample[T any](s stream, from []T, n int) []T {
	order := s.Perm(len(from))
	picked := make([]T, 0, min(n, len(from)))
	for _, i := range order[:min(n, len(from))] {
		picked = append(picked, from[i])
	}
	return picked
}
