package embedding

import (
	"encoding/binary"
	"math"
	"slices"
)

// lanes is how many vectors lie side by side.
const lanes = 64

// Columns hold vectors of one length, 64 of them together number by number: first
// the first number of each, then the second. A query that is mostly zeros, as a few
// hashed words are, is then compared by reading few of them.
type Columns struct {
	dimensions int
	count      int
	values     []float32
}

// NewColumns returns columns with room for some vectors.
func NewColumns(dimensions, room int) Columns {
	return Columns{dimensions: dimensions, values: make([]float32, 0, (room+lanes-1)/lanes*lanes*dimensions)}
}

// Len is how many vectors there are.
func (c *Columns) Len() int { return c.count }

// Append adds a vector, which has the length of those before.
func (c *Columns) Append(v Vector) {
	column := c.grow(len(v))
	for i, x := range v {
		column[i*lanes] = x
	}
}

// AppendKept is Append for a vector as [Vector.Bytes] writes it.
func (c *Columns) AppendKept(kept []byte) {
	const size = 4
	column := c.grow(len(kept) / size)
	for i := 0; len(kept) >= size; i++ {
		column[i*lanes] = math.Float32frombits(binary.LittleEndian.Uint32(kept))
		kept = kept[size:]
	}
}

// grow makes room for one more vector, and returns where its first number goes. Those
// of others are not touched: they may be read meanwhile.
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

// place is where the first number of a vector is.
func (c *Columns) place(i int) int { return i/lanes*lanes*c.dimensions + i%lanes }

// Vector returns a copy of one.
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
	from := 0
	for ; from+lanes <= c.count; from += lanes {
		add(c.values[from*c.dimensions:], (*lane)(out[from:]), v, used)
	}
	for i := from; i < c.count; i++ { // the others of its block may be written meanwhile
		column := c.values[c.place(i):]
		for _, d := range used {
			out[i] += v[d] * column[d*lanes]
		}
	}
}

// lane is one number of each vector of a block, or a sum of such.
type lane [lanes]float32

// add adds up the products of a block with the numbers of v that are used. Eight at
// a time spare most of the reading and writing of sums.
func add(block []float32, sums *lane, v Vector, used []int) {
	column := func(d int) *lane { return (*lane)(block[d*lanes:]) }
	for ; len(used) >= 8; used = used[8:] {
		n := (*[8]int)(used)
		c0, c1, c2, c3 := column(n[0]), column(n[1]), column(n[2]), column(n[3])
		c4, c5, c6, c7 := column(n[4]), column(n[5]), column(n[6]), column(n[7])
		v0, v1, v2, v3, v4, v5, v6, v7 := v[n[0]], v[n[1]], v[n[2]], v[n[3]], v[n[4]], v[n[5]], v[n[6]], v[n[7]]
		for i := range sums {
			sums[i] += (v0*c0[i] + v1*c1[i]) + (v2*c2[i] + v3*c3[i]) + ((v4*c4[i] + v5*c5[i]) + (v6*c6[i] + v7*c7[i]))
		}
	}
	for _, d := range used {
		x, one := v[d], column(d)
		for i := range sums {
			sums[i] += x * one[i]
		}
	}
}
