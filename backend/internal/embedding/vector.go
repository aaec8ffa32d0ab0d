package embedding

import (
	"encoding/binary"
	"errors"
	"math"
)

// Vector is a direction, of length 1.
type Vector []float32

// errNoDirection tells of a vector that is all zeros, or not made of numbers.
var errNoDirection = errors.New("the vector has no direction")

// Unit scales v to length 1. It fails for a vector that has no direction or
// holds what is no finite number.
func Unit(v Vector) error {
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

// Bytes is the vector as it is kept: little-endian 32-bit floats.
func (v Vector) Bytes() []byte {
	out := make([]byte, 4*len(v))
	for i, x := range v {
		binary.LittleEndian.PutUint32(out[4*i:], math.Float32bits(x))
	}
	return out
}

// Dot is the cosine of two vectors of one length.
func Dot(a, b Vector) float32 {
	var sum float32
	for i, x := range a {
		sum += x * b[i]
	}
	return sum
}
