package index

// NewInParts returns an index that builds one segment per minPart documents.
func NewInParts(minPart int) *Index {
	ix := New()
	ix.minPart = minPart
	return ix
}
