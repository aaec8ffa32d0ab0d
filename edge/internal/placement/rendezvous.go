package placement

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"time"
)

// returnOver is the time over which the members of a backend that came back, or was added, move to
// it.
const returnOver = 10 * time.Second

// order is the order in which backends are tried for a call.
type order struct {
	tried []*backend
	first *backend // the best for the call's key; nil without a key or with one backend
}

// served counts a fallback if another backend than the first answered.
func (o order) served(by *backend) {
	if o.first != nil && by != o.first {
		o.first.fallbacks.Add(1)
	}
}

// order returns the backends in the order of their scores for a key, those that are up first. Calls
// with the key "" go to all, round robin.
func (p *Placement) order(key string) order {
	all := *p.backends.Load()
	if len(all) == 1 {
		return order{tried: all}
	}
	now := p.options.Now()
	list := make([]*backend, 0, len(all))
	if key == "" {
		start := int(p.next.Add(1) % uint64(len(all))) //nolint:gosec // below the number of backends
		list = append(append(list, all[start:]...), all[:start]...)
		slices.SortStableFunc(list, func(a, b *backend) int { return cmp.Compare(a.rank(now, 0), b.rank(now, 0)) })
		return order{tried: list}
	}
	list = append(list, all...)
	scores := make(map[*backend]uint64, len(all))
	for _, b := range all {
		scores[b] = score(key, b.host)
	}
	slices.SortFunc(list, func(a, b *backend) int { return cmp.Compare(scores[b], scores[a]) })
	first, share := list[0], fraction(key)
	slices.SortStableFunc(list, func(a, b *backend) int { return cmp.Compare(a.rank(now, share), b.rank(now, share)) })
	return order{tried: list, first: first}
}

// score is the weight of a backend for a key, equal on every edge (rendezvous hashing, "highest
// random weight").
func score(key, host string) uint64 {
	sum := sha256.Sum256([]byte(key + "\n" + host))
	return binary.BigEndian.Uint64(sum[:])
}

// fraction spreads keys evenly over 0 to 1.
func fraction(key string) float64 {
	sum := sha256.Sum256([]byte(key))
	return float64(binary.BigEndian.Uint32(sum[:])) / (1 << 32)
}

// rank is 0 for a backend that is up, 1 for one to which keys of this fraction have not returned
// yet, and 2 for one that is left out.
func (b *backend) rank(now time.Time, fraction float64) int {
	switch since := b.since.Load(); {
	case b.down.Load():
		return 2
	case since != nil && now.Sub(*since).Seconds() < fraction*returnOver.Seconds():
		return 1
	default:
		return 0
	}
}
