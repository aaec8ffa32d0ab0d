package search

import (
	"strings"
	"unsafe"
)

// segment is an immutable index over some documents. Document numbers follow
// compareRank: of two equally good matches the smaller number is the better.
type segment struct {
	docs   []ranked
	byID   map[string]uint32
	words  vocabulary
	values valueTable
	has    [presences]bitset
	size   int64
}

func (s *segment) len() int { return len(s.docs) }

// valueKind is a property that is compared as a whole.
type valueKind uint8

const (
	valueEmail valueKind = iota
	valuePhone           // phoneKey
	valueURL
	valueDomain
	valueCompany
	valueTitle
	valueLocation
	valueTag
	valueGroup
	valueKinds
)

// valueTable finds documents by whole values.
type valueTable struct {
	ids    [valueKinds]map[string]uint32
	starts []uint32 // of each id, and one more
	posts  []uint32 // ascending within an id
}

// docs lists the documents that have the value.
func (v *valueTable) docs(k valueKind, value string) []uint32 {
	id, ok := v.ids[k][value]
	if !ok {
		return nil
	}
	return v.posts[v.starts[id]:v.starts[id+1]]
}

// containing calls do with the documents of every value that contains text.
func (v *valueTable) containing(k valueKind, text string, do func(docs []uint32)) {
	for value, id := range v.ids[k] {
		if strings.Contains(value, text) {
			do(v.posts[v.starts[id]:v.starts[id+1]])
		}
	}
}

// presence is one of the things that [Query.Has] asks for.
type presence uint8

const (
	hasEmail presence = iota
	hasPhone
	hasURL
	hasNote
	hasInteraction
	presences
)

var presenceNames = map[string]presence{
	"email": hasEmail, "phone": hasPhone, "url": hasURL, "note": hasNote, "interaction": hasInteraction,
}

func (d *Document) present() [presences]bool {
	return [presences]bool{
		hasEmail:       len(d.Emails) > 0,
		hasPhone:       len(d.Phones) > 0,
		hasURL:         len(d.URLs) > 0,
		hasNote:        len(d.Notes) > 0,
		hasInteraction: len(d.Interactions) > 0 || !d.LastInteractionAt.IsZero(),
	}
}

// newSegment indexes docs, none of them archived and no id twice.
func newSegment(docs []*Document) *segment {
	b := newBuilder(len(docs))
	s := &segment{docs: b.rank(docs), byID: make(map[string]uint32, len(docs))}
	for p := range s.has {
		s.has[p] = newBitset(len(docs))
	}
	for i := range s.docs {
		b.add(uint32(i), s.docs[i].doc)
		s.byID[s.docs[i].doc.ID] = uint32(i)
		for p, ok := range s.docs[i].doc.present() {
			if ok {
				s.has[p].set(i)
			}
		}
	}
	s.words = newVocabulary(b.terms, b.posts)
	s.values = b.valueTable()
	s.size = s.bytes()
	return s
}

func (s *segment) bytes() int64 {
	n := s.words.bytes() + int64(len(s.byID))*mapEntry + int64(4*(len(s.values.starts)+len(s.values.posts)))
	for _, ids := range s.values.ids {
		n += int64(len(ids)) * mapEntry
	}
	for k := valueCompany; k < valueKinds; k++ {
		for value := range s.values.ids[k] {
			n += 2 * int64(len(value)) // as entered and folded
		}
	}
	for i := range s.docs {
		n += s.docs[i].doc.bytes() + int64(unsafe.Sizeof(ranked{})) + int64(len(s.docs[i].key)) + 1
	}
	return n
}

// mapEntry estimates what one entry of a map from strings to numbers takes.
const mapEntry = 36
