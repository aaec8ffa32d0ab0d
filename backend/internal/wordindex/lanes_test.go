package wordindex

import (
	"encoding/binary"
	"testing"

	"pgregory.net/rapid"
)

// Each lane has what the same calculation gives for its byte alone.
func TestLanes(t *testing.T) {
	t.Parallel()
	below128 := rapid.SliceOfN(rapid.OneOf(rapid.Uint8Range(0, 7), rapid.Uint8Range(0, 127)), lanes, lanes)
	all := func(holds bool) uint8 {
		if holds {
			return 0xff
		}
		return 0
	}
	rapid.Check(t, func(rt *rapid.T) {
		as, bs := below128.Draw(rt, "a"), below128.Draw(rt, "b")
		n := rapid.OneOf(rapid.SampledFrom(as), rapid.Uint8Range(0, 126)).Draw(rt, "n")
		if n == 127 {
			n = 126
		}
		a, b := load(as, 0), load(bs, 0)
		most := uint8(0)
		for i := range lanes {
			of := func(v uint64) uint8 { return binary.LittleEndian.AppendUint64(nil, v)[i] }
			most = max(most, as[i])
			for name, c := range map[string]struct{ got, want uint8 }{
				"positive": {of(positive(a)), min(as[i], 1)},
				"equal":    {of(equal(a, n)), all(as[i] == n)},
				"above":    {of(above(a, n)), all(as[i] > n)},
				"atMost":   {of(atMost(a, n)), min(as[i], n)},
				"spread":   {of(spread(bs[0])), bs[0] >> i & 1},
				"highest":  {of(highest(a, b)), max(as[i], bs[i])},
			} {
				if c.got != c.want {
					rt.Errorf("%s of %v, %v and %d: lane %d is %d, want %d", name, as, bs, n, i, c.got, c.want)
				}
			}
		}
		if got := highestLane(a); got != int(most) {
			rt.Errorf("highestLane(%v) = %d, want %d", as, got, most)
		}
	})
}
