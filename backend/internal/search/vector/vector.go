package vector

import (
	"encoding/binary"
	"errors"
	"math"
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
