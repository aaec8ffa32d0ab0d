package sandbox

import (
	"hash/fnv"
	"math/rand/v2"
)

// rng is a reproducible random number generator. Generators with different names are independent.
type rng struct{ *rand.Rand }

func newRNG(name string) rng {
	h := fnv.New64a()
	h.Write([]byte(name)) // hash.Hash never returns an error
	return rng{rand.New(rand.NewPCG(seed, h.Sum64()))}
}

// between returns a number from low to high, both included; low must not exceed high.
func (r rng) between(low, high int) int { return low + r.IntN(high-low+1) }

// chance returns true with the given probability in percent.
func (r rng) chance(percent int) bool { return r.IntN(100) < percent }

// pick returns one element of from, which must not be empty.
func pick[T any](r rng, from []T) T { return from[r.IntN(len(from))] }

// sample returns n different elements of from in random order, or all of them when from
// has fewer. It doesn't change from.
func sample[T any](r rng, from []T, n int) []T {
	order := r.Perm(len(from))
	picked := make([]T, 0, min(n, len(from)))
	for _, i := range order[:min(n, len(from))] {
		picked = append(picked, from[i])
	}
	return picked
}
