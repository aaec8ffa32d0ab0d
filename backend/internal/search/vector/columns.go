package vector

import (
	"encoding/binary"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas32"
)

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
