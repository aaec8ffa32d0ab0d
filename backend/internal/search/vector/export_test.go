package vector

// Dot returns the cosine of two vectors of the same length.
func Dot(a, b Vector) float32 {
	var sum float32
	for i, x := range a {
		sum += x * b[i]
	}
	return sum
}
