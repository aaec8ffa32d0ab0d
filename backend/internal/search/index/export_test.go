package index

// NewInParts returns an index that builds a segment of each minPart documents.
func NewInParts(minPart int) *Index {
	ix := New()
	ix.minPart = minPart
	return ix
}
